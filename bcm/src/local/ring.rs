//! A bounded queue for many senders and one receiver at a time, without locks.
//!
//! Place `at` of the queue is slot `at % CAPACITY`, whose turn becomes `at + 1` when it is filled.
//! Turn and value share one cache line, to which only senders write: they learn from `head` which
//! slots were emptied, and read it only when they think that the ring is full. So a message costs
//! one line moving from core to core.
//!
//! Turns are stored and read with sequential consistency, which the park protocol relies on (see
//! [`super::waiters`]); the store is the only fence of a send.

use std::fmt;
use std::mem::MaybeUninit;

use super::primitives::{AtomicUsize, Ordering, UnsafeCell};

/// How many messages a sender can be ahead before it takes the slower path. Kept small: there is a
/// ring for every pair of workers that communicate.
#[cfg(not(burst_loom))]
pub(super) const CAPACITY: usize = 16;
#[cfg(burst_loom)]
pub(super) const CAPACITY: usize = 2;

#[repr(align(64))]
struct Slot<T> {
    turn: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// Keeps what senders write and what receivers write in different cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct CachePadded<T>(pub(super) T);

/// See the module's documentation.
pub(super) struct Ring<T> {
    senders: CachePadded<Senders>,
    /// Next place to empty.
    head: CachePadded<AtomicUsize>,
    slots: [Slot<T>; CAPACITY],
}

struct Senders {
    /// Next place to fill.
    tail: AtomicUsize,
    /// What `head` was when a sender last looked.
    emptied: AtomicUsize,
}

/// A place that only its holder may fill; until then, nothing behind it can be taken.
#[must_use = "nothing behind it can be taken until it is filled"]
pub(super) struct Reservation<'a, T> {
    slot: &'a Slot<T>,
    turn: usize,
}

impl<T> Reservation<'_, T> {
    #[inline]
    pub(super) fn fill(self, value: T) {
        // SAFETY: the slot's last value was taken out before `head` passed it, and only the holder
        // of this reservation accesses it until the turn is stored.
        self.slot
            .value
            .with_mut(|slot| unsafe { (*slot).write(value) });
        self.slot.turn.swap(self.turn, Ordering::SeqCst);
    }
}

/// The first value of the ring, which stays there unless it is taken.
pub(super) struct First<'a, T> {
    slot: &'a Slot<T>,
    head: &'a AtomicUsize,
    next: usize,
}

impl<T> First<'_, T> {
    #[inline]
    pub(super) fn peek(&self) -> &T {
        // SAFETY: the turn showed that the slot is filled, and no sender touches it before `head`
        // has passed it, which only `take` causes, by consuming this.
        self.slot
            .value
            .with_mut(|slot| unsafe { (*slot).assume_init_ref() })
    }

    #[inline]
    pub(super) fn take(self) -> T {
        // SAFETY: as above; nothing reads the slot again before it is filled again.
        let value = self
            .slot
            .value
            .with_mut(|slot| unsafe { (*slot).assume_init_read() });
        self.head.store(self.next, Ordering::Release);
        value
    }
}

// SAFETY: values are moved in by one thread and out by another, so they must be `Send`; a slot's
// value is only touched by the sender that took its place, until the turn is stored, and then by the
// receiver, until `head` is; both are read with acquire before the value is touched.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

impl<T> Ring<T> {
    pub(super) fn new() -> Self {
        Self {
            senders: CachePadded(Senders {
                tail: AtomicUsize::new(0),
                emptied: AtomicUsize::new(0),
            }),
            head: CachePadded(AtomicUsize::new(0)),
            slots: std::array::from_fn(|_| Slot {
                // Matches no place: turns start at 1.
                turn: AtomicUsize::new(0),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            }),
        }
    }

    /// Reserves the next place, which must be filled; `None` if the ring is full.
    #[inline]
    pub(super) fn reserve(&self) -> Option<Reservation<'_, T>> {
        let Senders { tail, emptied } = &self.senders.0;
        let mut at = tail.load(Ordering::Relaxed);
        loop {
            if at.wrapping_sub(emptied.load(Ordering::Acquire)) >= CAPACITY {
                let head = self.head.0.load(Ordering::Acquire);
                emptied.store(head, Ordering::Release);
                if at.wrapping_sub(head) >= CAPACITY {
                    // Full, unless this place was taken and emptied in the meantime.
                    let now = tail.load(Ordering::Relaxed);
                    if now == at {
                        return None;
                    }
                    at = now;
                    continue;
                }
            }
            let next = at.wrapping_add(1);
            match tail.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    return Some(Reservation {
                        slot: &self.slots[at % CAPACITY],
                        turn: next,
                    });
                }
                Err(now) => at = now,
            }
        }
    }

    /// The first value, if there is one.
    ///
    /// # Safety
    /// No two threads may hold or ask for a first value at the same time, and each must see the
    /// effects of the one before.
    #[inline]
    pub(super) unsafe fn first(&self) -> Option<First<'_, T>> {
        let at = self.head.0.load(Ordering::Relaxed);
        let next = at.wrapping_add(1);
        let slot = &self.slots[at % CAPACITY];
        (slot.turn.load(Ordering::SeqCst) == next).then_some(First {
            slot,
            head: &self.head.0,
            next,
        })
    }

    /// Whether there is a first value; possibly out of date as soon as it returns.
    #[inline]
    pub(super) fn ready(&self) -> bool {
        let at = self.head.0.load(Ordering::Relaxed);
        let turn = self.slots[at % CAPACITY].turn.load(Ordering::Relaxed);
        turn == at.wrapping_add(1)
    }

    /// Whether every place that was taken has been emptied.
    pub(super) fn drained(&self) -> bool {
        self.head.0.load(Ordering::Relaxed) == self.senders.0.tail.load(Ordering::Relaxed)
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the ring any more.
        while let Some(first) = unsafe { self.first() } {
            drop(first.take());
        }
    }
}

#[cfg(all(test, not(burst_loom)))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn push<T>(ring: &Ring<T>, value: T) -> Result<(), T> {
        match ring.reserve() {
            Some(reservation) => {
                reservation.fill(value);
                Ok(())
            }
            None => Err(value),
        }
    }

    #[test]
    fn a_full_ring_returns_the_value_and_drops_its_contents() {
        let value = Arc::new(());
        let ring = Ring::new();
        for _ in 0..CAPACITY {
            push(&ring, Arc::clone(&value)).unwrap();
        }
        assert!(push(&ring, Arc::clone(&value)).is_err());
        assert_eq!(Arc::strong_count(&value), CAPACITY + 1);
        drop(ring);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn each_senders_values_arrive_once_and_in_order() {
        let count = if cfg!(miri) { 50 } else { 20_000 };
        let ring = Ring::new();
        thread::scope(|scope| {
            for sender in 0..2 {
                let ring = &ring;
                scope.spawn(move || {
                    for i in 0..count {
                        let mut value = Box::new((sender, i));
                        while let Err(back) = push(ring, value) {
                            value = back;
                            thread::yield_now();
                        }
                    }
                });
            }
            let mut next = [0; 2];
            while next != [count; 2] {
                // SAFETY: this is the only thread that takes.
                match unsafe { ring.first() }.map(First::take) {
                    Some(value) => {
                        let (sender, i) = *value;
                        assert_eq!(i, next[sender]);
                        next[sender] += 1;
                    }
                    None => thread::yield_now(),
                }
            }
            assert!(ring.drained() && !ring.ready());
        });
    }
}
