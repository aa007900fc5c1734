//! Who a worker is, and what it can say about itself.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use burst_bcm::{Communicator, Failure, FailureKind};
use burst_protocol::{MESSAGE, PHASE_NAME, PHASES};

use crate::error::{self, Error};
use crate::pack::Local;
use crate::state::State;

/// A worker's view of its flare: who it is, who the others are, and how to talk to them.
///
/// Every worker gets its own; it can be shared with threads which the worker starts. The
/// communication methods are in the second half of this page. All workers must call the same
/// collectives in the same order.
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
pub struct BurstContext {
    pub(crate) communicator: Communicator,
    pub(crate) local: Arc<Local>,
    pub(crate) loads_called: AtomicU64,
    phases: AtomicU32,
    /// Why communication ended here, if it was not this worker's doing.
    ended_by: OnceLock<Failure>,
    /// A group or a request was given out: what it tells the worker is not seen here.
    handles: AtomicBool,
}

impl BurstContext {
    pub(crate) fn new(communicator: Communicator, local: Arc<Local>) -> Self {
        Self {
            communicator,
            local,
            loads_called: AtomicU64::new(0),
            phases: AtomicU32::new(0),
            ended_by: OnceLock::new(),
            handles: AtomicBool::new(false),
        }
    }

    /// This worker's id, from 0 to [`burst_size`](Self::burst_size) - 1.
    pub fn worker_id(&self) -> u32 {
        self.communicator.worker_id()
    }

    /// The number of workers in the flare.
    pub fn burst_size(&self) -> u32 {
        self.communicator.burst_size()
    }

    /// The id of this worker's pack.
    pub fn pack_id(&self) -> u32 {
        self.communicator.pack_id()
    }

    /// The number of workers in this worker's pack.
    pub fn pack_size(&self) -> u32 {
        self.communicator.pack_size()
    }

    /// The number of packs in the flare.
    pub fn num_packs(&self) -> u32 {
        self.communicator.num_packs()
    }

    /// The pack that `worker` is in; none when there is no such worker.
    pub fn pack_of(&self, worker: u32) -> Option<u32> {
        self.communicator.pack_of(worker)
    }

    /// The workers in `pack`; none when there is no such pack.
    pub fn workers_of(&self, pack: u32) -> Option<Range<u32>> {
        self.communicator.workers_of(pack)
    }

    /// Whether this is the first worker of its pack.
    pub fn is_pack_leader(&self) -> bool {
        self.communicator.is_pack_leader()
    }

    /// The flare's id.
    pub fn flare_id(&self) -> &str {
        &self.local.flare_id
    }

    /// When the flare is stopped if it has not ended by then, as long as nobody sets the machine's clock.
    pub fn deadline(&self) -> SystemTime {
        self.local.deadline
    }

    /// The time left until the flare is stopped, whatever the machine's clock says.
    pub fn remaining(&self) -> Duration {
        self.local.due.saturating_duration_since(Instant::now())
    }

    /// Marks the beginning of a phase of this worker, for the flare's timeline. It lasts until the
    /// next one, or until the worker ends. Only the first 1000 phases of a worker are kept.
    pub fn phase(&self, name: &str) {
        if self.phases.fetch_add(1, Ordering::Relaxed) < PHASES {
            let end = name.floor_char_boundary(PHASE_NAME);
            self.local.report.phase(self.worker_id(), &name[..end]);
        }
    }

    /// Logs a line as this worker. `println!` and `eprintln!` on the worker's own thread do the
    /// same; this one also works on threads the worker started. A line that `print!` leaves without
    /// its end waits in the standard library's buffer, which all threads share: whoever ends the
    /// line is said to have said it all.
    pub fn log(&self, text: impl fmt::Display) {
        self.local.report.log(self.worker_id(), &text.to_string());
    }

    /// What this worker left here in the last flare of its group (`burst group open`): a value of
    /// type `T`, one for each type. The first time, and in a flare that is of no group, `init`
    /// makes it; what is left is gone with the group, which ends when one of its flares fails.
    ///
    /// It never blocks, except on what `init` does. Large data that all workers of a pack share is
    /// kept by keeping each worker's handle of it, such as [`data::Shared`](crate::data::Shared).
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
    /// What `init` returns; and when this worker still holds its state of this type.
    pub fn state<T: Send + 'static>(
        &self,
        init: impl FnOnce() -> Result<T, Error>,
    ) -> Result<State<T>, Error> {
        let index = self.worker_id() - self.local.first_worker;
        self.local.states.take(index, init)
    }

    /// Passes on the result of a communication, remembering that another one's failure or the flare's time-out
    /// ended it.
    pub(crate) fn seen<T>(
        &self,
        result: Result<T, burst_bcm::Error>,
    ) -> Result<T, burst_bcm::Error> {
        if let Err(error) = &result
            && matches!(
                error,
                burst_bcm::Error::Aborted(_)
                    | burst_bcm::Error::Departed { .. }
                    | burst_bcm::Error::Timeout { .. }
            )
        {
            self.ended(error::failure_of(error, self.worker_id(), self.pack_id()));
        }
        result
    }

    /// What this worker waited for will not come, and that is not its doing.
    pub(crate) fn ended(&self, cause: Failure) {
        let _ = self.ended_by.set(cause);
    }

    /// The communicator, for operations that give out others like it.
    pub(crate) fn handles(&self) -> &Communicator {
        self.handles.store(true, Ordering::Relaxed);
        &self.communicator
    }

    /// Gives the failure of this worker its final form. A worker that failed after a communication
    /// told it that the flare had failed (and returned that as text, or panicked on it) is not a
    /// cause of its own.
    pub(crate) fn attribute(&self, mut failure: Failure) -> Failure {
        if self.handles.load(Ordering::Relaxed) {
            // It may have heard of the flare's failure through any of them.
            let _ = self.check();
        }
        if let Some(cause) = self.ended_by.get() {
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
