//! A lock for something that is rarely contended and held only for nanoseconds: the receiving end
//! of a channel, which several threads of one worker can use.

use std::ops::{Deref, DerefMut};

use super::primitives::{AtomicBool, Ordering, UnsafeCell, spin_loop, yield_now};

/// Attempts before the thread yields.
const SPINS: u32 = 32;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Claim<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value can only be accessed through a `Claimed`, and only one exists at a time, so the
// claim moves the value between threads and never shares it.
unsafe impl<T: Send> Sync for Claim<T> {}

impl<T> Claim<T> {
    pub(super) fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    #[inline]
    pub(super) fn claim(&self) -> Claimed<'_, T> {
        let mut looks = 0;
        while self.held.swap(true, Ordering::Acquire) {
            looks += 1;
            if looks % SPINS == 0 {
                yield_now();
            } else {
                spin_loop();
            }
        }
        Claimed { claim: self }
    }
}

/// Access to the value, until dropped.
#[derive(Debug)]
pub(super) struct Claimed<'a, T> {
    claim: &'a Claim<T>,
}

impl<T> Deref for Claimed<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the flag is held by this guard alone.
        self.claim.value.with_mut(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for Claimed<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the flag is held by this guard alone, which is borrowed mutably.
        self.claim.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Claimed<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.claim.held.store(false, Ordering::Release);
    }
}
