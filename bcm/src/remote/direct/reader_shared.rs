//! What other threads leave for the reading thread.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use socket2::Socket;

use crate::local::Waker;
use crate::pack_id::PackId;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct ReaderShared {
    pub(super) set: OwnedFd,
    pub(super) waker: Waker,
    /// Whether the thread sleeps for as long as workers do.
    pub(super) dozes: AtomicBool,
    pub(super) pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Connections to read once this pack can answer, with their pack and number.
    pub(super) new: Vec<(Socket, PackId, u64)>,
    pub(super) ended: Vec<u64>,
    pub(super) open: bool,
    pub(super) closing: bool,
}

impl ReaderShared {
    pub(super) fn new(set: OwnedFd, waker: Waker) -> Self {
        Self {
            set,
            waker,
            dozes: AtomicBool::new(false),
            pending: Mutex::default(),
        }
    }

    pub(super) fn ask(&self, what: impl FnOnce(&mut Pending)) {
        what(&mut self.pending.lock());
        self.call();
    }

    /// Wakes the thread, so that it checks everything.
    pub(super) fn call(&self) {
        self.waker.wake();
    }

    /// Wakes the thread if it dozes, because a worker no longer sleeps on a connection.
    pub(super) fn wake(&self) {
        if self.dozes.swap(false, Ordering::SeqCst) {
            self.call();
        }
    }

    /// A worker has found that a connection has ended.
    pub(super) fn ended(&self, number: u64) {
        self.ask(|pending| pending.ended.push(number));
    }
}
