//! A buffer for bytes that a thread reads beyond what it asked for, so that a header and a small
//! message need one system call; most of a large payload bypasses it.
//!
//! The buffer belongs to the reading thread and not to the connection: between two reads a
//! connection keeps no more than the beginning of a header.

use std::cell::Cell;

const ROOM: usize = 16 << 10;

thread_local! {
    static MINE: Cell<Option<Box<ReadAhead>>> = const { Cell::new(None) };
}

/// See the module's documentation. Bytes that were read and not taken yet are in `start..end`.
#[derive(Debug)]
pub(super) struct ReadAhead {
    room: Box<[u8]>,
    start: usize,
    end: usize,
}

impl ReadAhead {
    /// Runs `work` with this thread's buffer, filled with the bytes a connection has kept; the
    /// connection gets back what is left.
    pub(super) fn with<R>(kept: &mut Vec<u8>, work: impl FnOnce(&mut Self) -> R) -> R {
        let mut ahead = MINE.take().unwrap_or_else(|| {
            Box::new(Self {
                room: vec![0; ROOM].into(),
                start: 0,
                end: 0,
            })
        });
        (ahead.start, ahead.end) = (0, kept.len());
        ahead.room[..kept.len()].copy_from_slice(kept);
        kept.clear();
        let result = work(&mut ahead);
        kept.extend_from_slice(&ahead.room[ahead.start..ahead.end]);
        MINE.set(Some(ahead));
        result
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Takes the next `count` bytes, if that many are there.
    pub(super) fn next(&mut self, count: usize) -> Option<&[u8]> {
        let next = self.room[self.start..self.end].get(..count)?;
        self.start += count;
        Some(next)
    }

    /// Moves bytes to their place; returns how many.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> usize {
        let count = (self.end - self.start).min(buffer.len());
        buffer[..count].copy_from_slice(&self.room[self.start..self.start + count]);
        self.start += count;
        count
    }

    /// Drops at most this many bytes; returns how many.
    pub(super) fn skip(&mut self, most: usize) -> usize {
        let count = (self.end - self.start).min(most);
        self.start += count;
        count
    }

    /// Reads more with `read`; returns how much.
    pub(super) fn fill<E>(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        self.room.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let got = read(&mut self.room[self.end..])?;
        self.end += got;
        Ok(got)
    }
}
