//! Wakes a thread that sleeps on connections instead of on its own lock.

use std::cell::OnceCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that becomes readable when the thread should wake up.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

thread_local! {
    static MINE: OnceCell<Option<Arc<Waker>>> = const { OnceCell::new() };
}

impl Waker {
    pub(crate) fn new() -> std::io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Self(eventfd(0, flags)?))
    }

    /// The waker of this thread, kept until it ends; `None` when there are no descriptors left.
    pub(crate) fn mine() -> Option<Arc<Self>> {
        MINE.with(|mine| mine.get_or_init(|| Self::new().ok().map(Arc::new)).clone())
    }

    /// Wakes the thread. If called before it sleeps, it does not go to sleep.
    pub(crate) fn wake(&self) {
        // The only possible error is that it is readable already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Clears the wake-up, once the thread is awake.
    pub(crate) fn reset(&self) {
        // The only possible error is that nobody has woken it.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The wait of a thread that sleeps on connections.
pub(crate) struct ConnectionWait<'a> {
    /// Wakes the thread for anything other than its connections.
    pub(crate) waker: &'a Arc<Waker>,
    pub(crate) limit: Duration,
    /// Whether the thread has itself read something that may be what it waits for: nothing wakes it
    /// for that.
    pub(crate) found: &'a dyn Fn() -> bool,
}
