//! Elects which of the workers that sleep on a connection reads it.
//!
//! One of the workers that sleep on a connection reads for all of them, until it has the message it
//! waits for itself: if all of them woke up for everything that arrives, most would find nothing to
//! do. The others sleep on their wakers. A reader that leaves hands over to the next one in the
//! queue, and wakes it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::local::Waker;

/// The workers that sleep on one connection.
#[derive(Debug, Default)]
pub(super) struct ReaderElection {
    any: AtomicBool,
    workers: Mutex<Workers>,
}

#[derive(Debug, Default)]
struct Workers {
    reader: Option<Arc<Waker>>,
    queue: VecDeque<Arc<Waker>>,
}

impl ReaderElection {
    /// Whether a worker reads, or is about to.
    pub(super) fn is_any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    /// Adds the worker with this waker; `true` if it must read.
    pub(super) fn join(&self, waker: &Arc<Waker>) -> bool {
        let mut workers = self.workers.lock();
        if workers.reader.is_some() {
            workers.queue.push_back(Arc::clone(waker));
            return false;
        }
        workers.reader = Some(Arc::clone(waker));
        self.any.store(true, Ordering::SeqCst);
        true
    }

    /// Whether the worker with this waker is the reader.
    pub(super) fn reads(&self, waker: &Arc<Waker>) -> bool {
        let workers = self.workers.lock();
        workers
            .reader
            .as_ref()
            .is_some_and(|it| Arc::ptr_eq(it, waker))
    }

    /// Removes the worker with this waker; `true` if nobody is left.
    pub(super) fn leave(&self, waker: &Arc<Waker>) -> bool {
        let mut workers = self.workers.lock();
        let is_its = |other: &Arc<Waker>| Arc::ptr_eq(other, waker);
        if !workers.reader.as_ref().is_some_and(is_its) {
            workers.queue.retain(|other| !is_its(other));
            return false;
        }
        workers.reader = workers.queue.pop_front();
        match &workers.reader {
            Some(next) => next.wake(),
            None => self.any.store(false, Ordering::SeqCst),
        }
        workers.reader.is_none()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn waker() -> Arc<Waker> {
        Arc::new(Waker::new().unwrap())
    }

    fn is_woken(waker: &Waker) -> bool {
        let mut watched = [PollFd::new(waker, PollFlags::IN)];
        let woken = poll(&mut watched, Some(&Timespec::default())).unwrap() > 0;
        waker.reset();
        woken
    }

    #[test]
    fn a_leaving_reader_hands_over_to_the_next() {
        let election = ReaderElection::default();
        let [first, second, third] = [waker(), waker(), waker()];
        assert!(election.join(&first));
        assert!(!election.join(&second));
        assert!(!election.join(&third));

        assert!(!election.leave(&first));
        assert!(is_woken(&second) && !is_woken(&third));
        assert!(election.reads(&second));

        // It has already found its message: the turn passes on.
        assert!(!election.leave(&second));
        assert!(is_woken(&third) && election.reads(&third));

        assert!(election.leave(&third));
        assert!(!election.is_any());
    }

    #[test]
    fn a_waiting_worker_can_leave_the_queue() {
        let election = ReaderElection::default();
        let [first, second] = [waker(), waker()];
        election.join(&first);
        election.join(&second);
        assert!(!election.leave(&second));
        assert!(election.is_any() && election.reads(&first));
        assert!(!is_woken(&first));
        assert!(election.leave(&first));
    }
}
