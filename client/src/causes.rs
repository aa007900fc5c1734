//! The causes of errors.

use std::error::Error as StdError;
use std::{io, iter};

/// Why no connection could be made, or why it broke.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// It was not made in time.
    #[error("no connection in time")]
    TimedOut,
    /// The system, TLS or HTTP failed.
    #[error("{}", innermost(.0))]
    Failed(#[source] reqwest::Error),
    /// The answer ended before all of it had arrived.
    #[error("its answer broke off: {}", innermost(.0))]
    BrokeOff(#[source] io::Error),
}

impl ConnectionError {
    /// The kind of the system's error that caused it, if one did: [`io::ErrorKind::ConnectionRefused`] if nothing listens
    /// at the address.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        iter::successors(self.source(), |&cause| cause.source())
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .last()
            .map(io::Error::kind)
    }
}

/// Why an answer is not what the API promises.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// It is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// It is not JSON, or lacks what the API promises.
    #[error(transparent)]
    NotAsPromised(#[from] serde_json::Error),
    /// It is too large to be held in memory.
    #[error("it is larger than {} MiB", .0 >> 20)]
    TooLarge(u64),
}

/// Why a call cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The text cannot be a part of a path, so it names nothing.
    #[error("\"{0}\" is not a name or an id")]
    NotAName(String),
    /// The request cannot be written as JSON.
    #[error(transparent)]
    NotJson(#[from] serde_json::Error),
}

/// Why HTTP cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// TLS, certificates or proxies cannot be set up.
    #[error("{}", innermost(.0))]
    NoClient(#[source] reqwest::Error),
    /// The system has no random numbers, of which the key of a call is made.
    #[error("no random numbers: {0}")]
    NoRandomNumbers(#[source] getrandom::Error),
}

/// The innermost cause: the outer ones only repeat that a request failed.
fn innermost(error: &dyn StdError) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
