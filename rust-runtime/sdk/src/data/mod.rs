//! Loading input data, once per pack.
//!
//! The workers of a pack live in one process, so a large input that all of them read needs to be fetched only once, and
//! they can fetch it together: [`load`] lets every worker of the pack read one slice, and gives all of them the same
//! read-only buffer. If each worker needs a part of its own, [`read`] with [`share`] is enough.
//!
//! Locations are paths, `file://` URLs, and `http://` URLs of servers that answer range requests:
//! an S3 object by its public or presigned URL is one. `https://` needs the feature `https`. Other
//! schemes are refused with an error that says so.
//!
//! ```
//! use burst::{BurstContext, Error, data};
//!
//! # let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
//! # std::fs::write(file.path(), "to be or not to be").map_err(|e| e.to_string())?;
//! # let path = file.path().to_str().unwrap_or_default().to_owned();
//! fn count(path: String, burst: &BurstContext) -> Result<usize, Error> {
//!     let text = data::load(burst, &path)?;
//!     Ok(text.iter().filter(|&&byte| byte == b'b').count())
//! }
//!
//! let counts = burst::testing::run(count, vec![path; 4], 4).map_err(|e| e.to_string())?;
//! assert_eq!(counts, [2, 2, 2, 2]);
//! # Ok::<(), String>(())
//! ```

mod buffer;
mod file;
#[cfg(feature = "http")]
mod http;
mod load;
mod loads;
mod object;
mod source;

use std::io;
use std::ops::Range;

pub use buffer::Shared;
pub use load::load;
pub(crate) use loads::Loads;

/// Why data could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The location's scheme is not supported.
    #[error(
        "cannot read from `{location}`: only local paths, file:// URLs, and with the features `http` and `https` of \
         the crate burst such URLs are supported"
    )]
    Unsupported {
        /// The location.
        location: String,
    },
    /// Opening or reading failed.
    #[error("cannot read `{location}`: {source}")]
    Io {
        /// The location.
        location: String,
        /// The cause.
        source: io::Error,
    },
    /// Another worker of the pack could not read its slice.
    #[error("cannot load `{location}`: worker {worker} says: {reason}")]
    Peer {
        /// The location.
        location: String,
        /// The worker that failed.
        worker: u32,
        /// The cause.
        reason: String,
    },
    /// The range does not lie within the object.
    #[error("bytes {start}..{end} are not within `{location}`, which has {size}")]
    OutOfRange {
        /// The location.
        location: String,
        /// The first byte of the range.
        start: u64,
        /// The end of the range, which is not part of it.
        end: u64,
        /// The object's size.
        size: u64,
    },
    /// The workers of the pack did not load the same location.
    #[error("worker {worker} loads `{location}` where worker {other} of its pack loads `{found}`")]
    Mismatch {
        /// This worker.
        worker: u32,
        /// Its location.
        location: String,
        /// The worker that called first.
        other: u32,
        /// That worker's location.
        found: String,
    },
    /// The flare was aborted, or its deadline passed, while waiting for the pack's other workers.
    #[error("loading stopped: {0}")]
    Stopped(#[source] burst_bcm::Error),
}

/// The size of the object at `location`, in bytes.
///
/// # Errors
/// [`DataError::Unsupported`] and [`DataError::Io`].
pub fn size(location: &str) -> Result<u64, DataError> {
    source::open(location)?.size()
}

/// Reads these bytes of the object at `location`, for this worker alone.
///
/// # Errors
/// [`DataError::Unsupported`], [`DataError::OutOfRange`] and [`DataError::Io`].
pub fn read(location: &str, range: Range<u64>) -> Result<Vec<u8>, DataError> {
    let object = source::open(location)?;
    let size = object.size()?;
    if range.start > range.end || range.end > size {
        let Range { start, end } = range;
        return Err(DataError::OutOfRange {
            location: shown(location),
            start,
            end,
            size,
        });
    }
    let mut bytes = vec![0; buffer::length(location, range.end - range.start)?];
    object.read_at(range.start, &mut bytes)?;
    Ok(bytes)
}

/// A location as errors show it: without the query of a URL, which may hold a signature.
fn shown(location: &str) -> String {
    let url = location.contains("://").then(|| location.split_once('?'));
    let shown = url.flatten().map_or(location, |(shown, _)| shown);
    shown.to_owned()
}

/// One of several nearly equal parts: `Part { index: 0, of: 3 }` is the first of three. A worker's own part is
/// [`BurstContext::part`](crate::BurstContext::part).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The index of the part, in `0..of`.
    pub index: u32,
    /// The number of parts.
    pub of: u32,
}

impl Part {
    /// The whole, as its only part.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}

/// The range of `0..size` that is this part. A part that does not exist is empty.
///
/// ```
/// use burst::data::{Part, share};
/// let thirds = [0, 1, 2].map(|index| share(10, Part { index, of: 3 }));
/// assert_eq!(thirds, [0..3, 3..6, 6..10]);
/// ```
pub fn share(size: u64, part: Part) -> Range<u64> {
    let cut = |index: u32| {
        let end = u128::from(size) * u128::from(index.min(part.of)) / u128::from(part.of.max(1));
        // Not above `size`, which is a u64.
        end as u64
    };
    cut(part.index)..cut(part.index.saturating_add(1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    #[test]
    fn shares_cover_everything_once() {
        for (size, of) in [(0, 1), (1, 3), (10, 3), (7, 7), (u64::MAX, 3)] {
            let mut next = 0;
            for index in 0..of {
                let share = share(size, Part { index, of });
                assert_eq!(share.start, next);
                next = share.end;
            }
            assert_eq!(next, size);
        }
        assert_eq!(share(5, Part { index: 0, of: 0 }), 0..0);
        assert_eq!(share(5, Part { index: 9, of: 3 }), 5..5);
        assert_eq!(share(5, Part::WHOLE), 0..5);
    }

    #[test]
    fn a_range_is_read_from_a_path_and_a_url() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"0123456789").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(read(path, 2..5).unwrap(), b"234");
        assert_eq!(read(&format!("file://{path}"), 9..10).unwrap(), b"9");
        assert_eq!(size(path).unwrap(), 10);
        assert!(matches!(
            read(path, 5..11),
            Err(DataError::OutOfRange { size: 10, .. })
        ));
    }

    #[test]
    fn unreadable_data_is_reported() {
        assert!(matches!(
            size("s3://bucket/key"),
            Err(DataError::Unsupported { .. })
        ));
        let missing = size("/no/such/file").unwrap_err().to_string();
        assert!(missing.contains("/no/such/file"), "{missing}");
    }
}
