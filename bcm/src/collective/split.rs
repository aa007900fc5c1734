//! Dividing a group into groups.

use super::gather::all_gather;
use crate::communicator::Communicator;
use crate::context;
use crate::error::Error;
use crate::operation::Operation;
use crate::rank::Rank;

/// All members exchange their color and key, so that each can work out its own group, and their
/// numbers of this split, one of which makes the group's context.
pub(crate) fn split(
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
