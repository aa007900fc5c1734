//! The threads that workers run on. Some are kept from one flare to the next: starting and ending a thread takes as
//! long as a small flare, and after a new thread the runtime has to look for new processes again.

use std::any::Any;
use std::io;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// Address space of a worker's stack, as large as a main thread's; memory is allocated as it is touched.
const STACK: usize = 8 * 1024 * 1024;

/// At most this many threads are kept, as their stacks count towards the program's memory.
const KEPT: usize = 4;

type Job<'scope> = Box<dyn FnOnce() + Send + 'scope>;
/// The result of a job: the payload of its panic, if it panicked.
type Ended = thread::Result<()>;

/// Threads of one program, each with the number of the worker that it runs.
pub(crate) struct WorkerThreads<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    threads: Vec<WorkerThread<'scope>>,
    ended: (Sender<Ended>, Receiver<Ended>),
    /// How many of the threads, counted from the first one, this flare uses.
    running: usize,
    /// How many of this flare's jobs have ended.
    done: usize,
    panicked: Option<Box<dyn Any + Send>>,
}

/// A thread, which ends when the sender of its jobs is dropped.
struct WorkerThread<'scope> {
    worker: u32,
    jobs: Sender<Job<'scope>>,
}

impl<'scope, 'env> WorkerThreads<'scope, 'env> {
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self {
            scope,
            threads: Vec::new(),
            ended: mpsc::channel(),
            running: 0,
            done: 0,
            panicked: None,
        }
    }

    /// Prepares a flare of these workers. Threads of other workers end, so that there are no more threads than workers.
    pub(crate) fn begin(&mut self, workers: Range<u32>) {
        self.threads
            .retain(|thread| workers.contains(&thread.worker));
    }

    /// Runs a job on the thread of this worker, which must have no other job now.
    pub(crate) fn run(
        &mut self,
        worker: u32,
        job: impl FnOnce() + Send + 'scope,
    ) -> io::Result<()> {
        let (running, idle) = self.threads.split_at(self.running);
        debug_assert!(running.iter().all(|thread| thread.worker != worker));
        let index = match idle.iter().position(|thread| thread.worker == worker) {
            Some(index) => self.running + index,
            None => {
                self.threads.push(self.start(worker)?);
                self.threads.len() - 1
            }
        };
        self.threads.swap(self.running, index);
        let sent = self.threads[self.running].jobs.send(Box::new(job));
        sent.map_err(|_| io::Error::other("the thread has ended"))?;
        self.running += 1;
        Ok(())
    }

    fn start(&self, worker: u32) -> io::Result<WorkerThread<'scope>> {
        let (jobs, given) = mpsc::channel::<Job<'scope>>();
        let ended = self.ended.0.clone();
        let thread = thread::Builder::new().name(format!("worker-{worker}"));
        let _detached = thread.stack_size(STACK).spawn_scoped(self.scope, move || {
            for job in given {
                // Everything that the job owned is dropped before its end is sent. The thread that waits resumes the
                // panic.
                let result = panic::catch_unwind(AssertUnwindSafe(job));
                if ended.send(result).is_err() {
                    return;
                }
            }
        })?;
        Ok(WorkerThread { worker, jobs })
    }

    /// Waits until all jobs have ended, but no longer than `limit`; returns whether they have.
    pub(crate) fn wait(&mut self, limit: Duration) -> bool {
        let due = Instant::now() + limit;
        while self.done < self.running {
            let left = due.saturating_duration_since(Instant::now());
            match self.ended.1.recv_timeout(left) {
                Ok(ended) => self.take(ended),
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits until all jobs have ended, and resumes the panic of one that panicked. At most [`KEPT`] threads are kept.
    pub(crate) fn join(&mut self) {
        while self.done < self.running {
            match self.ended.1.recv() {
                Ok(ended) => self.take(ended),
                // Never happens: `self` holds a sender, too.
                Err(_) => break,
            }
        }
        (self.running, self.done) = (0, 0);
        self.threads.truncate(KEPT);
        if let Some(payload) = self.panicked.take() {
            panic::resume_unwind(payload);
        }
    }

    fn take(&mut self, ended: Ended) {
        self.done += 1;
        if let Err(payload) = ended {
            self.panicked.get_or_insert(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use std::sync::Mutex;
    use std::thread::ThreadId;

    fn flare(threads: &mut WorkerThreads<'_, '_>, workers: Range<u32>) -> Vec<ThreadId> {
        threads.begin(workers.clone());
        let seen = std::sync::Arc::new(Mutex::new(Vec::new()));
        for worker in workers {
            let seen = std::sync::Arc::clone(&seen);
            let job = move || {
                let own = thread::current();
                assert_eq!(own.name(), Some(format!("worker-{worker}").as_str()));
                seen.lock().unwrap().push((worker, own.id()));
            };
            threads.run(worker, job).unwrap();
        }
        threads.join();
        let mut seen = seen.lock().unwrap().clone();
        seen.sort_by_key(|(worker, _)| *worker);
        seen.into_iter().map(|(_, id)| id).collect()
    }

    #[test]
    fn a_worker_of_the_next_flare_has_the_thread_of_its_number() {
        thread::scope(|scope| {
            let mut threads = WorkerThreads::new(scope);
            let first = flare(&mut threads, 0..3);
            assert_eq!(flare(&mut threads, 0..3), first);
            assert_eq!(flare(&mut threads, 0..4)[..3], first);
            assert_eq!(flare(&mut threads, 1..3), first[1..]);
            assert_eq!(threads.threads.len(), 2, "of others none stay");
        });
    }

    #[test]
    fn threads_that_are_kept_are_limited() {
        thread::scope(|scope| {
            let mut threads = WorkerThreads::new(scope);
            let many = flare(&mut threads, 0..50);
            assert_eq!(many.len(), 50);
            assert_eq!(threads.threads.len(), KEPT);
            assert_eq!(flare(&mut threads, 0..4), many[..4]);
        });
    }

    #[test]
    fn a_panic_is_resumed_in_the_waiting_thread() {
        let outcome = panic::catch_unwind(|| {
            thread::scope(|scope| {
                let mut threads = WorkerThreads::new(scope);
                threads.run(0, || panic!("lost")).unwrap();
                threads.run(1, || ()).unwrap();
                threads.join();
            });
        });
        let payload = outcome.unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"lost"));
    }
}
