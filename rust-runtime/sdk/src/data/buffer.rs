//! One buffer, filled by several threads, then read by all.

use std::fmt;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use super::{DataError, shown};

/// Converts an object's size to a length in memory; one too large for the address space is an
/// error.
pub(super) fn length(location: &str, size: u64) -> Result<usize, DataError> {
    usize::try_from(size).map_err(|_| DataError::Io {
        location: shown(location),
        source: std::io::ErrorKind::FileTooLarge.into(),
    })
}

/// Memory that is written in disjoint parts before it is read.
pub(super) struct Buffer {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the buffer owns plain bytes. Writes go through `part_mut`, whose caller keeps parts
// disjoint; reads begin when all writes have ended (see `Shared`).
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Allocates a buffer of this length, or fails if there is no memory for it.
    pub(super) fn new(location: &str, length: usize) -> Result<Self, DataError> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| DataError::Io {
            location: shown(location),
            source: std::io::ErrorKind::OutOfMemory.into(),
        })?;
        bytes.resize(length, 0);
        let bytes: &'static mut [u8] = Box::leak(bytes.into_boxed_slice());
        Ok(Self {
            start: NonNull::from(&mut *bytes).cast(),
            length,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Returns a part to write to.
    ///
    /// # Safety
    /// The range lies within the buffer, no other live reference overlaps it, and nobody reads the
    /// buffer while this reference exists.
    #[allow(
        clippy::mut_from_ref,
        reason = "disjoint parts of one buffer are the purpose"
    )]
    pub(super) unsafe fn part_mut(&self, range: Range<usize>) -> &mut [u8] {
        // SAFETY: in bounds and unaliased by this function's contract.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr().add(range.start), range.len()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length);
        // SAFETY: this is the allocation leaked in `new`, freed once.
        drop(unsafe { Box::from_raw(bytes) });
    }
}

/// Bytes that all workers of a pack share. Cloning it copies a pointer.
#[derive(Clone)]
pub struct Shared {
    buffer: Arc<Buffer>,
}

impl Shared {
    /// Shares a buffer that nobody will write to any more.
    pub(super) fn complete(buffer: Arc<Buffer>) -> Self {
        Self { buffer }
    }
}

impl Deref for Shared {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the buffer is complete, so only shared references to it exist from now on.
        unsafe { slice::from_raw_parts(self.buffer.start.as_ptr(), self.buffer.length) }
    }
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("len", &self.len()).finish()
    }
}
