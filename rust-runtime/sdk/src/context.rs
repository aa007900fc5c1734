//! The context that a work function gets: the worker's identity, its flare, and its logs and phases.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use burst_bcm::{Communicator, Failure, FailureKind};
use burst_protocol::{MESSAGE, PHASE_NAME, PHASES};

use crate::data::Part;
use crate::error::{self, Error};
use crate::pack::PackContext;
use crate::state::State;

/// A worker's view of its flare: its own identity, the other workers, and the means to communicate with them.
///
/// Every worker gets its own; it can be shared with threads that the worker starts. It dereferences to the
/// [`Communicator`] of all workers, whose methods are listed below: they give ids and sizes, send and receive, and
/// include the collectives, which all workers must call in the same order. A value sent to a worker of the same pack is
/// moved, not copied; between packs it is carried by the flare's backend. Every operation ends with an error when a
/// peer fails, when the flare is cancelled, or at its deadline.
///
/// ```
/// use burst::{BurstContext, Error};
///
/// fn work(_: (), burst: &BurstContext) -> Result<String, Error> {
///     let (worker, workers) = (burst.worker_id(), burst.burst_size());
///     Ok(format!("worker {worker} of {workers}, in pack {}", burst.pack_id()))
/// }
///
/// let outputs = burst::testing::run(work, [(); 4], 2)?;
/// assert_eq!(outputs[3], "worker 3 of 4, in pack 1");
/// # Ok::<(), burst::testing::FlareFailed>(())
/// ```
///
/// ```
/// use burst::{BurstContext, Error};
///
/// fn work(numbers: Vec<u64>, burst: &BurstContext) -> Result<u64, Error> {
///     let (me, n) = (burst.worker_id(), burst.burst_size());
///     burst.send(numbers, (me + 1) % n)?;
///     let passed_on: Vec<u64> = burst.recv((me + n - 1) % n)?;
///     let total = burst.all_reduce(passed_on.len() as u64, |a, b| a + b)?;
///     let Some(half) = burst.split(Some(me % 2), 0)? else {
///         return Ok(0);
///     };
///     Ok(*total * 100 + *half.all_reduce(u64::from(me), |a, b| a + b)?)
/// }
///
/// let outputs = burst::testing::run(work, vec![vec![1], vec![2, 3], vec![], vec![4]], 2)?;
/// assert_eq!(outputs, [402, 404, 402, 404]);
/// # Ok::<(), burst::testing::FlareFailed>(())
/// ```
pub struct BurstContext {
    pub(crate) communicator: Communicator,
    pub(crate) pack_context: Arc<PackContext>,
    pub(crate) loads_called: AtomicU64,
    phases: AtomicU32,
    /// The failure that ended a load here before any communication, if this worker did not cause it.
    load_ended_by: OnceLock<Failure>,
}

impl Deref for BurstContext {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.communicator
    }
}

impl BurstContext {
    pub(crate) fn new(communicator: Communicator, pack_context: Arc<PackContext>) -> Self {
        Self {
            communicator,
            pack_context,
            loads_called: AtomicU64::new(0),
            phases: AtomicU32::new(0),
            load_ended_by: OnceLock::new(),
        }
    }

    /// This worker's part of anything that the flare's workers divide equally: see [`share`](crate::data::share).
    pub fn part(&self) -> Part {
        Part {
            index: self.worker_id(),
            of: self.burst_size(),
        }
    }

    /// The time at which the flare is stopped unless it has ended, by the wall clock. That clock may be adjusted in the
    /// meantime: [`remaining`](Self::remaining) does not depend on it.
    pub fn deadline(&self) -> SystemTime {
        self.pack_context.deadline
    }

    /// The time left until the flare is stopped, by a monotonic clock.
    pub fn remaining(&self) -> Duration {
        self.pack_context
            .due
            .saturating_duration_since(Instant::now())
    }

    /// Marks the beginning of a phase of this worker, for the flare's timeline. It lasts until the
    /// next one, or until the worker ends. Only the first 1000 phases of a worker are kept.
    pub fn phase(&self, name: &str) {
        if self.phases.fetch_add(1, Ordering::Relaxed) < PHASES {
            let end = name.floor_char_boundary(PHASE_NAME);
            self.pack_context
                .report
                .phase(self.worker_id(), &name[..end]);
        }
    }

