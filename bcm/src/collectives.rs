//! Operations that all members of a group call together.

use std::sync::Arc;

use crate::collective;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::number::{Number, Reducer};
use crate::operation::Operation;
use crate::payload::Payload;
use crate::rank::Rank;

/// # Collectives
///
/// All members of the group must call the same collectives in the same order.
impl Communicator {
    /// Returns when every worker has called it.
    ///
    /// Cost: `pack_size - 1` local messages in and out, and `log2(num_packs)` empty messages per
    /// pack.
    ///
    /// # Errors
    /// Those of every operation, and [`Error::CollectiveMismatch`] when another worker called
    /// something else.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     worker.barrier()
    /// });
    /// assert_eq!(results, [Ok(()), Ok(()), Ok(())]);
    /// ```
    pub fn barrier(&self) -> Result<(), Error> {
        self.noted(collective::barrier::barrier(self))
    }

    /// Gives the root's value to every worker.
    ///
    /// The root passes `Some`; values that other workers pass are dropped. Workers of one pack
    /// share one value, which is never copied between them; `Arc::unwrap_or_clone` gives a worker
    /// its own copy. The root does not wait for its own pack.
    ///
    /// Cost: one pointer per worker of a pack, one message per other pack.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the root does not exist or passes `None`; also those of
    /// [`Communicator::barrier`] and [`Communicator::recv`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 2], &BackendConfig::new("memory"), |worker| {
    ///     let value = (worker.worker_id() == 3).then(|| "the word".to_owned());
    ///     worker.broadcast(value, 3)
    /// });
    /// assert!(results.iter().all(|r| r.as_ref().is_ok_and(|v| **v == "the word")));
    /// ```
    pub fn broadcast<T: Payload>(&self, value: Option<T>, root: u32) -> Result<Arc<T>, Error> {
        self.noted(collective::broadcast::broadcast(self, value, Rank(root)))
    }

