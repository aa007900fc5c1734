//! Why a command failed.

use crate::error::Error;

/// See the module's documentation.
#[derive(Debug, thiserror::Error)]
pub(super) enum RespError {
    #[error("{0}")]
    GivenUp(#[from] Error),
    #[error("cannot connect to the server: {0}")]
    Connect(std::io::Error),
    #[error("the connection to the server broke: {0}")]
    Broken(#[from] std::io::Error),
    #[error("the server hung up")]
    HungUp,
    #[error("the server does not speak RESP2")]
    Protocol,
    #[error("the server refused: {0}")]
    Refused(String),
}

impl RespError {
    /// Whether a new connection may succeed.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Broken(_) | Self::HungUp => true,
            // Restarted, and still loading its data.
            Self::Refused(reason) => reason.starts_with("LOADING"),
            Self::GivenUp(_) | Self::Protocol => false,
        }
    }
}
