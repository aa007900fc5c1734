//! Threads that sleep until something is delivered.
//!
//! A sender publishes first and then looks whether anyone sleeps; a thread that goes to sleep says
//! so first and then looks for something published. All four are sequentially consistent,
//! so at least one of the two sees the other. (What is published under a lock, and looked for
//! under the same one, needs no more than that lock.)

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
    /// Of a thread that sleeps on connections.
    waker: Option<Arc<Waker>>,
}

impl Waiters {
    /// This thread is about to sleep, on its lock or on a waker. It has to look once more before
    /// it does.
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

    /// This thread is awake.
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

    /// As [`Waiters::wake`], for what need not have been published that way.
    #[cold]
    pub(super) fn wake_all(&self) {
        let threads = {
            let mut threads = self.threads.lock();
            self.count.store(0, Ordering::Relaxed);
            std::mem::take(&mut *threads)
        };
        for waiter in threads {
            match waiter.waker {
                // A thread that reads what it waits for is awake.
                Some(_) if waiter.thread.id() == current().id() => {}
                Some(waker) => waker.wake(),
                None => waiter.thread.unpark(),
            }
        }
    }
}

/// `loom` takes sequentially consistent accesses for acquire and release only, so it is given the
/// fences that mean the same.
#[inline]
fn both_orders() {
    #[cfg(burst_loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}
