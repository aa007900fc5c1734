//! Tables in files, in Arrow's IPC format ("Feather"), which Polars, pandas and DuckDB read and write too.

use crate::FrameError;
use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use burst::data::{self, Part};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Reads a part of the table at `location`, which may be any that [`burst::data`] reads. A file consists of batches,
/// and each belongs to one part.
///
/// # Errors
/// When the file cannot be read or has another format.
pub fn read(location: &str, part: Part) -> Result<RecordBatch, FrameError> {
    let object = Object {
        location,
        size: data::size(location)?,
        at: 0,
    };
    let read = || {
        let mut file = FileReader::try_new(object, None)?;
        let share = data::share(file.num_batches() as u64, part);
        let schema = file.schema();
        file.set_index(share.start as usize)?;
        let batches = file.take((share.end - share.start) as usize);
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        concat_batches(&schema, &batches)
    };
    read().map_err(failed(location))
}

/// Writes a table, or a worker's part of one, to a file.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, table: &RecordBatch) -> Result<(), FrameError> {
    let write = || {
        let mut writer = FileWriter::try_new_buffered(File::create(path)?, table.schema_ref())?;
        writer.write(table)?;
        writer.finish()
    };
    write().map_err(failed(&path.display().to_string()))
}

fn failed(path: &str) -> impl Fn(ArrowError) -> FrameError {
    move |source| FrameError::File {
        path: path.to_owned(),
        source,
    }
}

/// An object that can be read and seeked in like a file.
struct Object<'a> {
    location: &'a str,
    size: u64,
    at: u64,
}

impl Read for Object<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let end = (self.at + bytes.len() as u64).min(self.size);
        if end <= self.at {
            return Ok(0);
        }
        let found = data::read(self.location, self.at..end).map_err(io::Error::other)?;
        bytes[..found.len()].copy_from_slice(&found);
        self.at = end;
        Ok(found.len())
    }
}

impl Seek for Object<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.size.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.at.checked_add_signed(distance),
        };
        self.at = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
