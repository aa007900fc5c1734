//! Gather and all-gather: values in the order of ranks.

use std::sync::Arc;

use super::{Call, NO_ROOT};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::operation::Operation;
use crate::payload::Payload;

pub(crate) fn gather<T: Payload>(
    communicator: &Communicator,
    value: T,
    root: u32,
) -> Result<Option<Vec<T>>, Error> {
    let mut call = Call::begin(communicator, Operation::Gather, root)?;
    let group = call.group;
    if group.rank != root {
        call.give(root, value)?;
        return Ok(None);
    }
    let mut own = Some(value);
    let mut values = Vec::with_capacity(group.size() as usize);
    for rank in 0..group.size() {
        values.push(match own.take_if(|_| rank == root) {
            Some(value) => value,
            None => call.take(rank)?,
        });
    }
    Ok(Some(values))
}

/// Every value goes once to every other pack; the leader of each pack puts them in order and
/// shares the result.
pub(crate) fn all_gather<T: Payload>(
    communicator: &Communicator,
    value: T,
    operation: Operation,
) -> Result<Arc<Vec<T>>, Error> {
    let mut call = Call::begin(communicator, operation, NO_ROOT)?;
    let group = call.group;
    let leader = group.cluster().ranks[0];
    let _expected = if group.rank == leader {
        call.expect_published()?
    } else {
        Vec::new()
    };
    call.publish(&value)?;
    if group.rank != leader {
        call.give(leader, value)?;
        return call.take_shared(leader);
    }
    let mut own = Some(value);
    let mut values = Vec::with_capacity(group.size() as usize);
    for rank in 0..group.size() {
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
