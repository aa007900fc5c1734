//! Objects: the sources of data.

use super::DataError;

/// Something of known size that can be read at any offset, by several threads at once.
pub(super) trait Object: Send + Sync {
    /// The size in bytes.
    fn size(&self) -> Result<u64, DataError>;
    /// Fills `bytes` from `offset` on; an object that ends before that is an error.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), DataError>;
}
