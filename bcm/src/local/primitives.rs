//! The primitives of the queue and the park protocol: the standard library's, or `loom`'s when they
//! are model-checked (`make verify`).

#[cfg(burst_loom)]
pub(super) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{Thread, current, yield_now},
};
#[cfg(not(burst_loom))]
pub(super) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{Thread, current, yield_now},
};

#[cfg(not(burst_loom))]
pub(super) use parking_lot::Mutex;

/// The standard cell with the access methods of `loom`'s.
#[cfg(not(burst_loom))]
#[derive(Debug)]
pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(burst_loom))]
impl<T> UnsafeCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(super) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
}

/// `loom`'s mutex with the interface of the one used elsewhere.
#[cfg(burst_loom)]
#[derive(Debug, Default)]
pub(super) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(burst_loom)]
impl<T> Mutex<T> {
    pub(super) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
