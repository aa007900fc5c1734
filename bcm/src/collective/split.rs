//! Dividing a group into groups.

use super::gather::all_gather;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::group::derived;
use crate::operation::Operation;

/// Everyone learns everyone's color and key, so that each can work out its own group and the
/// context its messages are kept apart by.
pub(crate) fn split(
    communicator: &Communicator,
    color: Option<u32>,
    key: i64,
) -> Result<Option<Communicator>, Error> {
    let group = &communicator.group;
    let choices = all_gather(communicator, (color, key), Operation::Split)?;
    let split = group.splits();
    let Some(color) = color else {
        return Ok(None);
    };
    let mut ranks: Vec<u32> = (0..)
        .zip(choices.iter())
        .filter(|(_, (other, _))| *other == Some(color))
        .map(|(rank, _)| rank)
        .collect();
    ranks.sort_by_key(|&rank| (choices[rank as usize].1, rank));
    let which = split << 32 | u64::from(color);
    let context = derived(group.context, "split", which);
    let divided = group.subgroup(context, &ranks, &communicator.shared.topology);
    Ok(Some(communicator.within(divided)))
}
