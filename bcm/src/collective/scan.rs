//! Inclusive and exclusive scans.
//!
//! The leader of a run (neighbours in one pack) collects its members' values and exchanges only
//! their combination with the leaders of other runs. From the combination of everything before the
//! run it then computes each member's result.

use super::{Call, NO_ROOT, invalid};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::invalid::InvalidArgument;
use crate::operation::Operation;
use crate::payload::Payload;

impl Communicator {
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
        self.noted(scan(self, value, op))
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
        self.noted(exclusive_scan(self, value, op))
    }
}

/// `(before, up to)`: the values before a member combined, and the same including its own.
type Prefixes<T> = (Option<T>, T);

fn scan<T: Payload + Clone>(
    communicator: &Communicator,
    value: T,
    op: impl Fn(T, T) -> T,
) -> Result<T, Error> {
    prefixes(communicator, Operation::Scan, value, op).map(|(_, with)| with)
}

fn exclusive_scan<T: Payload + Clone>(
    communicator: &Communicator,
    value: T,
    op: impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    prefixes(communicator, Operation::ExclusiveScan, value, op).map(|(before, _)| before)
}

fn prefixes<T: Payload + Clone>(
    communicator: &Communicator,
    operation: Operation,
    value: T,
    op: impl Fn(T, T) -> T,
) -> Result<Prefixes<T>, Error> {
    let mut call = Call::begin::<T>(communicator, operation, NO_ROOT)?;
    let group = call.group;
    let mine = group.run_of(group.rank);
    let run = group.runs()[mine];
    if group.rank != run.first {
        call.give(run.first, value)?;
        return call.take_local(run.first);
    }
    let mut values = vec![value];
    for rank in run.ranks().skip(1) {
        values.push(call.take(rank)?);
    }
    // Each member's value combined with those before it in the run.
    let mut within: Vec<T> = Vec::with_capacity(values.len());
    for value in values {
        let combined = match within.last() {
            Some(left) => op(left.clone(), value),
            None => value,
        };
        within.push(combined);
    }
    let total = within.last().cloned();
    let total = total.ok_or_else(|| invalid(operation, InvalidArgument::MissingValue))?;
    let before = before_run(&mut call, mine, total, &op)?;

    let mut left = before.clone();
    let mut own = None;
    for (rank, combined) in run.ranks().zip(within) {
        let with = match &before {
            Some(before) => op(before.clone(), combined),
            None => combined,
        };
        let prefixes = (left.replace(with.clone()), with);
        match rank == group.rank {
            true => own = Some(prefixes),
            false => call.give_local(rank, prefixes)?,
        }
    }
    own.ok_or_else(|| invalid(operation, InvalidArgument::MissingValue))
}

/// Combines everything before a run. In round `k` each leader sends its combination to the leader
/// `2^k` runs after it; at the end of the round it has the values of the `2^(k+1) - 1` runs before
/// its own.
fn before_run<T: Payload + Clone>(
    call: &mut Call<'_>,
    mine: usize,
    total: T,
    op: &impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    let runs = call.group.runs();
    let mut before: Option<T> = None;
    let mut distance = 1;
    while distance < runs.len() {
        let to = runs.get(mine + distance).map(|run| {
            let sum = match &before {
                Some(before) => op(before.clone(), total.clone()),
                None => total.clone(),
            };
            (run.first, sum)
        });
        let from = mine.checked_sub(distance).map(|run| runs[run].first);
        if let Some(heard) = call.exchange(to, from)? {
            before = Some(match before {
                Some(before) => op(heard, before),
                None => heard,
            });
        }
        distance *= 2;
    }
    Ok(before)
}
