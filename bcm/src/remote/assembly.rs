//! A message being assembled from its chunks.
//!
//! The buffer is allocated once, at its final size and alignment, and whichever thread has a chunk
//! reads or copies it straight to its place, without a lock: a chunk's place is claimed first, and
//! chunks do not overlap.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::permit::Permit;
use crate::payload::{Buffer, Encoding};
use crate::wire::Layout;

const FREE: u8 = 0;
const CLAIMED: u8 = 1;
const FILLED: u8 = 2;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Assembly {
    layout: Layout,
    encoding: Encoding,
    /// Allocated by the first thread that needs it, not under the inbox's lock.
    memory: OnceLock<Memory>,
    states: Box<[AtomicU8]>,
    missing: AtomicU32,
    permit: Mutex<Option<Permit>>,
}

#[derive(Debug)]
struct Memory {
    start: *mut u8,
    buffer: Mutex<Option<Buffer>>,
}

// SAFETY: `start` points into the heap memory of `buffer`, which is neither freed nor moved while
// a chunk is unfilled; it is written through only by the holder of a `Slot`, each of which has a
// range of its own.
unsafe impl Send for Memory {}
// SAFETY: as above; sharing `Memory` gives nobody access to the bytes without a `Slot`.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(encoding: Encoding, bytes: usize) -> Self {
        // The header's check has ensured that the length fits the encoding; otherwise the message
        // would arrive as bytes that do not decode.
        let mut buffer =
            Buffer::zeroed(encoding.width(), bytes).unwrap_or_else(|| Buffer::One(vec![0; bytes]));
        let start = buffer.as_bytes_mut().as_mut_ptr();
        Self {
            start,
            buffer: Mutex::new(Some(buffer)),
        }
    }
}

impl Assembly {
    pub(super) fn new(layout: Layout, encoding: Encoding, permit: Permit) -> Self {
        Self {
            layout,
            encoding,
            memory: OnceLock::new(),
            states: (0..layout.chunks()).map(|_| AtomicU8::new(FREE)).collect(),
            missing: AtomicU32::new(layout.chunks()),
            permit: Mutex::new(Some(permit)),
        }
    }

    /// Whether a chunk that claims to belong to this message can.
    pub(super) fn fits(&self, layout: Layout, encoding: Encoding) -> bool {
        self.layout == layout && self.encoding == encoding
    }

    /// The place of a chunk; `None` if another thread has claimed or filled it.
    pub(super) fn claim(self: &Arc<Self>, chunk: u32) -> Option<Slot> {
        let state = self.states.get(chunk as usize)?;
        state
            .compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        Some(Slot {
            assembly: Arc::clone(self),
            chunk,
            filled: false,
        })
    }

    /// Returns the message, to the thread that filled the last chunk.
    pub(super) fn finish(&self) -> (Encoding, Buffer, Option<Permit>) {
        let memory = self
            .memory
            .get_or_init(|| Memory::new(self.encoding, self.layout.total()));
        let buffer = memory.buffer.lock().take();
        let permit = self.permit.lock().take();
        (
            self.encoding,
            buffer.unwrap_or(Buffer::One(Vec::new())),
            permit,
        )
    }
}

/// The place of one chunk, which nobody else can write to.
#[derive(Debug)]
pub(super) struct Slot {
    assembly: Arc<Assembly>,
    chunk: u32,
    filled: bool,
}

impl Slot {
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let assembly = &*self.assembly;
        let memory = assembly
            .memory
            .get_or_init(|| Memory::new(assembly.encoding, assembly.layout.total()));
        let range = assembly.layout.range(self.chunk);
        // SAFETY: the range lies inside the buffer, whose length is the layout's total; only the
        // holder of this slot writes to it (claimed by compare-exchange, one slot per chunk, and
        // chunks do not overlap); nobody reads it until all chunks are filled, and the buffer is
        // not taken out before, because this chunk is not.
        unsafe { std::slice::from_raw_parts_mut(memory.start.add(range.start), range.len()) }
    }

    /// Marks the chunk as filled; `true` if it was the last one.
    pub(super) fn fill(mut self) -> bool {
        self.filled = true;
        if let Some(state) = self.assembly.states.get(self.chunk as usize) {
            state.store(FILLED, Ordering::Release);
        }
        // The thread that reaches zero sees the writes of all others.
        self.assembly.missing.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

impl Drop for Slot {
    /// A chunk that was not read completely can be claimed again.
    fn drop(&mut self) {
        if !self.filled
            && let Some(state) = self.assembly.states.get(self.chunk as usize)
        {
            state.store(FREE, Ordering::Release);
        }
    }
}
