//! Objects that are local files.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::DataError;
use super::object::Object;

pub(super) struct LocalFile {
    location: String,
    file: File,
}

impl LocalFile {
    pub(super) fn open(location: &str, path: &str) -> Result<Box<dyn Object>, DataError> {
        let location = location.to_owned();
        match File::open(path) {
            Ok(file) => Ok(Box::new(Self { location, file })),
            Err(source) => Err(DataError::Io { location, source }),
        }
    }

    fn io(&self, source: std::io::Error) -> DataError {
        DataError::Io {
            location: self.location.clone(),
            source,
        }
    }
}

impl Object for LocalFile {
    fn size(&self) -> Result<u64, DataError> {
        let metadata = self.file.metadata().map_err(|error| self.io(error))?;
        if !metadata.is_file() {
            return Err(self.io(std::io::Error::other("it is not a regular file")));
        }
        Ok(metadata.len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), DataError> {
        self.file
            .read_exact_at(bytes, offset)
            .map_err(|error| self.io(error))
    }
}
