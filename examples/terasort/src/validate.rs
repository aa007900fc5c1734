//! Verifies an output: it must be globally ordered, and have the same number of records as the input and the same
//! checksum, which does not depend on their order (the sum of every record's CRC-32, like valsort's).

use crate::record::{Key, RECORD, key};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// The count and checksum of a set of records, which do not depend on their order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The number of records.
    pub records: u64,
    /// The wrapping sum of the CRC-32 of every record.
    pub checksum: u64,
}

/// Why a file or directory of records is invalid.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file ends within a record.
    #[error("{path} is not a whole number of {RECORD}-byte records")]
    Torn {
        /// The file.
        path: PathBuf,
    },
    /// A key is smaller than the one before it.
    #[error("record {record} of {path} is out of order")]
    Unordered {
        /// The file of the record.
        path: PathBuf,
        /// Its number in that file, from 0.
        record: u64,
    },
}

/// Returns the summary of a file, whose records can be in any order.
pub fn summarise(path: &Path) -> Result<Summary, Invalid> {
    let mut summary = Summary::default();
    for_each_record(path, |_, record| {
        summary.add(record);
        Ok(())
    })?;
    Ok(summary)
}

/// Returns the summary of the parts in `directory`, and checks that their records, with the parts in the order of
/// their names, are sorted.
pub fn check_sorted(directory: &Path) -> Result<Summary, Invalid> {
    let unreadable = |source| Invalid::Unreadable {
        path: directory.to_owned(),
        source,
    };
    let mut parts: Vec<PathBuf> = std::fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect())
        .map_err(unreadable)?;
    parts.sort_unstable();

    let mut summary = Summary::default();
    let mut last: Option<Key> = None;
    for part in &parts {
        for_each_record(part, |number, record| {
            let key = key(record);
            if last.is_some_and(|last| key < last) {
                return Err(Invalid::Unordered {
                    path: part.clone(),
                    record: number,
                });
            }
            last = Some(key);
            summary.add(record);
            Ok(())
        })?;
    }
    Ok(summary)
}

impl Summary {
    fn add(&mut self, record: &[u8]) {
        self.records += 1;
        self.checksum = self
            .checksum
            .wrapping_add(u64::from(crc32fast::hash(record)));
    }
}

fn for_each_record(
    path: &Path,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    let unreadable = |source| Invalid::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length % RECORD as u64 != 0 {
        return Err(Invalid::Torn {
            path: path.to_owned(),
        });
    }
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut record = [0; RECORD];
    (0..length / RECORD as u64).try_for_each(|number| {
        reader.read_exact(&mut record).map_err(unreadable)?;
        visit(number, &record)
    })
}
