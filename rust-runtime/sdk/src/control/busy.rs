//! Whether a thread is inside the control channel.

use std::cell::Cell;

thread_local! {
    /// Set while this thread is inside the control channel or its log capture. A signal handler or
    /// an allocator that writes to stderr meanwhile must not come back in.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as inside the channel until dropped.
pub(crate) struct Busy {
    before: bool,
}

impl Busy {
    pub(crate) fn enter() -> Self {
        Self {
            before: BUSY.replace(true),
        }
    }

    pub(crate) fn is_inside() -> bool {
        BUSY.get()
    }

    /// Enters unless this thread is inside already.
    pub(crate) fn try_enter() -> Option<Self> {
        (!BUSY.get()).then(Self::enter)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.set(self.before);
    }
}