    /// This worker's trace context, in the format of W3C's `traceparent`. Services that it calls, and spans of its own,
    /// join the flare's trace with it. `None` if the platform records no traces.
    pub fn traceparent(&self) -> Option<String> {
        let index = self.worker_id() - self.pack_context.first_worker;
        self.pack_context
            .trace
            .as_ref()?
            .traceparent(index as usize)
    }

    /// Logs a line as this worker. `println!` and `eprintln!` on the worker's own thread do the same; this method also
    /// works on threads that the worker started. A line that `print!` leaves incomplete waits in the standard library's
    /// buffer, which all threads share: the whole line is logged for the worker whose thread completes it.
    pub fn log(&self, text: impl fmt::Display) {
        self.pack_context
            .report
            .log(self.worker_id(), &text.to_string());
    }

    /// The state that this worker left in the last flare of its group (`burst group open`): a value of type `T`, one
    /// for each type. `init` makes it the first time, and in a flare outside any group. State is lost with the group,
    /// which ends when one of its flares fails.
    ///
    /// Never blocks, unless `init` does. To keep large data that all workers of a pack share, keep each worker's handle
    /// of it, such as [`data::Shared`](crate::data::Shared).
    ///
    /// ```
    /// use burst::{BurstContext, Error, testing::Group};
    ///
    /// fn count(step: u64, burst: &BurstContext) -> Result<u64, Error> {
    ///     let mut total = burst.state(|| Ok(0))?;
    ///     *total += step;
    ///     Ok(*total)
    /// }
    ///
    /// let mut group = Group::open(2);
    /// assert_eq!(group.run(count, [1, 2, 3])?, [1, 2, 3]);
    /// assert_eq!(group.run(count, [10, 10, 10])?, [11, 12, 13]);
    /// # Ok::<(), burst::testing::FlareFailed>(())
    /// ```
    ///
    /// # Errors
    /// The error of `init`; and an error if this worker still holds its state of this type.
    pub fn state<T: Send + 'static>(
        &self,
        init: impl FnOnce() -> Result<T, Error>,
    ) -> Result<State<T>, Error> {
        let index = self.worker_id() - self.pack_context.first_worker;
        self.pack_context.states.take(index, init)
    }

    /// Records that a load that this worker waited for has failed, and that this worker did not cause it.
    pub(crate) fn load_ended(&self, cause: Failure) {
        if self.interrupted_by().is_none() {
            let _ = self.load_ended_by.set(cause);
        }
    }

    /// The first failure that ended a load or a communication of this worker and that it did not cause.
    fn ended_by(&self) -> Option<Failure> {
        let interrupted = |error| error::failure_of(error, self.worker_id(), self.pack_id());
        let load = self.load_ended_by.get().cloned();
        load.or_else(|| self.interrupted_by().map(interrupted))
    }

    /// Gives the failure of this worker its final form. A worker that failed because a communication reported that the
    /// flare had failed (and returned that as text, or panicked on it) is not a cause of its own.
    pub(crate) fn attribute(&self, mut failure: Failure) -> Failure {
        if let Some(cause) = self.ended_by() {
            if matches!(failure.kind, FailureKind::Error | FailureKind::Panic) {
                if !failure.message.contains(&cause.message) {
                    failure.message = format!("{} ({})", failure.message, cause.message);
                }
                failure.kind = cause.kind;
            }
            if failure.kind == cause.kind && cause.operation.is_some() {
                failure.operation.clone_from(&cause.operation);
            }
        }
        failure
            .message
            .truncate(failure.message.floor_char_boundary(MESSAGE));
        failure
    }

    pub(crate) fn next_load(&self) -> u64 {
        self.loads_called.fetch_add(1, Ordering::Relaxed)
    }
}

impl fmt::Debug for BurstContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BurstContext")
            .field("flare_id", &self.flare_id())
            .field("worker_id", &self.worker_id())
            .field("burst_size", &self.burst_size())
            .field("pack_id", &self.pack_id())
            .finish_non_exhaustive()
    }
}
