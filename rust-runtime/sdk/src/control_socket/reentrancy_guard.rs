//! Detects whether a thread is already inside the control socket.

use std::cell::Cell;

thread_local! {
    /// Set while this thread is inside the control socket or its log capture. A signal handler or
    /// an allocator that writes to stderr meanwhile must not enter again.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as inside until dropped.
pub(crate) struct ReentrancyGuard {
    before: bool,
}

impl ReentrancyGuard {
    pub(crate) fn enter() -> Self {
        Self {
            before: INSIDE.replace(true),
        }
    }

    pub(crate) fn is_inside() -> bool {
        INSIDE.get()
    }

    /// Enters, unless this thread is already inside.
    pub(crate) fn try_enter() -> Option<Self> {
        (!INSIDE.get()).then(Self::enter)
    }
}

impl Drop for ReentrancyGuard {
    fn drop(&mut self) {
        INSIDE.set(self.before);
    }
}
