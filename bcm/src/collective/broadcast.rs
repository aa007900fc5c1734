//! Broadcast: one message per other pack; all workers in a pack share the same value.

use std::sync::Arc;

use super::{Call, invalid};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::invalid::InvalidArgument;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::rank::Rank;

impl Communicator {
    /// Gives the root's value to every worker.
    ///
    /// The root passes `Some`; values that other workers pass are dropped. Workers of one pack
    /// share one value, which is never copied between them; `Arc::unwrap_or_clone` gives a worker
    /// its own copy. The root does not wait for its own pack.
    ///
    /// Cost: one pointer per worker of a pack, one message per other pack.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the root does not exist or passes `None`; also those of
    /// [`Communicator::barrier`] and [`Communicator::recv`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 2], &BackendConfig::new("memory"), |worker| {
    ///     let value = (worker.worker_id() == 3).then(|| "the word".to_owned());
    ///     worker.broadcast(value, 3)
    /// });
    /// assert!(results.iter().all(|r| r.as_ref().is_ok_and(|v| **v == "the word")));
    /// ```
    pub fn broadcast<T: Payload>(&self, value: Option<T>, root: u32) -> Result<Arc<T>, Error> {
        self.noted(broadcast(self, value, Rank(root)))
    }
}

fn broadcast<T: Payload>(
    communicator: &Communicator,
    value: Option<T>,
    root: Rank,
) -> Result<Arc<T>, Error> {
    if communicator.group.rank == root && value.is_none() {
        return Err(invalid(
            Operation::Broadcast,
            InvalidArgument::NothingToBroadcast,
        ));
    }
    let call = Call::begin_unverified::<T>(communicator, Operation::Broadcast, root)?;
    spread(call, value.map(Arc::new), root)
}

/// Distributes the root's value. The root's own pack comes first, as it costs only a pointer per
/// member.
pub(super) fn spread<T: Payload>(
    mut call: Call<'_>,
    value: Option<Arc<T>>,
    root: Rank,
) -> Result<Arc<T>, Error> {
    let group = call.group;
    if let (true, Some(value)) = (group.rank == root, value) {
        call.share(&value)?;
        call.publish(&*value)?;
        return Ok(value);
    }
    if group.is_local(root) {
        return call.take_shared(root);
    }
    let leader = group.own_pack().ranks[0];
    if group.rank != leader {
        return call.take_shared(leader);
    }
    let value = Arc::new(call.take_published(root)?);
    call.share(&value)?;
    Ok(value)
}
