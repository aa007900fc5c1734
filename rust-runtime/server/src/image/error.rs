//! Why an image returns no result.

use std::io;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::http::{CallError, Reply};
use crate::launched;

/// Why a run has no result, in OpenWhisk's words.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{NOT_INITIALISED}: the image's command `{command}` cannot be started: {reason}")]
    Command { command: String, reason: io::Error },
    #[error("{NOT_INITIALISED}: {0}")]
    InitRefused(Refusal),
    #[error("{NOT_INITIALISED}: {0}")]
    InitUnanswered(CallError),
    #[error(transparent)]
    Refused(Refusal),
    #[error("The action did not produce a valid response: {0}.")]
    Unanswered(CallError),
    #[error("{}", launched::NO_RESULT)]
    NoResult,
}

const NOT_INITIALISED: &str = "Initialization has failed due to";

/// The error in a response of the image's server.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The server's own message.
    #[error("{0}")]
    Said(String),
    #[error("The action's server answered with status {} and no `error`.", .0.as_u16())]
    Unsaid(StatusCode),
}

impl Refusal {
    pub(super) fn of(reply: &Reply) -> Self {
        #[derive(Deserialize)]
        struct Body {
            error: Box<RawValue>,
        }
        match serde_json::from_slice::<Body>(&reply.body) {
            Ok(Body { error }) => {
                let text: Result<String, _> = serde_json::from_str(error.get());
                Self::Said(text.unwrap_or_else(|_| error.get().to_owned()))
            }
            Err(_) => Self::Unsaid(reply.status),
        }
    }
}
