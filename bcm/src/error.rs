//! Errors of operations, with operation, peer and cause.

use std::fmt;
use std::time::Duration;

use crate::failure::{Failure, FailureKind};
use crate::invalid::{InvalidArgument, InvalidConfiguration};
use crate::operation::Operation;
use crate::pack_id::PackId;

/// The peer that an operation was waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// One worker.
    Worker(u32),
    /// A whole pack.
    Pack(PackId),
    /// Whichever worker sends first.
    AnyWorker,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(worker) => write!(f, "worker {worker}"),
            Self::Pack(pack) => write!(f, "pack {pack}"),
            Self::AnyWorker => f.write_str("any worker"),
        }
    }
}

/// Why an operation did not complete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The flare was aborted; the failure names who failed and why.
    #[error("the flare was aborted: {0}")]
    Aborted(Failure),
    /// The peer did not do its part in time.
    #[error("{operation} timed out after {after:?} waiting for {peer}")]
    Timeout {
        /// What was called.
        operation: Operation,
        /// The peer that did not answer.
        peer: Peer,
        /// How long the operation waited.
        after: Duration,
    },
    /// An argument is not allowed.
    #[error("{operation}: {reason}")]
    InvalidArgument {
        /// What was called.
        operation: Operation,
        /// What to change.
        reason: InvalidArgument,
    },
    /// The configuration of a pack is not allowed.
    #[error("the pack's configuration is invalid: {reason}")]
    InvalidConfiguration {
        /// What to change.
        reason: InvalidConfiguration,
    },
    /// The sender's type is not the receiver's.
    #[error("{operation}: expected {expected} from {peer}, which sent {found}")]
    TypeMismatch {
        /// What was called.
        operation: Operation,
        /// The sender of the message.
        peer: Peer,
        /// The receiver's type.
        expected: String,
        /// The sender's type, as far as it is known.
        found: String,
    },
    /// Workers called different collectives where they should have called the same one.
    #[error(
        "{called} (collective {number}) does not match: worker {peer} called {found} as its \
         collective {found_number}; all workers must call the same collectives in the same order \
         with the same root"
    )]
    CollectiveMismatch {
        /// What was called here.
        operation: Operation,
        /// The number of this collective.
        number: u64,
        /// What was called here, with its root if it has one.
        called: String,
        /// The worker that called something else.
        peer: u32,
        /// What it called, with its root if it has one.
        found: String,
        /// The number of that collective.
        found_number: u64,
    },
    /// A value cannot be turned into bytes or back.
    #[error("{operation}: cannot {action} a value of type {type_name}: {reason}")]
    Payload {
        /// What was called.
        operation: Operation,
        /// `encode` or `decode`.
        action: &'static str,
        /// The value's type.
        type_name: &'static str,
        /// Why not.
        reason: String,
    },
    /// The backend, which carries messages between packs, failed.
    #[error("backend {backend} failed{}: {reason}", OfPack(*pack))]
    Backend {
        /// The backend's name.
        backend: &'static str,
        /// The pack at the other end, if the failure concerns only one.
        pack: Option<PackId>,
        /// The cause; never contains a credential.
        reason: String,
    },
    /// The peer's pack ended in good order without doing its part.
    #[error("{operation}: {peer} has already ended")]
    Departed {
        /// What was called.
        operation: Operation,
        /// The peer that has ended.
        peer: Peer,
    },
    /// The new group's first member has no context id left for it, so the group could not be told
    /// apart from others.
    #[error(
        "{operation}: worker {first}, the first of the new group, has been in more splits than the {most} that a \
         flare of this size can tell apart"
    )]
    TooManyGroups {
        /// What was called.
        operation: Operation,
        /// The group's first worker.
        first: u32,
        /// How many splits a worker can be in.
        most: u64,
    },
    /// The pack has not been given its peers' endpoints yet.
    #[error("the pack was not started: call start with the endpoints of all packs first")]
    NotStarted,
    /// The pack was closed.
    #[error("the pack is closed")]
    Closed,
}

struct OfPack(Option<PackId>);

impl fmt::Display for OfPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pack) => write!(f, " towards pack {pack}"),
            None => Ok(()),
        }
    }
}

impl Error {
    /// The backend failed, towards this pack if one is given.
    pub(crate) fn of_backend(backend: &'static str, pack: Option<PackId>, reason: String) -> Self {
        Self::Backend {
            backend,
            pack,
            reason,
        }
    }

    /// The failure to report for the worker whose operation returned this error.
    ///
    /// An aborted operation gives kind `peer-failed`, and the message names the worker that
    /// failed first and its cause.
    pub fn to_failure(&self, worker: Option<u32>, pack: Option<PackId>) -> Failure {
        let kind = match self {
            Self::Aborted(_) | Self::Departed { .. } => FailureKind::PeerFailed,
            Self::Timeout { .. } => FailureKind::Timeout,
            Self::Backend { .. } => FailureKind::Backend,
            Self::Closed => FailureKind::Cancelled,
            Self::NotStarted => FailureKind::Internal,
            Self::InvalidArgument { .. }
            | Self::InvalidConfiguration { .. }
            | Self::TypeMismatch { .. }
            | Self::CollectiveMismatch { .. }
            | Self::TooManyGroups { .. }
            | Self::Payload { .. } => FailureKind::Error,
        };
        Failure {
            kind,
            worker,
            pack,
            invoker: None,
            operation: self
                .operation()
                .map(|operation| operation.name().to_owned()),
            message: self.to_string(),
        }
    }

    /// Returns the operation that did not complete, if it is known.
    pub fn operation(&self) -> Option<Operation> {
        match self {
            Self::Timeout { operation, .. }
            | Self::InvalidArgument { operation, .. }
            | Self::TypeMismatch { operation, .. }
            | Self::CollectiveMismatch { operation, .. }
            | Self::TooManyGroups { operation, .. }
            | Self::Payload { operation, .. }
            | Self::Departed { operation, .. } => Some(*operation),
            Self::Aborted(_)
            | Self::InvalidConfiguration { .. }
            | Self::Backend { .. }
            | Self::NotStarted
            | Self::Closed => None,
        }
    }
}

impl From<InvalidConfiguration> for Error {
    fn from(reason: InvalidConfiguration) -> Self {
        Self::InvalidConfiguration { reason }
    }
}
