//! All-to-all: pointers inside the pack, then one exchange per step with the other packs.

use super::{Call, NO_ROOT, invalid};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::operation::Operation;
use crate::payload::Payload;

/// In step `k` a member sends to the one `k` places after it and receives from the one `k`
/// places before it, so that no two send to the same one at a time. Both do it in the same step:
/// each has announced what it is about to receive before it sends, and the member whose step is
/// the lowest can always go on.
pub(crate) fn all_to_all<T: Payload>(
    communicator: &Communicator,
    values: Vec<T>,
) -> Result<Vec<T>, Error> {
    let operation = Operation::AllToAll;
    let size = communicator.group.size();
    if values.len() != size as usize {
        let reason = format!(
            "one value per worker is needed: {size}, not {}",
            values.len()
        );
        return Err(invalid(operation, reason));
    }
    let mut call = Call::begin(communicator, operation, NO_ROOT)?;
    let incoming = exchange(&mut call, values.into_iter().map(Some).collect(), |_| true)?;
    match incoming.len() == size as usize {
        true => Ok(incoming),
        false => Err(invalid(operation, "a value is missing".to_owned())),
    }
}

/// Gives each member the value at its place, where there is one; the values of the members that
/// `gives` names, in the order of ranks.
pub(super) fn exchange<T: Payload>(
    call: &mut Call<'_>,
    mut outgoing: Vec<Option<T>>,
    gives: impl Fn(u32) -> bool,
) -> Result<Vec<T>, Error> {
    let group = call.group;
    let (me, size) = (group.rank, group.size());
    let mut incoming: Vec<Option<T>> = Vec::new();
    incoming.resize_with(size as usize, || None);
    incoming[me as usize] = outgoing[me as usize].take();
    for &rank in &group.cluster().ranks {
        if let Some(value) = outgoing[rank as usize].take() {
            call.give(rank, value)?;
        }
    }
    if group.clusters().len() > 1 {
        for step in 1..size {
            let (to, from) = ((me + step) % size, (me + size - step) % size);
            let sent = outgoing[to as usize].take().map(|value| (to, value));
            let from = (!group.is_local(from) && gives(from)).then_some(from);
            if sent.is_none() && from.is_none() {
                continue;
            }
            let received = call.exchange(sent, from)?;
            if let Some(from) = from {
                incoming[from as usize] = received;
            }
        }
    }
    for &rank in &group.cluster().ranks {
        if rank != me && gives(rank) {
            incoming[rank as usize] = Some(call.take(rank)?);
        }
    }
    Ok(incoming.into_iter().flatten().collect())
}
