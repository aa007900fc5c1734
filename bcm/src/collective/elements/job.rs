//! Vectors that several threads combine together.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::number::{Number, Reducer};

/// Elements a thread takes at a time.
const SLICE: usize = 16 << 10;
/// Bytes of the result that are worked on at a time: half of a core's first-level cache.
const TILE: usize = 16 << 10;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Job<E> {
    /// The result, computed in place in the first vector: its pointer, length and capacity.
    into: *mut E,
    length: usize,
    capacity: usize,
    parts: Vec<Vec<E>>,
    reducer: Reducer,
    /// The first element that no thread has taken yet.
    next: AtomicUsize,
}

// SAFETY: the pointer, the only field that is not `Send` by itself, points to a vector that nothing else refers to:
// `new` takes it by value, and it is given back or dropped once. Its elements are `Send`, as all numbers are.
unsafe impl<E: Number> Send for Job<E> {}
// SAFETY: threads that share a job write to disjoint slices of the result, as `next` deals them
// out, and only read the other vectors.
unsafe impl<E: Number> Sync for Job<E> {}

impl<E: Number> Job<E> {
    /// Creates a job from vectors of the same length.
    pub(super) fn new(into: Vec<E>, parts: Vec<Vec<E>>, reducer: Reducer) -> Self {
        let mut into = ManuallyDrop::new(into);
        debug_assert!(parts.iter().all(|part| part.len() == into.len()));
        Self {
            into: into.as_mut_ptr(),
            length: into.len(),
            capacity: into.capacity(),
            parts,
            reducer,
            next: AtomicUsize::new(0),
        }
    }

    /// Combines slices until all have been taken.
    pub(super) fn work(&self) {
        let tile = (TILE / size_of::<E>()).max(1);
        loop {
            let start = self.next.fetch_add(SLICE, Ordering::Relaxed);
            if start >= self.length {
                return;
            }
            let length = SLICE.min(self.length - start);
            // SAFETY: the range lies in the vector, and `next` gives it to this thread alone.
            let into = unsafe { std::slice::from_raw_parts_mut(self.into.add(start), length) };
            for (offset, into) in (start..).step_by(tile).zip(into.chunks_mut(tile)) {
                for part in &self.parts {
                    E::combine(self.reducer, into, &part[offset..offset + into.len()]);
                }
            }
        }
    }

    /// Returns the result and the other vectors, once all threads are done.
    pub(super) fn into_vectors(mut self) -> (Vec<E>, Vec<Vec<E>>) {
        let parts = std::mem::take(&mut self.parts);
        (self.take(), parts)
    }

    /// Takes the vector that `into` points to, leaving an empty one in its place.
    fn take(&mut self) -> Vec<E> {
        let mut empty = ManuallyDrop::new(Vec::new());
        let into = std::mem::replace(&mut self.into, empty.as_mut_ptr());
        let length = std::mem::take(&mut self.length);
        let capacity = std::mem::take(&mut self.capacity);
        // SAFETY: the three are a vector's that was not dropped, and are replaced by those of an
        // empty one, so it is given out once.
        unsafe { Vec::from_raw_parts(into, length, capacity) }
    }
}

impl<E> Drop for Job<E> {
    fn drop(&mut self) {
        // SAFETY: as in `take`; what was taken has left an empty vector.
        drop(unsafe { Vec::from_raw_parts(self.into, self.length, self.capacity) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_work() {
        let length = if cfg!(miri) { 40_000 } else { 200_003 };
        let vector = |factor: u64| (0..length as u64).map(|i| i * factor).collect::<Vec<_>>();
        let parts = vec![vector(2), vector(3)];
        let job = Job::new(vector(1), parts.clone(), Reducer::Sum);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| job.work());
            }
        });
        let (sum, back) = job.into_vectors();
        assert_eq!(sum, vector(6));
        assert_eq!(back, parts);
        drop(Job::new(vec![1u8; 10], vec![], Reducer::Max));
    }
}
