//! Reduce-scatter: each pack combines its own values before any leave it.

use super::{Call, NO_ROOT, check_one_each, invalid};
use crate::collective::all_to_all;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::invalid::InvalidArgument;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::rank::Rank;

impl Communicator {
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
        self.noted(reduce_scatter(self, values, op))
    }
}

/// First the members of a run (neighbours in one pack) divide the work: the values for rank `d` are
/// combined by member `d % len` of the run. That member sends the result to `d`, which combines the
/// results of the runs, in their order.
fn reduce_scatter<T: Payload>(
    communicator: &Communicator,
    values: Vec<T>,
    op: impl Fn(T, T) -> T,
) -> Result<T, Error> {
    let operation = Operation::ReduceScatter;
    let size = communicator.group.size();
    check_one_each(operation, size, &values)?;
    let mut call = Call::begin::<T>(communicator, operation, NO_ROOT)?;
    let group = call.group;
    let me = group.rank;
    let run = group.runs()[group.run_of(me)];
    let combiner = |dest: Rank| run.rank(dest.index() % run.length);

    // What each member of the run combines, in the order of destinations.
    let mut shares: Vec<Vec<T>> = (0..run.length).map(|_| Vec::new()).collect();
    for (dest, value) in values.into_iter().enumerate() {
        shares[dest % run.length].push(value);
    }
    let mut own = Vec::new();
    for (member, share) in run.ranks().zip(shares) {
        match member == me {
            true => own = share,
            false => call.give_local(member, share)?,
        }
    }
    let mut combined: Vec<Option<T>> = (0..own.len()).map(|_| None).collect();
    for member in run.ranks() {
        let share = match member == me {
            true => std::mem::take(&mut own),
            false => call.take_local::<Vec<T>>(member)?,
        };
        for (element, value) in combined.iter_mut().zip(share) {
            *element = Some(match element.take() {
                Some(left) => op(left, value),
                None => value,
            });
        }
    }

    // A second call, as every member again gives each other one at most one value.
    let mut call = Call::begin::<T>(communicator, operation, NO_ROOT)?;
    let mut outgoing: Vec<Option<T>> = Vec::new();
    outgoing.resize_with(size as usize, || None);
    let mine = Rank::all(size).filter(|&dest| combiner(dest) == me);
    for (dest, value) in mine.zip(combined) {
        outgoing[dest.index()] = value;
    }
    let senders: Vec<Rank> = group
        .runs()
        .iter()
        .map(|run| run.rank(me.index() % run.length))
        .collect();
    let incoming = all_to_all::exchange(&mut call, outgoing, |from| senders.contains(&from))?;
    senders
        .iter()
        .zip(incoming)
        .map(|(_, value)| value)
        .reduce(&op)
        .ok_or_else(|| invalid(operation, InvalidArgument::MissingValue))
}
