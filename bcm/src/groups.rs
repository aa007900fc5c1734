//! Groups of workers, each with ranks and collectives of its own.

use std::sync::Arc;

use crate::communicator::Communicator;
use crate::group::Group;
use crate::rank::Rank;

/// # Groups
///
/// A group has a communicator of its own: its members are numbered by rank, its collectives involve
/// only its members, and its messages are never mistaken for another group's.
/// [`worker_id`](Communicator::worker_id) and the methods that describe the flare return the same
/// as before.
impl Communicator {
    /// This worker's number in the group; the worker id in the group of all workers.
    pub fn rank(&self) -> u32 {
        self.group.rank.0
    }

    /// Number of members of the group.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// The worker of a rank; `None` when the rank does not exist.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 3], &BackendConfig::new("memory"), |worker| {
    ///     let pack = worker.my_pack();
    ///     Ok((pack.size(), pack.worker_of(1), pack.worker_of(3)))
    /// });
    /// assert_eq!(results[4], Ok((3, Some(3), None)));
    /// ```
    #[inline]
    pub fn worker_of(&self, rank: u32) -> Option<u32> {
        (rank < self.size()).then(|| self.group.worker(Rank(rank)))
    }

    /// The members of the group that are in this worker's pack, in the order of their ranks. Every
    /// call returns the same group; called on that group, it returns the group itself.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 3], &BackendConfig::new("memory"), |worker| {
    ///     let pack = worker.my_pack();
    ///     Ok((pack.rank(), *pack.all_reduce(1, |a, b| a + b)?))
    /// });
    /// assert_eq!(results[1], Ok((1, 2)));
    /// assert_eq!(results[4], Ok((2, 3)));
    /// ```
    #[must_use]
    pub fn my_pack(&self) -> Self {
        match self.group.my_pack(&self.shared.topology) {
            Some(pack) => self.within(pack),
            None => self.clone(),
        }
    }

    /// The group of the first member of each pack; `None` for all other members. Every call returns
    /// the same group; called on that group, it returns the group itself.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 3], &BackendConfig::new("memory"), |worker| {
    ///     let Some(leaders) = worker.pack_leaders() else {
    ///         return Ok(vec![]);
    ///     };
    ///     Ok(leaders.all_gather(worker.worker_id())?.to_vec())
    /// });
    /// assert_eq!(results[0], Ok(vec![0, 2]));
    /// assert_eq!(results[1], Ok(vec![]));
    /// ```
    pub fn pack_leaders(&self) -> Option<Self> {
        if !self.group.is_pack_leader() {
            return None;
        }
        Some(match self.group.pack_leaders(&self.shared.topology) {
            Some(leaders) => self.within(leaders),
            None => self.clone(),
        })
    }

    /// Returns this worker's handle of another group that it is in.
    pub(crate) fn within(&self, group: Arc<Group>) -> Self {
        let mut other = self.clone();
        other.group = group;
        other
    }
}
