//! Gather and all-gather: values in the order of ranks; short ones leave a pack in one message.

use std::sync::Arc;

use super::{Call, NO_ROOT};
use crate::address::Destination;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::operation::Operation;
use crate::payload::{self, Payload};
use crate::rank::Rank;
use crate::remote::{Bundle, Expectation};

impl Communicator {
    /// Collects the values of all workers at the root, in the order of ranks.
    ///
    /// No worker waits for the root, but the first worker of each other pack waits for the rest of
    /// its pack, as it sends their values of up to 8 KiB together with its own.
    ///
    /// Cost: one pointer per worker of the root's pack; one message per other pack with its short
    /// values, plus 12 bytes for each, and one message per longer value.
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     worker.gather(worker.worker_id() * 10, 0)
    /// });
    /// assert_eq!(results[0], Ok(Some(vec![0, 10, 20])));
    /// ```
    pub fn gather<T: Payload>(&self, value: T, root: u32) -> Result<Option<Vec<T>>, Error> {
        self.noted(gather(self, value, Rank(root)))
    }

    /// Collects the values of all workers, in the order of ranks, and gives the list to each of
    /// them.
    ///
    /// The workers of a pack share one result. Every worker waits for every other.
    ///
    /// Cost: a few pointers per worker of a pack. Each pack sends every other pack one message with
    /// all its values of up to 8 KiB, plus 12 bytes for each, and one message per longer value.
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     Ok(worker.all_gather(worker.worker_id())?.to_vec())
    /// });
    /// assert_eq!(results, vec![Ok(vec![0, 1, 2]); 3]);
    /// ```
    pub fn all_gather<T: Payload>(&self, value: T) -> Result<Arc<Vec<T>>, Error> {
        self.noted(all_gather(self, value, Operation::AllGather))
    }
}

fn gather<T: Payload>(
    communicator: &Communicator,
    value: T,
    root: Rank,
) -> Result<Option<Vec<T>>, Error> {
    let mut call = Call::begin::<T>(communicator, Operation::Gather, root)?;
    let group = call.group;
    if group.rank == root {
        return collect(&mut call, value).map(Some);
    }
    if group.is_local(root) {
        call.give(root, value)?;
        return Ok(None);
    }
    let members = &group.own_pack().ranks;
    let destination = Destination::Worker(group.worker(root));
    let short = call.short(members.len())?;
    let mut bundle = None;
    let single = call.bundle(&mut bundle, short, destination, value)?;
    let carries = group.rank == members[0];
    if !carries {
        call.give_local(members[0], bundle.take())?;
    }
    if let Some((single, _)) = single {
        call.give_single(root, single)?;
    }
    if carries {
        let bundles = call.collect(bundle)?;
        call.send_bundles(root, bundles)?;
    }
    Ok(None)
}

/// Collects the values at the root.
fn collect<T: Payload>(call: &mut Call<'_>, value: T) -> Result<Vec<T>, Error> {
    let group = call.group;
    // A pack's carrier must not wait for room here while this member waits for others.
    let _expected: Vec<Expectation> = call
        .other_packs()
        .map(|pack| call.expect(group.rank, group.packs()[pack].ranks[0]))
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    let mut own = Some(value);
    let mut values = Vec::with_capacity(group.size() as usize);
    for rank in Rank::all(group.size()) {
        values.push(match own.take_if(|_| rank == group.rank) {
            Some(value) => value,
            None => call.take(rank)?,
        });
    }
    Ok(values)
}

/// Every value goes once to every other pack; the leader of each pack puts them in order and
/// shares the result.
pub(super) fn all_gather<T: Payload>(
    communicator: &Communicator,
    value: T,
    operation: Operation,
) -> Result<Arc<Vec<T>>, Error> {
    let mut call = Call::begin::<T>(communicator, operation, NO_ROOT)?;
    let group = call.group;
    let members = &group.own_pack().ranks;
    let leader = members[0];
    if group.rank != leader {
        let bundle = publish_if_long(&mut call, &value)?;
        if group.packs().len() > 1 {
            call.give_local(leader, bundle)?;
        }
        call.give(leader, value)?;
        return call.take_shared(leader);
    }
    let _expected = call.expect_published()?;
    let bundle = publish_if_long(&mut call, &value)?;
    if group.packs().len() > 1 {
        let bundles = call.collect(bundle)?;
        if let Some(message) = Bundle::join(bundles) {
            call.publish_encoded(&message)?;
        }
    }
    let mut own = Some(value);
    let mut values = Vec::with_capacity(group.size() as usize);
    for rank in Rank::all(group.size()) {
        values.push(match own.take_if(|_| rank == leader) {
            Some(value) => value,
            None if group.is_local(rank) => call.take(rank)?,
            None => call.take_published(rank)?,
        });
    }
    let values = Arc::new(values);
    call.share(&values)?;
    Ok(values)
}

/// Sends a long value to all other packs; returns a short one in a bundle, for the leader to send.
fn publish_if_long<T: Payload>(call: &mut Call<'_>, value: &T) -> Result<Option<Bundle>, Error> {
    if call.group.packs().len() < 2 {
        return Ok(None);
    }
    let encoded = payload::encode(call.operation(), value)?;
    let short = call.short(call.group.own_pack().ranks.len())?;
    if short.is_none_or(|short| encoded.body.len() > short) {
        call.publish_encoded(&encoded)?;
        return Ok(None);
    }
    let mut bundle = Bundle::of(&encoded);
    bundle.push(call.source().worker, Destination::Pack, &encoded.body);
    Ok(Some(bundle))
}
