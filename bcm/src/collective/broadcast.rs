//! Broadcast: one message per other pack; all workers in a pack share the same value.

use std::sync::Arc;

use super::{Call, invalid};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::invalid::InvalidArgument;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::rank::Rank;

pub(crate) fn broadcast<T: Payload>(
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
