//! A message in a mailbox.

use std::any::type_name;
use std::sync::Arc;

use crate::error::{Error, Peer};
use crate::local::ErasedValue;
use crate::operation::Operation;
use crate::payload::{self, Payload};
use crate::remote::Arrived;

/// The value of a message. Inside a pack it is the value itself, not a copy of it.
#[derive(Debug)]
pub(crate) enum Message {
    /// From this pack: a `T` that moves to the receiver, or an `Arc<T>` that sender and
    /// receivers share.
    Local(ErasedValue),
    /// Bytes from another pack.
    Remote(Box<Arrived>),
}

impl Message {
    #[inline]
    pub(crate) fn moved<T: Payload>(value: T) -> Self {
        Self::Local(ErasedValue::new(value))
    }

    pub(crate) fn shared<T: Payload>(value: Arc<T>) -> Self {
        Self::Local(ErasedValue::new(value))
    }

    /// Returns the value, which the receiver now owns.
    #[inline]
    pub(crate) fn open<T: Payload>(self, operation: Operation, peer: Peer) -> Result<T, Error> {
        match self {
            // Only broadcasts share, and their receivers ask for the shared value.
            Self::Local(erased) => erased
                .take::<T>()
                .map_err(|other| mismatch::<T>(operation, peer, other.type_name())),
            Self::Remote(arrived) => {
                let (encoding, fingerprint, body) = arrived.into_parts();
                payload::decode(operation, peer, encoding, fingerprint, body)
            }
        }
    }

    /// Returns a value that can only come from this pack.
    pub(crate) fn open_local<T: Send + 'static>(
        self,
        operation: Operation,
        peer: Peer,
    ) -> Result<T, Error> {
        match self {
            Self::Local(erased) => erased
                .take::<T>()
                .map_err(|other| mismatch::<T>(operation, peer, other.type_name())),
            Self::Remote(_) => Err(mismatch::<T>(operation, peer, "bytes")),
        }
    }

    /// Returns the value, shared with its other holders.
    pub(crate) fn open_shared<T: Payload>(
        self,
        operation: Operation,
        peer: Peer,
    ) -> Result<Arc<T>, Error> {
        match self {
            Self::Local(erased) => erased
                .take::<Arc<T>>()
                .map_err(|other| mismatch::<T>(operation, peer, other.type_name())),
            Self::Remote(_) => self.open(operation, peer).map(Arc::new),
        }
    }
}

#[cold]
fn mismatch<T>(operation: Operation, peer: Peer, found: &str) -> Error {
    Error::TypeMismatch {
        operation,
        peer,
        expected: type_name::<T>().to_owned(),
        found: found.to_owned(),
    }
}
