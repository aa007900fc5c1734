//! Reduce and all-reduce: trees that keep the order of ranks.
//!
//! A binomial tree over slots `0..n` combines, in round `k`, the ranges that begin at `i` and at
//! `i + 2^k`; ranges are adjacent, so the order is kept and associativity is all `op` needs. It
//! ends at slot 0. For another end `t` two trees run, over `0..t` and `t..n`, and `t` combines
//! what they give: 5 slots with `t = 3` compute `((0·1)·2)·(3·4)`.
//!
//! First the ranks of a run (neighbours in one pack) are combined, then the runs. In a pack with
//! more workers than processors, each level of a tree waits for its workers' turn to run, so it is
//! only as wide as there are processors: first one of each few neighbours combines theirs.

use std::sync::Arc;

use super::broadcast::spread;
use super::{Call, NO_ROOT};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::operation::Operation;
use crate::payload::Payload;

pub(crate) fn reduce<T: Payload>(
    communicator: &Communicator,
    value: T,
    root: u32,
    op: impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    let mut call = Call::begin::<T>(communicator, Operation::Reduce, root)?;
    combine(&mut call, value, root, &op)
}

pub(crate) fn all_reduce<T: Payload>(
    communicator: &Communicator,
    value: T,
    op: impl Fn(T, T) -> T,
) -> Result<Arc<T>, Error> {
    let root = NO_ROOT;
    let mut call = Call::begin::<T>(communicator, Operation::AllReduce, root)?;
    let combined = combine(&mut call, value, root, &op)?;
    // A second number, because on the way back the same workers meet again.
    let call = Call::begin::<T>(communicator, Operation::AllReduce, root)?;
    spread(call, combined.map(Arc::new), root)
}

fn combine<T: Payload>(
    call: &mut Call<'_>,
    value: T,
    root: u32,
    op: &impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    let group = call.group;
    let runs = group.runs();
    let root_run = group.run_of(root);
    let leader = |run: usize| {
        if run == root_run {
            root
        } else {
            runs[run].start
        }
    };

    let mine = group.run_of(group.rank);
    let (start, end) = (runs[mine].start, runs[mine].end);
    let within = fold_in_pack(
        call,
        &|slot| start + slot as u32,
        (group.rank - start) as usize,
        (end - start) as usize,
        (leader(mine) - start) as usize,
        value,
        op,
    )?;
    match within {
        Some(value) => fold_to(call, &leader, mine, runs.len(), root_run, value, op),
        None => Ok(None),
    }
}

/// As [`fold_to`], where all slots are workers of one pack.
pub(super) fn fold_in_pack<T: Payload>(
    call: &mut Call<'_>,
    rank: &dyn Fn(usize) -> u32,
    me: usize,
    slots: usize,
    target: usize,
    value: T,
    op: &impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    let share = slots.div_ceil(call.processors());
    let leader = |part: usize| match part == target / share {
        true => target,
        false => part * share,
    };
    let part = me / share;
    if me != leader(part) {
        call.give(rank(leader(part)), value)?;
        return Ok(None);
    }
    let (mut own, mut combined) = (Some(value), None);
    for slot in part * share..slots.min((part + 1) * share) {
        let next = match slot == me {
            true => own.take(),
            false => Some(call.take(rank(slot))?),
        };
        combined = match (combined, next) {
            (Some(left), Some(right)) => Some(op(left, right)),
            (left, right) => left.or(right),
        };
    }
    let Some(combined) = combined else {
        return Ok(None);
    };
    let leaders = |part| rank(leader(part));
    let parts = slots.div_ceil(share);
    fold_to(call, &leaders, part, parts, target / share, combined, op)
}

/// Combines the values of all slots in order; slot `target` gets the result.
pub(super) fn fold_to<T: Payload>(
    call: &mut Call<'_>,
    rank: &dyn Fn(usize) -> u32,
    me: usize,
    slots: usize,
    target: usize,
    value: T,
    op: &impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    if me < target {
        if let Some(left) = fold(call, rank, me, target, value, op)? {
            call.give(rank(target), left)?;
        }
        return Ok(None);
    }
    let right = |slot| rank(target + slot);
    match fold(call, &right, me - target, slots - target, value, op)? {
        Some(right) if target > 0 => {
            let left = call.take(rank(0))?;
            Ok(Some(op(left, right)))
        }
        result => Ok(result),
    }
}

/// Combines the values of all slots in order; slot 0 gets the result.
fn fold<T: Payload>(
    call: &mut Call<'_>,
    rank: &dyn Fn(usize) -> u32,
    me: usize,
    slots: usize,
    value: T,
    op: &impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    let mut value = value;
    let mut distance = 1;
    while distance < slots {
        if me & distance != 0 {
            call.give(rank(me - distance), value)?;
            return Ok(None);
        }
        if me + distance < slots {
            let right = call.take(rank(me + distance))?;
            value = op(value, right);
        }
        distance *= 2;
    }
    Ok(Some(value))
}
