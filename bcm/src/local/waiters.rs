//! Threads that sleep until something is delivered.
//!
//! A sender publishes first and then checks whether anyone sleeps; a thread that goes to sleep
//! announces it first and then checks whether something was published. All four steps are
//! sequentially consistent, so at least one of the two sees the other. (For something published and
//! checked under the same lock, that lock is enough.)

use std::sync::Arc;

use super::primitives::{AtomicUsize, Mutex, Ordering, Thread, current};
use super::waker::Waker;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    /// Length of `threads`, so that nobody takes the lock to find it empty.
    count: AtomicUsize,
    threads: Mutex<Vec<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    thread: Thread,
    /// The waker, if the thread sleeps on connections.
    waker: Option<Arc<Waker>>,
}

impl Waiters {
    /// Announces that this thread is about to sleep, on its own lock or on a waker. It must look
    /// once more before it does.
    pub(super) fn announce(&self, waker: Option<Arc<Waker>>) {
        {
            let mut threads = self.threads.lock();
            threads.push(Waiter {
                thread: current(),
                waker,
            });
            self.count.store(threads.len(), Ordering::SeqCst);
        }
        both_orders();
    }

    /// Removes this thread, as it is awake.
    pub(super) fn withdraw(&self) {
        let me = current().id();
        let mut threads = self.threads.lock();
        threads.retain(|waiter| waiter.thread.id() != me);
        self.count.store(threads.len(), Ordering::Relaxed);
    }

    /// Wakes all sleepers. Called after publishing.
    #[inline]
    pub(super) fn wake(&self) {
        both_orders();
        if self.count.load(Ordering::SeqCst) > 0 {
            self.wake_all();
        }
    }

    /// Like [`Waiters::wake`], for events that need not have been published that way.
    #[cold]
    pub(super) fn wake_all(&self) {
        let threads = {
            let mut threads = self.threads.lock();
            self.count.store(0, Ordering::Relaxed);
            std::mem::take(&mut *threads)
        };
        for waiter in threads {
            match waiter.waker {
                // A thread that itself reads what it waits for is awake.
                Some(_) if waiter.thread.id() == current().id() => {}
                Some(waker) => waker.wake(),
                None => waiter.thread.unpark(),
            }
        }
    }
}

/// `loom` treats sequentially consistent accesses as acquire and release only, so it is given
/// fences with the same meaning.
#[inline]
fn both_orders() {
    #[cfg(burst_loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}
