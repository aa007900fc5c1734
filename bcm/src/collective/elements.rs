//! Reductions of vectors element by element.
//!
//! Inside a pack one member collects the vectors (they are moved, at the cost of a pointer each)
//! and shares them as a job. All members then work on it together, slice by slice; whoever is free
//! takes the next one. A slice of the result stays in a core's cache while the same slice of each
//! vector is combined into it, so memory is read once and written once.

mod job;

use std::cell::Cell;
use std::sync::Arc;

use super::reduce::Slots;
use super::{Call, NO_ROOT, invalid};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::group::Group;
use crate::invalid::InvalidArgument;
use crate::number::{Number, Reducer};
use crate::operation::Operation;
use crate::rank::Rank;
use job::Job;

impl Communicator {
    /// Combines the vectors of all workers element by element; the root's vector then holds the
    /// result.
    ///
    /// All workers pass vectors of the same length. Afterwards the contents of the other workers'
    /// vectors are unspecified, but their memory can be reused; after an error a vector may be
    /// empty. Inside a pack the vectors are moved, and all its workers combine them together, each
    /// taking some slices, so every worker waits until its pack has finished. How workers are
    /// distributed over packs affects the rounding of floating-point results.
    ///
    /// Cost: a few pointers per worker of a pack, one pass over all vectors at the speed of
    /// memory; then `log2(num_packs)` rounds of one message of the vector's size.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when lengths differ or the root does not exist; also those of
    /// [`Communicator::barrier`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Reducer, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     let mut values = vec![1.0f64, f64::from(worker.worker_id())];
    ///     worker.reduce_elements(&mut values, 0, Reducer::Sum)?;
    ///     Ok(values)
    /// });
    /// assert_eq!(results[0], Ok(vec![3.0, 3.0]));
    /// ```
    pub fn reduce_elements<E: Number>(
        &self,
        values: &mut Vec<E>,
        root: u32,
        reducer: Reducer,
    ) -> Result<(), Error> {
        self.noted(reduce_elements(self, values, Rank(root), reducer))
    }

    /// Combines the vectors of all workers element by element and gives the result to each of them.
    ///
    /// Like [`Communicator::reduce_elements`] at worker 0 followed by [`Communicator::broadcast`]:
    /// the workers of a pack share one result.
    ///
    /// # Errors
    /// Same as [`Communicator::reduce_elements`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Reducer, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     let values = vec![worker.worker_id(), 7];
    ///     Ok(worker.all_reduce_elements(values, Reducer::Max)?.to_vec())
    /// });
    /// assert_eq!(results, vec![Ok(vec![2, 7]); 3]);
    /// ```
    pub fn all_reduce_elements<E: Number>(
        &self,
        values: Vec<E>,
        reducer: Reducer,
    ) -> Result<Arc<Vec<E>>, Error> {
        self.noted(all_reduce_elements(self, values, reducer))
    }
}

/// The total size of all vectors, in bytes, from which it pays to wake the other members of a pack.
const WORTH_SHARING: usize = 512 << 10;

fn reduce_elements<E: Number>(
    communicator: &Communicator,
    values: &mut Vec<E>,
    root: Rank,
    reducer: Reducer,
) -> Result<(), Error> {
    let mut call = Call::begin::<[E]>(communicator, Operation::Reduce, root)?;
    let pack = Collectors::of(call.group, root);
    match combine_in_pack(&mut call, std::mem::take(values), pack.mine, reducer)? {
        None => *values = call.take_local(pack.mine)?,
        Some((combined, parts)) => {
            // Each member frees or reuses its own memory.
            for (rank, part) in others(call.group, pack.mine).zip(parts) {
                call.give_local(rank, part)?;
            }
            *values = combine_packs(&mut call, combined, &pack, reducer)?;
        }
    }
    Ok(())
}

fn all_reduce_elements<E: Number>(
    communicator: &Communicator,
    values: Vec<E>,
    reducer: Reducer,
) -> Result<Arc<Vec<E>>, Error> {
    let root = NO_ROOT;
    let mut call = Call::begin::<[E]>(communicator, Operation::AllReduce, root)?;
    let pack = Collectors::of(call.group, root);
    let mut combined = combine_in_pack(&mut call, values, pack.mine, reducer)?;
    if let Some((combined, _)) = &mut combined {
        *combined = combine_packs(&mut call, std::mem::take(combined), &pack, reducer)?;
    }
    // A second call number, because the same workers exchange messages again on the way back.
    let mut call = Call::begin::<[E]>(communicator, Operation::AllReduce, root)?;
    let Some((combined, parts)) = combined else {
        // Comes with the vector that this worker passed, so that it frees its own memory.
        let (_, result): (Vec<E>, _) = call.take_local(pack.mine)?;
        return Ok(result);
    };
    let is_root = call.group.rank == root;
    let result = Arc::new(match is_root {
        true => combined,
        false => call.take_published(root)?,
    });
    for (rank, part) in others(call.group, pack.mine).zip(parts) {
        call.give_local(rank, (part, Arc::clone(&result)))?;
    }
    if is_root {
        call.publish(&*result)?;
    }
    Ok(result)
}

