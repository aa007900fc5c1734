//! Threads that sleep until something is delivered.
//!
//! Whoever delivers publishes first and then looks whether anyone sleeps; whoever goes to sleep
//! says so first and then looks for something published. All four are sequentially consistent,
//! so at least one of the two sees the other. (What is published under a lock, and looked for
//! under the same one, needs no more than that lock.)

use std::sync::Arc;

use super::bell::Bell;
use super::primitives::{AtomicUsize, Mutex, Ordering, Thread, current};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    /// Length of `threads`, so that nobody takes the lock to find it empty.
    count: AtomicUsize,
    threads: Mutex<Vec<Sleeper>>,
}

#[derive(Debug)]
struct Sleeper {
    thread: Thread,
    /// Of a thread that sleeps on connections.
    bell: Option<Arc<Bell>>,
}

impl Sleepers {
    /// This thread is about to sleep, on its lock or on a bell. It has to look once more before
    /// it does.
    pub(super) fn announce(&self, bell: Option<Arc<Bell>>) {
        {
            let mut threads = self.threads.lock();
            threads.push(Sleeper {
                thread: current(),
                bell,
            });
            self.count.store(threads.len(), Ordering::SeqCst);
        }
        both_orders();
    }

    /// This thread is awake.
    pub(super) fn withdraw(&self) {
        let me = current().id();
        let mut threads = self.threads.lock();
        threads.retain(|sleeper| sleeper.thread.id() != me);
        self.count.store(threads.len(), Ordering::Relaxed);
    }

    /// Wakes whoever sleeps. Called after publishing.
    #[inline]
    pub(super) fn wake(&self) {
        both_orders();
        if self.count.load(Ordering::SeqCst) > 0 {
            self.wake_all();
        }
    }

    /// As [`Sleepers::wake`], for what need not have been published that way.
    #[cold]
    pub(super) fn wake_all(&self) {
        let threads = {
            let mut threads = self.threads.lock();
            self.count.store(0, Ordering::Relaxed);
            std::mem::take(&mut *threads)
        };
        for sleeper in threads {
            match sleeper.bell {
                // Who reads what it waits for itself is awake.
                Some(_) if sleeper.thread.id() == current().id() => {}
                Some(bell) => bell.ring(),
                None => sleeper.thread.unpark(),
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
