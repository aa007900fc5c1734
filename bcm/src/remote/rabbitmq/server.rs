//! Where the server is, and how its errors are reported.

use std::fmt;
use std::sync::Arc;

use lapin::uri::AMQPUri;

use super::NAME;
use crate::config::BackendConfig;
use crate::error::Error;

/// Seconds after which a silent connection is taken for broken, when the address does not say.
const HEARTBEAT: u16 = 6;

/// Where the server is and how to log in. Shows nothing of the credentials.
#[derive(Clone)]
pub(super) struct Server(Arc<AMQPUri>);

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = &self.0.authority;
        write!(f, "Server({}:{})", authority.host, authority.port)
    }
}

impl Server {
    /// From `amqp://[user:password@]host[:port][/vhost]`.
    pub(super) fn new(config: &BackendConfig) -> Result<Self, Error> {
        let refuse = |reason: &str| Error::InvalidConfiguration {
            reason: format!("{NAME}: {reason}"),
        };
        let uri = config
            .uri
            .as_deref()
            .ok_or_else(|| refuse("the server's URI is missing"))?;
        // The parser's own error might show what it could not parse.
        let mut uri: AMQPUri = uri.parse().map_err(|_| {
            refuse("the URI is not of the form amqp://user:password@host:port/vhost")
        })?;
        if uri.scheme != lapin::uri::AMQPScheme::AMQP {
            return Err(refuse("TLS is not supported yet; use amqp://"));
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        Ok(Self(Arc::new(uri)))
    }

    pub(super) fn uri(&self) -> AMQPUri {
        (*self.0).clone()
    }
}

pub(super) fn error(reason: impl ToString) -> Error {
    Error::Backend {
        backend: NAME,
        pack: None,
        reason: reason.to_string(),
    }
}

pub(super) fn failed(reason: lapin::Error) -> Error {
    error(format!(
        "the server or the connection to it failed: {reason}"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let server = |uri: &str| Server::new(&BackendConfig::new(NAME).with_uri(uri));
        let good = server("amqp://user:hunter2@localhost:1/%2f").unwrap();
        assert_eq!(format!("{good:?}"), "Server(localhost:1)");
        for wrong in [
            "amqp://user:hunter2@host:port:1/x",
            "hunter2",
            "amqps://u:hunter2@h",
        ] {
            let error = server(wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