/// The members that collect the vectors of each pack: the root in its own, the first member in
/// every other.
struct Collectors {
    root: Rank,
    root_pack: usize,
    /// The collector of this pack.
    mine: Rank,
}

impl Collectors {
    fn of(group: &Group, root: Rank) -> Self {
        let root_pack = group
            .packs()
            .iter()
            .position(|pack| pack.ranks.binary_search(&root).is_ok())
            .unwrap_or_default();
        let mut collectors = Self {
            root,
            root_pack,
            mine: root,
        };
        collectors.mine = collectors.in_pack(group, group.own_pack_index());
        collectors
    }

    fn in_pack(&self, group: &Group, pack: usize) -> Rank {
        match pack == self.root_pack {
            true => self.root,
            false => group.packs()[pack].ranks[0],
        }
    }
}

/// The members of this pack except its collector.
fn others(group: &Group, collector: Rank) -> impl Iterator<Item = Rank> {
    let ranks = group.own_pack().ranks.iter().copied();
    ranks.filter(move |&rank| rank != collector)
}

/// Combines the vectors of the packs' collectors; the root gets the result.
fn combine_packs<E: Number>(
    call: &mut Call<'_>,
    own: Vec<E>,
    collectors: &Collectors,
    reducer: Reducer,
) -> Result<Vec<E>, Error> {
    let group = call.group;
    let packs = group.packs().len();
    if packs == 1 {
        return Ok(own);
    }
    let differ = Cell::new(false);
    let op = |mut into: Vec<E>, from: Vec<E>| {
        if into.len() == from.len() {
            E::combine(reducer, &mut into, &from);
        } else {
            // Emptied, so it also mismatches the next vector and the root notices.
            into.clear();
            differ.set(true);
        }
        into
    };
    let collector = |pack| collectors.in_pack(group, pack);
    let (mine, end) = (group.own_pack_index(), collectors.root_pack);
    let combined = Slots {
        rank: &collector,
        me: mine,
        count: packs,
        target: end,
    }
    .fold(call, own, &op)?;
    match differ.get() {
        true => Err(different_lengths(call.operation())),
        false => Ok(combined.unwrap_or_default()),
    }
}

/// A pack's result, and the vectors of the other members, to be returned to them.
type Collected<E> = (Vec<E>, Vec<Vec<E>>);

/// Combines the vectors of this pack; only its collector gets the result.
fn combine_in_pack<E: Number>(
    call: &mut Call<'_>,
    mut values: Vec<E>,
    collector: Rank,
    reducer: Reducer,
) -> Result<Option<Collected<E>>, Error> {
    let group = call.group;
    let members = group.own_pack().ranks.len();
    if members == 1 {
        return Ok(Some((values, Vec::new())));
    }
    let shared = size_of_val(values.as_slice()) * members >= WORTH_SHARING;
    if group.rank != collector {
        call.give_local(collector, values)?;
        if shared {
            let job: Arc<Job<E>> = call.take_local(collector)?;
            job.work();
            // The last member to release the job sends it in the name of the collector, which waits
            // for a message from itself.
            if let Some(done) = Arc::into_inner(job) {
                call.give_local_as(collector, collector, done)?;
            }
        }
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(members - 1);
    for rank in others(group, collector) {
        let part: Vec<E> = call.take_local(rank)?;
        if part.len() != values.len() {
            return Err(different_lengths(call.operation()));
        }
        parts.push(part);
    }
    if !shared {
        for part in &parts {
            E::combine(reducer, &mut values, part);
        }
        return Ok(Some((values, parts)));
    }
    let job = Arc::new(Job::new(values, parts, reducer));
    for rank in others(group, collector) {
        call.give_local(rank, Arc::clone(&job))?;
    }
    job.work();
    let done = match Arc::into_inner(job) {
        Some(done) => done,
        None => call.take_local::<Job<E>>(collector)?,
    };
    Ok(Some(done.into_vectors()))
}

fn different_lengths(operation: Operation) -> Error {
    invalid(operation, InvalidArgument::DifferentLengths)
}
