//! Where data comes from. A further kind of source is one implementation and one line in [`open`].

use std::fs::File;
use std::os::unix::fs::FileExt;

#[cfg(feature = "http")]
use super::http::Remote;
use super::{DataError, shown};

/// Something of known size that can be read at any offset, by several threads at once.
pub(super) trait Object: Send + Sync {
    /// The size in bytes.
    fn size(&self) -> Result<u64, DataError>;
    /// Fills `bytes` from `offset` on; an object that ends before that is an error.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), DataError>;
}

/// Opens the object at `location`.
pub(super) fn open(location: &str) -> Result<Box<dyn Object>, DataError> {
    match location.split_once("://") {
        None => LocalFile::open(location, location),
        Some(("file", path)) => LocalFile::open(location, path),
        #[cfg(feature = "http")]
        Some(("http", _)) => Remote::open(location),
        #[cfg(feature = "https")]
        Some(("https", _)) => Remote::open(location),
        Some(_) => Err(DataError::Unsupported {
            location: shown(location),
        }),
    }
}

struct LocalFile {
    location: String,
    file: File,
}

impl LocalFile {
    fn open(location: &str, path: &str) -> Result<Box<dyn Object>, DataError> {
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
