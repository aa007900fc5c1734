//! How a message is cut into chunks.

use std::ops::Range;

use super::WireError;

/// The chunks of a message. They are as even as possible, so that the total and the number of
/// chunks determine where each one lies, and no offset has to be trusted.
///
/// 10 bytes in chunks of at most 4 make 3 chunks of 4, 4 and 2 bytes; an empty message is one
/// empty chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    total: usize,
    chunks: u32,
    size: usize,
}

impl Layout {
    /// Cuts `total` bytes into chunks of at most `limit`.
    pub(crate) fn cut(total: usize, limit: usize) -> Self {
        // Never more chunks than the header can number, whatever chunk size is configured.
        let chunks = total.div_ceil(limit.max(1)).clamp(1, MOST_CHUNKS as usize) as u32;
        Self::of(total, chunks)
    }

    /// At most this many chunks: fewer may be enough once their size is rounded up.
    fn of(total: usize, chunks: u32) -> Self {
        let size = total.div_ceil(chunks as usize);
        let chunks = total.div_ceil(size.max(1)).max(1) as u32;
        Self {
            total,
            chunks,
            size,
        }
    }

    /// Returns the layout that another pack claims to have used, if it is possible.
    pub(crate) fn check(total: u64, chunks: u32, chunk: u32) -> Result<Self, WireError> {
        let wrong = WireError::Layout {
            chunk,
            chunks,
            total,
        };
        let Ok(bytes) = usize::try_from(total) else {
            return Err(wrong);
        };
        if chunks == 0 || chunks > MOST_CHUNKS || chunk >= chunks {
            return Err(wrong);
        }
        let layout = Self::of(bytes, chunks);
        match layout.chunks == chunks {
            true => Ok(layout),
            false => Err(wrong),
        }
    }

    pub(crate) fn total(&self) -> usize {
        self.total
    }

    pub(crate) fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Where a chunk lies in the message.
    pub(crate) fn range(&self, chunk: u32) -> Range<usize> {
        let start = (chunk as usize).saturating_mul(self.size).min(self.total);
        start..start.saturating_add(self.size).min(self.total)
    }
}

/// Bounds how much a header can make the receiver allocate for keeping track of chunks.
const MOST_CHUNKS: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn chunks_cover_the_message_exactly(total in 0usize..5000, limit in 0usize..600) {
            let layout = Layout::cut(total, limit);
            let mut end = 0;
            for chunk in 0..layout.chunks() {
                let range = layout.range(chunk);
                prop_assert_eq!(range.start, end);
                prop_assert!(range.len() <= limit.max(1));
                prop_assert!(!range.is_empty() || total == 0);
                end = range.end;
                prop_assert_eq!(Layout::check(total as u64, layout.chunks(), chunk), Ok(layout));
            }
            prop_assert_eq!(end, total);
        }

        #[test]
        fn accepted_chunks_lie_within_the_message(total: u64, chunks: u32, chunk: u32) {
            if let Ok(layout) = Layout::check(total, chunks, chunk) {
                let range = layout.range(chunk);
                prop_assert!(range.start <= range.end && range.end as u64 <= total);
            }
        }
    }

    #[test]
    fn invalid_numbers_are_refused() {
        for (total, chunks, chunk) in [(0, 0, 0), (0, 2, 0), (9, 6, 0), (10, 2, 2), (1, 2, 0)] {
            assert!(
                Layout::check(total, chunks, chunk).is_err(),
                "{total} {chunks} {chunk}"
            );
        }
        assert!(Layout::check(u64::MAX, u32::MAX, 1).is_err());
    }
}
