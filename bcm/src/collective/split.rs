//! Dividing a group into groups.

use super::gather::all_gather;
use crate::communicator::Communicator;
use crate::context;
use crate::error::Error;
use crate::operation::Operation;
use crate::rank::Rank;

impl Communicator {
    /// Divides the group: members that pass the same color form a new group, ranked by key and, if
    /// keys are equal, by their old rank. A member that passes `None` is in no new group.
    ///
    /// This is a collective: all members must call it. Cost: an
    /// [`all_gather`](Communicator::all_gather) of a few bytes.
    ///
    /// # Errors
    /// Same as [`Communicator::barrier`]; also [`Error::TooManyGroups`] once the new group's first
    /// member has been in some 858 million splits, divided by the number of the flare's workers.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 2], &BackendConfig::new("memory"), |worker| {
    ///     let me = worker.worker_id();
    ///     let half = worker.split(Some(me % 2), -i64::from(me))?.unwrap();
    ///     Ok(half.all_gather(me)?.to_vec())
    /// });
    /// assert_eq!(results[0], Ok(vec![2, 0]));
    /// assert_eq!(results[3], Ok(vec![3, 1]));
    /// ```
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>, Error> {
        self.noted(split(self, color, key))
    }
}

/// All members exchange their color and key, so that each can work out its own group, and their
/// numbers of this split, one of which makes the group's context.
fn split(
    communicator: &Communicator,
    color: Option<u32>,
    key: i64,
) -> Result<Option<Communicator>, Error> {
    let group = &communicator.group;
    let topology = &communicator.shared.topology;
    let operation = Operation::Split;
    let choices = all_gather(communicator, (color, key, group.split_number()), operation)?;
    let Some(color) = color else {
        return Ok(None);
    };
    let mut ranks: Vec<Rank> = Rank::all(group.size())
        .zip(choices.iter())
        .filter(|(_, (other, ..))| *other == Some(color))
        .map(|(rank, _)| rank)
        .collect();
    ranks.sort_by_key(|&rank| (choices[rank.index()].1, rank));
    // The list contains at least this member.
    let leader = ranks.first().copied().unwrap_or(group.rank);
    let (first, number) = (group.worker(leader), choices[leader.index()].2);
    let Some(context) = context::of_split(first, number, topology) else {
        return Err(Error::TooManyGroups {
            operation,
            first,
            most: context::numbers(topology) - context::FIRST_NUMBER,
        });
    };
    let divided = group.subgroup(context, &ranks, topology);
    Ok(Some(communicator.within(divided)))
}
