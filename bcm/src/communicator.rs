//! A worker's handle of a group, by which it communicates with the other members.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use crate::error::Error;
use crate::failure::Failure;
use crate::group::Group;
use crate::pack_id::PackId;
use crate::shared::Shared;

/// One worker's end of the flare's communication.
///
/// A new communicator belongs to the group of all workers, whose ranks are the worker ids;
/// [`my_pack`](Communicator::my_pack) and [`split`](Communicator::split) make other groups. A
/// collective involves only the members of its group. Values can always differ in size between
/// workers, so `gather`, `scatter`, `all_gather` and `all_to_all` of vectors also cover MPI's `v`
/// forms; each vector is moved, not copied into a common one. Only
/// [`reduce_elements`](Communicator::reduce_elements) and
/// [`all_reduce_elements`](Communicator::all_reduce_elements) need equal lengths.
///
/// Every method takes `&self`; a handle can be cloned and used from several threads of the same
/// worker, but collectives must still be called by all workers in the same order.
///
/// Every operation is bounded: it returns an error when the operation's timeout or the flare's
/// deadline passes, and immediately when a worker, a pack or the flare fails ([`Error::Aborted`],
/// which names the one that failed).
///
/// ```
/// use burst_bcm::{BackendConfig, testing};
///
/// let results = testing::run(&[2], &BackendConfig::new("memory"), |worker| {
///     if worker.worker_id() == 0 {
///         worker.send(vec![1.0f64, 2.0], 1)?;
///         Ok(0.0)
///     } else {
///         let values: Vec<f64> = worker.recv(0)?;
///         Ok(values.iter().sum())
///     }
/// });
/// assert_eq!(results, [Ok(0.0), Ok(3.0)]);
/// ```
#[derive(Clone)]
pub struct Communicator {
    pub(crate) shared: Arc<Shared>,
    pub(crate) group: Arc<Group>,
    worker: u32,
    flare_deadline: Option<SystemTime>,
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("flare_id", &self.shared.flare_id)
            .field("worker", &self.worker)
            .field("pack", &self.shared.pack)
            .field("burst_size", &self.burst_size())
            .finish()
    }
}

impl Communicator {
    pub(crate) fn new(
        shared: Arc<Shared>,
        group: Arc<Group>,
        worker: u32,
        flare_deadline: Option<SystemTime>,
    ) -> Self {
        Self {
            shared,
            group,
            worker,
            flare_deadline,
        }
    }

    /// The flare this worker belongs to.
    pub fn flare_id(&self) -> &str {
        &self.shared.flare_id
    }

    /// When the flare ends, if it has a deadline.
    pub fn deadline(&self) -> Option<SystemTime> {
        self.flare_deadline
    }

    /// This worker's id, in `0..burst_size()`.
    pub fn worker_id(&self) -> u32 {
        self.worker
    }

    /// Number of workers of the flare.
    pub fn burst_size(&self) -> u32 {
        self.shared.topology.burst_size()
    }

    /// The pack this worker is in.
    pub fn pack_id(&self) -> PackId {
        self.shared.pack
    }

    /// Number of workers in this worker's pack.
    pub fn pack_size(&self) -> u32 {
        self.shared.topology.pack_size(self.shared.pack)
    }

    /// Number of packs of the flare.
    pub fn num_packs(&self) -> u32 {
        self.shared.topology.num_packs()
    }

    /// The pack of a worker; `None` when the worker does not exist.
    pub fn pack_of(&self, worker: u32) -> Option<PackId> {
        self.shared.topology.pack_of(worker)
    }

    /// The workers of a pack; `None` when the pack does not exist.
    pub fn workers_of(&self, pack: PackId) -> Option<Range<u32>> {
        self.shared.topology.workers_of(pack)
    }

    /// Whether this worker is the first one of its pack.
    pub fn is_pack_leader(&self) -> bool {
        self.worker == self.shared.first_worker
    }

    /// Ends every operation of every worker of the flare with this failure.
    ///
    /// Returns immediately; peers in other packs are notified within a second.
    pub fn abort(&self, failure: Failure) {
        self.shared.abort(failure);
    }

    /// Returns an error once the flare has failed or was cancelled, or the pack is closed; never
    /// waits. Intended for long computations without communication.
    ///
    /// # Errors
    /// [`Error::Aborted`], [`Error::Closed`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Error, Failure, FailureKind, testing};
    /// let results = testing::run(&[1], &BackendConfig::new("memory"), |worker| {
    ///     worker.check()?;
    ///     worker.abort(Failure::new(FailureKind::Cancelled, "enough"));
    ///     assert!(matches!(worker.check(), Err(Error::Aborted(_))));
    ///     Ok(())
    /// });
    /// assert_eq!(results, [Ok(())]);
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        self.noted(self.shared.cancellation.check())
    }

    /// Returns the first error that ended an operation of this worker through no fault of its own, on any of its
    /// handles, groups or requests: the flare was aborted, or a peer left or did not answer in time.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Error, Failure, FailureKind, testing};
    /// let results = testing::run(&[1], &BackendConfig::new("memory"), |worker| {
    ///     worker.my_pack().barrier()?;
    ///     assert_eq!(worker.interrupted_by(), None);
    ///     worker.abort(Failure::new(FailureKind::Cancelled, "enough"));
    ///     let error = worker.my_pack().barrier().unwrap_err();
    ///     assert_eq!(worker.interrupted_by(), Some(&error));
    ///     Ok(())
    /// });
    /// assert_eq!(results, [Ok(())]);
    /// ```
    pub fn interrupted_by(&self) -> Option<&Error> {
        self.shared.interruptions.of(self.worker)
    }

    /// Records an error that interrupts this worker, and returns the result unchanged. Every method that can wait
    /// or be refused ends with this call.
    #[inline]
    pub(crate) fn noted<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        self.shared.interruptions.noted(self.worker, result)
    }
}