    /// Combines the values of all workers at the root, which gets `Some`.
    ///
    /// Values are combined in the order of worker ids, so `op` must be associative but need not be
    /// commutative. Each pack combines its own values before any leave it.
    ///
    /// Cost: `log2(pack_size)` rounds in each pack, then `log2(num_packs)` rounds of one message.
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 3], &BackendConfig::new("memory"), |worker| {
    ///     worker.reduce(worker.worker_id().to_string(), 4, |a, b| a + &b)
    /// });
    /// assert_eq!(results[4], Ok(Some("01234".to_owned())));
    /// assert_eq!(results[0], Ok(None));
    /// ```
    pub fn reduce<T, F>(&self, value: T, root: u32, op: F) -> Result<Option<T>, Error>
    where
        T: Payload,
        F: Fn(T, T) -> T,
    {
        self.noted(collective::reduce::reduce(self, value, Rank(root), op))
    }

    /// Combines the values of all workers and gives the result to each of them.
    ///
    /// Like [`Communicator::reduce`] at worker 0 followed by [`Communicator::broadcast`].
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[3, 2], &BackendConfig::new("memory"), |worker| {
    ///     Ok(*worker.all_reduce(worker.worker_id(), |a, b| a.max(b))?)
    /// });
    /// assert_eq!(results, vec![Ok(4); 5]);
    /// ```
    pub fn all_reduce<T, F>(&self, value: T, op: F) -> Result<Arc<T>, Error>
    where
        T: Payload,
        F: Fn(T, T) -> T,
    {
        self.noted(collective::reduce::all_reduce(self, value, op))
    }

    /// Combines the vectors of all workers element by element; the root's vector then holds the
    /// result.
    ///
    /// All workers pass vectors of the same length. Afterwards the contents of the other workers'
    /// vectors are unspecified, but their memory can be reused; after an error a vector may be
    /// empty. Inside a pack the vectors are moved, and all its workers combine them together, each
    /// taking some slices, so every worker waits until its pack has finished. How workers are
    /// distributed over packs affects the rounding of floating-point results.
    ///
    /// Cost: a few pointers per worker of a pack, one pass over all vectors at the speed of
    /// memory; then `log2(num_packs)` rounds of one message of the vector's size.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when lengths differ or the root does not exist; also those of
    /// [`Communicator::barrier`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Reducer, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     let mut values = vec![1.0f64, f64::from(worker.worker_id())];
    ///     worker.reduce_elements(&mut values, 0, Reducer::Sum)?;
    ///     Ok(values)
    /// });
    /// assert_eq!(results[0], Ok(vec![3.0, 3.0]));
    /// ```
    pub fn reduce_elements<E: Number>(
        &self,
        values: &mut Vec<E>,
        root: u32,
        reducer: Reducer,
    ) -> Result<(), Error> {
        self.noted(collective::elements::reduce(
            self,
            values,
            Rank(root),
            reducer,
        ))
    }

    /// Combines the vectors of all workers element by element and gives the result to each of them.
    ///
    /// Like [`Communicator::reduce_elements`] at worker 0 followed by [`Communicator::broadcast`]:
    /// the workers of a pack share one result.
    ///
    /// # Errors
    /// Same as [`Communicator::reduce_elements`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Reducer, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     let values = vec![worker.worker_id(), 7];
    ///     Ok(worker.all_reduce_elements(values, Reducer::Max)?.to_vec())
    /// });
    /// assert_eq!(results, vec![Ok(vec![2, 7]); 3]);
    /// ```
    pub fn all_reduce_elements<E: Number>(
        &self,
        values: Vec<E>,
        reducer: Reducer,
    ) -> Result<Arc<Vec<E>>, Error> {
        self.noted(collective::elements::all_reduce(self, values, reducer))
    }

    /// Collects the values of all workers at the root, in the order of ranks.
    ///
    /// No worker waits for the root, but the first worker of each other pack waits for the rest of
    /// its pack, as it sends their values of up to 8 KiB together with its own.
    ///
    /// Cost: one pointer per worker of the root's pack; one message per other pack with its short
    /// values, plus 12 bytes for each, and one message per longer value.
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     worker.gather(worker.worker_id() * 10, 0)
    /// });
    /// assert_eq!(results[0], Ok(Some(vec![0, 10, 20])));
    /// ```
    pub fn gather<T: Payload>(&self, value: T, root: u32) -> Result<Option<Vec<T>>, Error> {
        self.noted(collective::gather::gather(self, value, Rank(root)))
    }

    /// Collects the values of all workers, in the order of ranks, and gives the list to each of
    /// them.
    ///
    /// The workers of a pack share one result. Every worker waits for every other.
    ///
    /// Cost: a few pointers per worker of a pack. Each pack sends every other pack one message with
    /// all its values of up to 8 KiB, plus 12 bytes for each, and one message per longer value.
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     Ok(worker.all_gather(worker.worker_id())?.to_vec())
    /// });
    /// assert_eq!(results, vec![Ok(vec![0, 1, 2]); 3]);
    /// ```
    pub fn all_gather<T: Payload>(&self, value: T) -> Result<Arc<Vec<T>>, Error> {
        self.noted(collective::gather::all_gather(
            self,
            value,
            Operation::AllGather,
        ))
    }

    /// Gives each worker one of the root's values.
    ///
    /// The root passes one value per worker, in the order of ranks; values that other workers pass
    /// are dropped. The root does not wait for the others, but they wait for the root.
    ///
    /// Cost: one pointer per worker of the root's pack; one message per other pack with all values
    /// of up to 8 KiB for it, plus 12 bytes for each, and one message per longer value.
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`]; also [`Error::InvalidArgument`] when the root does not
    /// pass exactly one value per worker.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[1, 2], &BackendConfig::new("memory"), |worker| {
    ///     let values = (worker.worker_id() == 0).then(|| vec!['a', 'b', 'c']);
    ///     worker.scatter(values, 0)
    /// });
    /// assert_eq!(results, [Ok('a'), Ok('b'), Ok('c')]);
    /// ```
    pub fn scatter<T: Payload>(&self, values: Option<Vec<T>>, root: u32) -> Result<T, Error> {
        self.noted(collective::scatter::scatter(self, values, Rank(root)))
    }

    /// Gives value `i` of every worker to worker `i`, which gets them in the order of their
    /// senders. If `T` is a `Vec`, each can have a different length. Every worker waits for every
    /// other.
    ///
    /// Cost: one pointer per pair of workers in a pack. Each pack sends every other pack one
    /// message with all values of up to 8 KiB (less if there are more than a thousand), copied once
    /// on either side, plus 12 bytes for each; longer values are messages of their own.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is not exactly one value per worker; also those of
    /// [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[1, 1], &BackendConfig::new("memory"), |worker| {
    ///     let me = worker.worker_id();
    ///     worker.all_to_all(vec![(me, 0), (me, 1)])
    /// });
    /// assert_eq!(results[1], Ok(vec![(0, 1), (1, 1)]));
    /// ```
    pub fn all_to_all<T: Payload>(&self, values: Vec<T>) -> Result<Vec<T>, Error> {
        self.noted(collective::all_to_all::all_to_all(self, values))
    }

    /// Combines value `i` of every worker for worker `i`.
    ///
    /// Every worker passes one value per worker. Values are combined in the order of ranks; each
    /// pack combines its own values before any leave it.
    ///
    /// Cost: a few pointers per pair of workers in a pack; each pack sends one value to every
    /// worker of the other packs, as in [`Communicator::all_to_all`].
    ///
    /// # Errors
    /// Same as [`Communicator::all_to_all`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     let me = worker.worker_id();
    ///     worker.reduce_scatter(vec![me, me * 10, me * 100], |a, b| a + b)
    /// });
    /// assert_eq!(results, [Ok(3), Ok(30), Ok(300)]);
    /// ```
    pub fn reduce_scatter<T, F>(&self, values: Vec<T>, op: F) -> Result<T, Error>
    where
        T: Payload,
        F: Fn(T, T) -> T,
    {
        self.noted(collective::reduce_scatter::reduce_scatter(self, values, op))
    }

    /// Combines the values of all workers up to and including this one, in the order of ranks.
    ///
    /// Cost: two pointers per worker of a pack, and `log2(num_packs)` rounds of one message.
    ///
    /// # Errors
    /// Same as [`Communicator::barrier`] and [`Communicator::recv`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     worker.scan(worker.worker_id() + 1, |a, b| a + b)
    /// });
    /// assert_eq!(results, [Ok(1), Ok(3), Ok(6)]);
    /// ```
    pub fn scan<T, F>(&self, value: T, op: F) -> Result<T, Error>
    where
        T: Payload + Clone,
        F: Fn(T, T) -> T,
    {
        self.noted(collective::scan::scan(self, value, op))
    }

    /// Combines the values of all workers before this one, in the order of ranks; `None` for the
    /// first.
    ///
    /// Cost and errors: as [`Communicator::scan`].
    ///
    /// # Errors
    /// Same as [`Communicator::scan`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     worker.exclusive_scan(worker.worker_id() + 1, |a, b| a + b)
    /// });
    /// assert_eq!(results, [Ok(None), Ok(Some(1)), Ok(Some(3))]);
    /// ```
    pub fn exclusive_scan<T, F>(&self, value: T, op: F) -> Result<Option<T>, Error>
    where
        T: Payload + Clone,
        F: Fn(T, T) -> T,
    {
        self.noted(collective::scan::exclusive_scan(self, value, op))
    }
}
