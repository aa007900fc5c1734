//! Why a connection from or to a pack is unusable.

use std::io;
use std::sync::Arc;

use super::error;
use super::handshake::HandshakeError;
use crate::error::Error;
use crate::pack_id::PackId;
use crate::wire::WireError;

/// See the module's documentation. Whether the pack is lost is for the watch to judge.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error("{}", Error::NotStarted)]
    NotStarted,
    #[error("there is no such pack")]
    NoSuchPack,
    #[error("cannot connect to {endpoint}: {reason}")]
    Unreachable {
        endpoint: String,
        reason: Arc<HandshakeError>,
    },
    #[error("it does not read")]
    Unread,
    #[error("it hung up")]
    HungUp,
    #[error("its connection ended without a goodbye")]
    NoGoodbye,
    #[error("its connection broke: {0}")]
    Broken(Arc<io::Error>),
    #[error(transparent)]
    Frame(#[from] WireError),
}

impl ConnectionError {
    /// The error that an operation on this pack fails with.
    pub(super) fn towards(self, pack: PackId) -> Error {
        match self {
            Self::NotStarted => Error::NotStarted,
            reason => error(Some(pack), reason),
        }
    }
}

impl From<io::Error> for ConnectionError {
    fn from(reason: io::Error) -> Self {
        Self::Broken(Arc::new(reason))
    }
}
