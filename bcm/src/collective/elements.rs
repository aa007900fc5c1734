//! Reductions of vectors element by element.
//!
//! Inside a pack one member collects the vectors (which move, so that is a pointer each) and
//! shares them as a job; all members then work on it together, slice by slice, whoever has time
//! taking the next one. A slice of the result stays in a core's cache while the same slice of
//! each vector is added to it, so memory is read once and written once.

mod job;

use std::sync::Arc;

use super::broadcast::spread;
use super::reduce::fold_to;
use super::{Call, NO_ROOT, invalid};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::number::{Number, Reducer};
use crate::operation::Operation;
use job::Job;

/// Bytes of all vectors together from which it pays to wake the other members of a pack.
const WORTH_SHARING: usize = 512 << 10;

pub(crate) fn reduce<E: Number>(
    communicator: &Communicator,
    values: &mut Vec<E>,
    root: u32,
    reducer: Reducer,
) -> Result<(), Error> {
    let mut call = Call::begin(communicator, Operation::Reduce, root)?;
    combine(&mut call, values, root, reducer)
}

pub(crate) fn all_reduce<E: Number>(
    communicator: &Communicator,
    mut values: Vec<E>,
    reducer: Reducer,
) -> Result<Arc<Vec<E>>, Error> {
    let root = NO_ROOT;
    let mut call = Call::begin(communicator, Operation::AllReduce, root)?;
    combine(&mut call, &mut values, root, reducer)?;
    let result = (call.group.rank == root).then(|| Arc::new(values));
    // A second number, because on the way back the same workers meet again.
    let call = Call::begin(communicator, Operation::AllReduce, root)?;
    spread(call, result, root)
}

/// Leaves the result in the root's vector.
fn combine<E: Number>(
    call: &mut Call<'_>,
    values: &mut Vec<E>,
    root: u32,
    reducer: Reducer,
) -> Result<(), Error> {
    let group = call.group;
    let root_cluster = group
        .clusters()
        .iter()
        .position(|cluster| cluster.ranks.binary_search(&root).is_ok())
        .unwrap_or_default();
    let collector = |cluster: usize| match cluster == root_cluster {
        true => root,
        false => group.clusters()[cluster].ranks[0],
    };
    let mine = group.cluster_index();
    combine_in_pack(call, values, collector(mine), reducer)?;
    if group.rank != collector(mine) || group.clusters().len() == 1 {
        return Ok(());
    }
    let operation = call.operation();
    let own = std::mem::take(values);
    let length = own.len();
    let op = |mut into: Vec<E>, from: Vec<E>| {
        // Of different lengths, the result is too short, which is noticed below.
        into.truncate(from.len());
        E::combine(reducer, &mut into, &from);
        into
    };
    let slots = group.clusters().len();
    let combined = fold_to(call, &collector, mine, slots, root_cluster, own, &op)?;
    if let Some(combined) = combined {
        if combined.len() != length {
            return Err(different_lengths(operation));
        }
        *values = combined;
    }
    Ok(())
}

/// Leaves the result for this pack in the collector's vector.
fn combine_in_pack<E: Number>(
    call: &mut Call<'_>,
    values: &mut Vec<E>,
    collector: u32,
    reducer: Reducer,
) -> Result<(), Error> {
    let members = &call.group.cluster().ranks;
    let others = || members.iter().copied().filter(|&rank| rank != collector);
    if members.len() == 1 {
        return Ok(());
    }
    let shared = size_of_val(values.as_slice()) * members.len() >= WORTH_SHARING;
    if call.group.rank != collector {
        call.give_here(collector, std::mem::take(values))?;
        if shared {
            let job: Arc<Job<E>> = call.take_here(collector)?;
            job.work();
            drop(job);
            // Told after this worker has let go of the job, so that the collector can end it.
            call.give_here(collector, Done)?;
        }
        *values = call.take_here(collector)?;
        return Ok(());
    }
    let operation = call.operation();
    let mut parts = Vec::with_capacity(members.len() - 1);
    for rank in others() {
        let part: Vec<E> = call.take_here(rank)?;
        if part.len() != values.len() {
            return Err(different_lengths(operation));
        }
        parts.push(part);
    }
    if shared {
        let job = Arc::new(Job::new(std::mem::take(values), parts, reducer));
        for rank in others() {
            call.give_here(rank, Arc::clone(&job))?;
        }
        job.work();
        for rank in others() {
            call.take_here::<Done>(rank)?;
        }
        let ended = Arc::into_inner(job);
        (*values, parts) = ended
            .map(Job::into_vectors)
            .ok_or_else(|| invalid(operation, "a worker still holds the job".to_owned()))?;
    } else {
        for part in &parts {
            E::combine(reducer, values, part);
        }
    }
    // Each frees its own memory, or uses it again.
    for (rank, part) in others().zip(parts) {
        call.give_here(rank, part)?;
    }
    Ok(())
}

/// A member has let go of the job.
struct Done;

fn different_lengths(operation: Operation) -> Error {
    let reason = "all workers must pass vectors of the same length".to_owned();
    invalid(operation, reason)
}
