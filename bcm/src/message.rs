//! A message as it lies in a mailbox.

use std::any::{Any, type_name};
use std::sync::Arc;

use crate::error::{Error, Peer};
use crate::operation::Operation;
use crate::payload::{self, Payload};
use crate::remote::Arrived;

/// What a message belongs to. Point-to-point messages and collectives can never be taken for
/// one another, and every collective has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Point {
        tag: u32,
    },
    Collective {
        number: u64,
        operation: Operation,
        root: u32,
    },
}

/// The value of a message. Inside a pack it is the value itself, not a copy of it.
#[derive(Debug)]
pub(crate) enum Parcel {
    /// Ownership moves to the receiver.
    Moved {
        value: Box<dyn Any + Send>,
        type_name: &'static str,
    },
    /// Sender and receivers read the same value.
    Shared {
        value: Arc<dyn Any + Send + Sync>,
        type_name: &'static str,
    },
    /// Bytes from another pack.
    Remote(Arrived),
}

impl Parcel {
    pub(crate) fn moved<T: Payload>(value: T) -> Self {
        Self::Moved {
            value: Box::new(value),
            type_name: type_name::<T>(),
        }
    }

    pub(crate) fn shared<T: Payload>(value: Arc<T>) -> Self {
        Self::Shared {
            value,
            type_name: type_name::<T>(),
        }
    }

    /// The value, which the receiver now owns.
    pub(crate) fn open<T: Payload>(self, operation: Operation, peer: Peer) -> Result<T, Error> {
        match self {
            Self::Moved { value, type_name } => match value.downcast::<T>() {
                Ok(value) => Ok(*value),
                Err(_) => Err(mismatch::<T>(operation, peer, type_name)),
            },
            // Only broadcasts share, and their receivers ask for the shared value.
            Self::Shared { type_name, .. } => Err(mismatch::<T>(operation, peer, type_name)),
            Self::Remote(arrived) => {
                let (encoding, fingerprint, buffer) = arrived.into_parts();
                payload::decode(operation, peer, encoding, fingerprint, buffer)
            }
        }
    }

    /// The value, shared with whoever else holds it.
    pub(crate) fn open_shared<T: Payload>(
        self,
        operation: Operation,
        peer: Peer,
    ) -> Result<Arc<T>, Error> {
        match self {
            Self::Shared { value, type_name } => value
                .downcast::<T>()
                .map_err(|_| mismatch::<T>(operation, peer, type_name)),
            other => other.open(operation, peer).map(Arc::new),
        }
    }
}

fn mismatch<T>(operation: Operation, peer: Peer, found: &str) -> Error {
    Error::TypeMismatch {
        operation,
        peer,
        expected: type_name::<T>().to_owned(),
        found: found.to_owned(),
    }
}
