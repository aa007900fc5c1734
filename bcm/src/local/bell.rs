//! What wakes a thread that sleeps on connections and not on its own lock.

use std::cell::OnceCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that becomes readable when it is rung.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

thread_local! {
    static MINE: OnceCell<Option<Arc<Bell>>> = const { OnceCell::new() };
}

impl Bell {
    pub(crate) fn new() -> std::io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Self(eventfd(0, flags)?))
    }

    /// The bell of this thread, kept until it ends; `None` when there are no descriptors left.
    pub(crate) fn mine() -> Option<Arc<Self>> {
        MINE.with(|mine| mine.get_or_init(|| Self::new().ok().map(Arc::new)).clone())
    }

    pub(crate) fn ring(&self) {
        // The only possible error is that it rings already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Ends the ringing.
    pub(crate) fn silence(&self) {
        // The only possible error is that it does not ring.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A thread that sleeps on connections.
pub(crate) struct Sleeper<'a> {
    /// What wakes it otherwise.
    pub(crate) bell: &'a Arc<Bell>,
    pub(crate) limit: Duration,
    /// Whether it has read something that may be what it waits for: nobody rings for that.
    pub(crate) found: &'a dyn Fn() -> bool,
}
