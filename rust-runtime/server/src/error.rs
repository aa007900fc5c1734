//! The errors with which the runtime rejects or fails a request.

use std::{fmt, io};

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use burst_protocol::{Failure, InvalidRun, PackEvent, RUNTIME, Versions};

use crate::invalid_request::InvalidRequest;
use crate::memory_limit::MemoryLimitError;
use crate::not_reusable::NotReusable;
use crate::package_error::PackageError;
use crate::start::{StartError, StartFailure};

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller did not present this runtime's token.
    #[error("this runtime takes orders from its invoker only")]
    NotAllowed,
    /// The invoker's release has no version of the protocol in common with this one.
    #[error(
        "this runtime speaks {} of the protocol between invoker and runtime, the invoker {}: {}",
        RUNTIME.named(),
        invoker.named(),
        if RUNTIME.are_older(*invoker) { "use a runtime of the invoker's release" } else { "upgrade the invoker" }
    )]
    OtherVersion {
        /// The versions that the invoker speaks.
        invoker: Versions,
    },
    /// The request is not of the form that the call takes.
    #[error(transparent)]
    InvalidRequest(#[from] InvalidRequest),
    /// The pack cannot be run as requested.
    #[error(transparent)]
    InvalidRun(#[from] InvalidRun),
    /// The body is larger than the call accepts.
    #[error("the body is larger than {limit} MiB")]
    TooLarge {
        /// The limit, in MiB.
        limit: usize,
    },
    /// A program has already been started here.
    #[error("Cannot initialize the action more than once.")]
    AlreadyInitialized,
    /// No program runs here yet.
    #[error("no program runs here yet: call /init first")]
    NotInitialized,
    /// Another flare is running.
    #[error("this pack is busy with another flare")]
    Busy,
    /// The program has ended, so the pack can no longer be used.
    #[error("the program of this pack has ended: {0}")]
    Ended(NotReusable),
    /// The program cannot be limited to the memory that this flare's pack may have.
    #[error(transparent)]
    MemoryLimit(#[from] MemoryLimitError),
    /// No such flare runs here.
    #[error("flare {0} does not run here")]
    UnknownFlare(String),
    /// The package did not arrive completely, or cannot be stored.
    #[error("the package did not arrive: {0}")]
    Arrival(#[source] io::Error),
    /// The package cannot be run.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A task of the runtime's own did not complete.
    #[error("{0} was interrupted")]
    Interrupted(&'static str),
    /// The machine provides no random number to identify the run.
    #[error("no number for the run: {0}")]
    NoNumber(getrandom::Error),
    /// The program did not start.
    #[error("{reason}{}", Tail(tail.as_deref()))]
    StartFailed {
        /// The cause.
        reason: StartError,
        /// The end of its output.
        tail: Option<String>,
        /// The pack's log.
        said: Vec<PackEvent>,
    },
    /// The backend's server did not make a user for the flare.
    #[error("{0}")]
    Backend(#[from] burst_bcm::Error),
    /// A single function ended without an output.
    #[error("the function gave no output")]
    NoOutput,
    /// The output of a single function is not JSON.
    #[error(transparent)]
    InvalidOutput(serde_json::Error),
    /// A single function failed.
    #[error("{0}")]
    Failed(Failure),
    /// The work function itself returned an error, which OpenWhisk expects with status 200.
    #[error("{0}")]
    Function(String),
}

impl From<StartFailure> for Error {
    fn from(failure: StartFailure) -> Self {
        let StartFailure { reason, tail, said } = failure;
        Self::StartFailed { reason, tail, said }
    }
}

struct Tail<'a>(Option<&'a str>);

impl fmt::Display for Tail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(tail) => write!(f, "; it said: {tail}"),
            None => Ok(()),
        }
    }
}

impl Error {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotAllowed => StatusCode::UNAUTHORIZED,
            // Not the package's fault.
            Self::Package(PackageError::Io(_)) => StatusCode::BAD_GATEWAY,
            Self::OtherVersion { .. }
            | Self::InvalidRequest(_)
            | Self::InvalidRun(_)
            | Self::Package(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::AlreadyInitialized => StatusCode::FORBIDDEN,
            Self::NotInitialized | Self::Busy | Self::Ended(_) | Self::MemoryLimit(_) => {
                StatusCode::CONFLICT
            }
            Self::UnknownFlare(_) => StatusCode::NOT_FOUND,
            Self::Arrival(_)
            | Self::Interrupted(_)
            | Self::NoNumber(_)
            | Self::StartFailed { .. }
            | Self::Backend(_)
            | Self::NoOutput
            | Self::InvalidOutput(_)
            | Self::Failed(_) => StatusCode::BAD_GATEWAY,
            Self::Function(_) => StatusCode::OK,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut body = serde_json::json!({ "error": self.to_string() });
        if let Self::StartFailed { said, .. } = &self {
            body["log"] = serde_json::json!(said);
        }
        (self.status(), Json(body)).into_response()
    }
}
