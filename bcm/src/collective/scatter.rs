//! Scatter: to each member its own value.

use super::{Call, invalid};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::operation::Operation;
use crate::payload::Payload;

pub(crate) fn scatter<T: Payload>(
    communicator: &Communicator,
    values: Option<Vec<T>>,
    root: u32,
) -> Result<T, Error> {
    let operation = Operation::Scatter;
    let group = &communicator.group;
    if group.rank != root {
        return Call::begin(communicator, operation, root)?.take(root);
    }
    let values = values
        .filter(|values| values.len() == group.size() as usize)
        .ok_or_else(|| {
            let reason = format!("the root must pass one value per worker, {}", group.size());
            invalid(operation, reason)
        })?;
    let mut call = Call::begin(communicator, operation, root)?;
    let mut own = None;
    for (rank, value) in (0..).zip(values) {
        if rank == root {
            own = Some(value);
        } else {
            call.give(rank, value)?;
        }
    }
    own.ok_or_else(|| invalid(operation, "the root's own value is missing".to_owned()))
}
