//! Which of the workers that sleep on a connection reads it.
//!
//! One of those that sleep on a connection reads what comes, for all of them, and stays with it
//! until it has what it waits for itself: if all of them woke up for everything that comes, most
//! would find nothing to do. The others sleep on their bells. Whoever leaves hands over to the
//! next one in the queue, and rings for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::local::Bell;

/// Who sleeps on one connection.
#[derive(Debug, Default)]
pub(super) struct Attendance {
    any: AtomicBool,
    workers: Mutex<Workers>,
}

#[derive(Debug, Default)]
struct Workers {
    reader: Option<Arc<Bell>>,
    queue: VecDeque<Arc<Bell>>,
}

impl Attendance {
    /// Whether a worker reads, or is about to.
    pub(super) fn is_any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    /// The worker with this bell comes; `true` when it is to read.
    pub(super) fn attend(&self, bell: &Arc<Bell>) -> bool {
        let mut workers = self.workers.lock();
        if workers.reader.is_some() {
            workers.queue.push_back(Arc::clone(bell));
            return false;
        }
        workers.reader = Some(Arc::clone(bell));
        self.any.store(true, Ordering::SeqCst);
        true
    }

    /// Whether it is the turn of the worker with this bell.
    pub(super) fn reads(&self, bell: &Arc<Bell>) -> bool {
        let workers = self.workers.lock();
        workers
            .reader
            .as_ref()
            .is_some_and(|it| Arc::ptr_eq(it, bell))
    }

    /// The worker with this bell goes; `true` when nobody is left.
    pub(super) fn leave(&self, bell: &Arc<Bell>) -> bool {
        let mut workers = self.workers.lock();
        let is_its = |other: &Arc<Bell>| Arc::ptr_eq(other, bell);
        if !workers.reader.as_ref().is_some_and(is_its) {
            workers.queue.retain(|other| !is_its(other));
            return false;
        }
        workers.reader = workers.queue.pop_front();
        match &workers.reader {
            Some(next) => next.ring(),
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

    fn bell() -> Arc<Bell> {
        Arc::new(Bell::new().unwrap())
    }

    fn rings(bell: &Bell) -> bool {
        let mut watched = [PollFd::new(bell, PollFlags::IN)];
        let rings = poll(&mut watched, Some(&Timespec::default())).unwrap() > 0;
        bell.silence();
        rings
    }

    #[test]
    fn whoever_leaves_hands_over_to_the_next() {
        let attendance = Attendance::default();
        let [first, second, third] = [bell(), bell(), bell()];
        assert!(attendance.attend(&first));
        assert!(!attendance.attend(&second));
        assert!(!attendance.attend(&third));

        assert!(!attendance.leave(&first));
        assert!(rings(&second) && !rings(&third));
        assert!(attendance.reads(&second));

        // It has found its message meanwhile: the turn passes on.
        assert!(!attendance.leave(&second));
        assert!(rings(&third) && attendance.reads(&third));

        assert!(attendance.leave(&third));
        assert!(!attendance.is_any());
    }

    #[test]
    fn a_worker_that_leaves_the_queue_disturbs_nobody() {
        let attendance = Attendance::default();
        let [first, second] = [bell(), bell()];
        attendance.attend(&first);
        attendance.attend(&second);
        assert!(!attendance.leave(&second));
        assert!(attendance.is_any() && attendance.reads(&first));
        assert!(!rings(&first));
        assert!(attendance.leave(&first));
    }
}
