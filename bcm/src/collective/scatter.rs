//! Scatter: each member gets its own value; short values for another pack go in one message.

use super::{Call, invalid};
use crate::address::Destination;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::invalid::InvalidArgument;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::rank::Rank;

impl Communicator {
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
        self.noted(scatter(self, values, Rank(root)))
    }
}

fn scatter<T: Payload>(
    communicator: &Communicator,
    values: Option<Vec<T>>,
    root: Rank,
) -> Result<T, Error> {
    let operation = Operation::Scatter;
    let group = &communicator.group;
    if group.rank != root {
        let mut call = Call::begin::<T>(communicator, operation, root)?;
        let _expected = match group.is_local(root) {
            true => None,
            false => call.expect(group.own_pack().ranks[0], root)?,
        };
        return call.take(root);
    }
    let values = values
        .filter(|values| values.len() == group.size() as usize)
        .ok_or_else(|| {
            let reason = InvalidArgument::NotOnePerWorkerAtRoot {
                workers: group.size(),
            };
            invalid(operation, reason)
        })?;
    let mut call = Call::begin::<T>(communicator, operation, root)?;
    let mut values: Vec<Option<T>> = values.into_iter().map(Some).collect();
    let own = values[root.index()].take();
    for &rank in &group.own_pack().ranks {
        if let Some(value) = values[rank.index()].take() {
            call.give(rank, value)?;
        }
    }
    for pack in call.other_packs() {
        let to = &group.packs()[pack].ranks;
        let short = call.short(to.len())?;
        let mut bundle = None;
        let mut long = Vec::new();
        for &rank in to {
            if let Some(value) = values[rank.index()].take() {
                let destination = Destination::Worker(group.worker(rank));
                let single = call.bundle(&mut bundle, short, destination, value)?;
                long.extend(single.map(|(single, _)| (rank, single)));
            }
        }
        call.send_bundles(to[0], bundle.into_iter().collect())?;
        for (rank, single) in long {
            call.give_single(rank, single)?;
        }
    }
    own.ok_or_else(|| invalid(operation, InvalidArgument::MissingOwnValue))
}
