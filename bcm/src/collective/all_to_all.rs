//! All-to-all: moves values inside the pack; to other packs, short values go in bundles, long ones
//! in one exchange per step.

use std::collections::VecDeque;

use super::{Call, NO_ROOT, check_one_each, invalid};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::invalid::InvalidArgument;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::rank::Rank;

impl Communicator {
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
        self.noted(all_to_all(self, values))
    }
}

fn all_to_all<T: Payload>(communicator: &Communicator, values: Vec<T>) -> Result<Vec<T>, Error> {
    let operation = Operation::AllToAll;
    let size = communicator.group.size();
    check_one_each(operation, size, &values)?;
    let mut call = Call::begin::<T>(communicator, operation, NO_ROOT)?;
    let incoming = exchange(&mut call, values.into_iter().map(Some).collect(), |_| true)?;
    match incoming.len() == size as usize {
        true => Ok(incoming),
        false => Err(invalid(operation, InvalidArgument::MissingValue)),
    }
}

/// Gives each member the value at its index, if there is one. Returns the values from this member
/// itself and from those for which `gives` is true, in the order of ranks.
pub(super) fn exchange<T: Payload>(
    call: &mut Call<'_>,
    mut outgoing: Vec<Option<T>>,
    gives: impl Fn(Rank) -> bool,
) -> Result<Vec<T>, Error> {
    let group = call.group;
    let me = group.rank;
    let mut incoming: Vec<Option<T>> = Vec::new();
    incoming.resize_with(outgoing.len(), || None);
    incoming[me.index()] = outgoing[me.index()].take();
    if group.packs().len() > 1 {
        between_packs(call, &mut outgoing, &mut incoming, &gives)?;
    }
    let members = &group.own_pack().ranks;
    for &rank in members {
        if let Some(value) = outgoing[rank.index()].take() {
            call.give(rank, value)?;
        }
    }
    for &rank in members {
        if rank != me && gives(rank) {
            incoming[rank.index()] = Some(call.take(rank)?);
        }
    }
    Ok(incoming.into_iter().flatten().collect())
}

/// How many bytes a member may send ahead of what it has received.
const AHEAD: usize = 4 << 20;

/// Exchanges values with members of other packs.
///
/// In step `k` a member sends to the member `k` places after it, so that no two send to the same
/// one at a time. Before that, it announces that it will take from the member `k` places before it,
/// which sends in the same step. It takes the value some steps later, so that it need not wait in
/// every step. The member in the lowest step can always proceed: its receiver has announced that it
/// will take the value, and the value it takes itself has been sent.
fn between_packs<T: Payload>(
    call: &mut Call<'_>,
    outgoing: &mut [Option<T>],
    incoming: &mut [Option<T>],
    gives: &impl Fn(Rank) -> bool,
) -> Result<(), Error> {
    let group = call.group;
    let (me, size) = (group.rank, group.size());
    let _expected = call.expect_bundles()?;
    let mut sorted = call.sort(outgoing)?;
    call.carry(&mut sorted)?;

    let after = |step: u32| Rank((me.0 + step) % size);
    let before = |step: u32| {
        let rank = Rank((me.0 + size - step) % size);
        (!group.is_local(rank) && gives(rank)).then_some(rank)
    };
    let singles = sorted.singles.iter().flatten().count();
    let ahead = (AHEAD * singles).checked_div(sorted.long_bytes);
    let ahead = ahead.unwrap_or_default().min(size as usize) as u32;
    let mut expected = VecDeque::new();
    for step in 1..size + ahead {
        if step < size && singles > 0 {
            let from = before(step).map(|rank| call.expect(me, rank));
            expected.push_back(from.transpose()?);
            if let Some(single) = sorted.singles[after(step).index()].take() {
                call.give_single(after(step), single)?;
            }
        }
        if step <= ahead {
            continue;
        }
        if let Some(rank) = before(step - ahead) {
            incoming[rank.index()] = Some(call.take(rank)?);
        }
        expected.pop_front();
    }
    Ok(())
}
