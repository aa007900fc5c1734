//! The kinds of sources. Each is one implementation of [`Object`] and one line in [`open`].

use super::file::LocalFile;
#[cfg(feature = "http")]
use super::http::HttpObject;
use super::object::Object;
use super::{DataError, shown};

/// Opens the object at `location`.
pub(super) fn open(location: &str) -> Result<Box<dyn Object>, DataError> {
    match location.split_once("://") {
        None => LocalFile::open(location, location),
        Some(("file", path)) => LocalFile::open(location, path),
        #[cfg(feature = "http")]
        Some(("http", _)) => HttpObject::open(location),
        #[cfg(feature = "https")]
        Some(("https", _)) => HttpObject::open(location),
        Some(_) => Err(DataError::Unsupported {
            location: shown(location),
        }),
    }
}
