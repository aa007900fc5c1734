//! What can go wrong with a call.

use std::time::Duration;

use reqwest::StatusCode;

use crate::address::AddressError;
use crate::causes::{AnswerError, ConnectionError, RequestError, SetupError};
use crate::model::Refusal;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The platform refused the request, or failed at it. A refused request has changed nothing.
    #[error("{message}{}", in_brackets(code))]
    Refused {
        /// HTTP status.
        status: u16,
        /// The API's sentence, which says what to change.
        message: String,
        /// The request's id, to find it in the platform's logs.
        code: Option<String>,
    },
    /// No connection could be made.
    #[error("cannot reach the platform at {host}: {cause}")]
    Unreachable {
        /// The platform's address.
        host: String,
        /// Why not.
        #[source]
        cause: ConnectionError,
    },
    /// The connection broke. The request may have been carried out.
    #[error("the connection to the platform at {host} broke: {cause}")]
    Broken {
        /// The platform's address.
        host: String,
        /// Why.
        #[source]
        cause: ConnectionError,
    },
    /// Connected, but the answer did not arrive in time, or stopped arriving. The request may have been carried out.
    #[error("the platform at {host} did not answer within {} s", timeout.as_secs())]
    NoAnswer {
        /// The platform's address.
        host: String,
        /// How long the client waited.
        timeout: Duration,
    },
    /// The answer is not what the API promises.
    #[error("the platform's answer could not be understood: {0}")]
    BadAnswer(#[from] AnswerError),
    /// The call cannot be sent: a name or an id is invalid, or the request is not JSON.
    #[error(transparent)]
    BadRequest(#[from] RequestError),
    /// The text is not a platform's address.
    #[error("\"{address}\" is not a platform's address: {why}")]
    BadAddress {
        /// The text.
        address: String,
        /// Why it is not one.
        why: AddressError,
    },
    /// The credentials are not two parts with a colon between them.
    #[error("the credentials are not uuid:key")]
    BadCredentials,
    /// The text given as certificates contains none.
    #[error("not a PEM certificate")]
    NoCertificate,
    /// The text given as the caller's own certificate lacks it or its key.
    #[error("not a PEM certificate with its key")]
    NoIdentity,
    /// HTTP cannot be used here at all.
    #[error("cannot set up HTTP: {0}")]
    NoHttp(#[from] SetupError),
}

impl Error {
    /// Returns the error that an answer of this status and text means.
    pub(crate) fn refused(status: StatusCode, text: &[u8]) -> Self {
        let status = status.as_u16();
        match serde_json::from_slice(text) {
            Ok(Refusal { error, code }) => Self::Refused {
                status,
                message: error,
                code: Some(code),
            },
            // The answer need not be the platform's: there may be a proxy before it.
            Err(_) => Self::Refused {
                status,
                message: format!("the platform answered {status} and no reason"),
                code: None,
            },
        }
    }

    /// Whether the same request may be answered a moment later: the platform is restarting, or out of reach.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Broken { .. }
                | Self::NoAnswer { .. }
                | Self::Refused {
                    status: 502..=504,
                    ..
                }
        )
    }

    /// The HTTP status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }
}

fn in_brackets(code: &Option<String>) -> String {
    code.as_ref()
        .map(|code| format!(" [{code}]"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transaction_code_follows_in_brackets() {
        let refused = Error::Refused {
            status: 400,
            message: "no".into(),
            code: Some("t1".into()),
        };
        assert_eq!(refused.to_string(), "no [t1]");
    }
}
