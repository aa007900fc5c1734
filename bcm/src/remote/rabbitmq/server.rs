//! The server's address, and how its errors are reported.

use std::fmt;
use std::sync::Arc;

use lapin::tcp::OwnedTLSConfig;
use lapin::uri::AMQPUri;

use super::NAME;
use crate::config::BackendConfig;
use crate::error::Error;
use crate::invalid::{InvalidBackend, InvalidConfiguration};
#[cfg(feature = "management")]
use crate::remote::credentials::Credentials;
use crate::remote::kind::ServerAddress;

/// The seconds after which a silent connection is taken for broken, unless the URI sets them.
const HEARTBEAT: u16 = 6;

/// The server's address and credentials. `Debug` output shows nothing of the credentials.
#[derive(Clone)]
pub(super) struct Server(Arc<Location>);

struct Location {
    uri: AMQPUri,
    /// The address of its management API, if the URI sets it.
    #[cfg(feature = "management")]
    management: Option<String>,
    /// The authorities to trust for TLS, as PEM.
    ca: Option<String>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = &self.0.uri.authority;
        write!(f, "Server({}:{})", authority.host, authority.port)
    }
}

impl Server {
    /// Parses `amqp://[user:password@]host[:port][/vhost][?management=http://host:port]`,
    /// `amqps://…` for TLS.
    pub(super) fn new(config: &BackendConfig) -> Result<Self, Error> {
        let refuse = |reason| InvalidConfiguration::OfBackend {
            backend: NAME,
            reason,
        };
        let uri = config
            .uri
            .as_deref()
            .ok_or_else(|| refuse(InvalidBackend::NoUri))?;
        #[cfg(feature = "management")]
        let management = option(uri, "management").map(str::to_owned);
        // The parser's own error might show what it could not parse.
        let mut uri: AMQPUri = uri.parse().map_err(|_| {
            let form = "amqp://[user:password@]host[:port][/vhost], or amqps://… for TLS";
            refuse(InvalidBackend::Uri { form })
        })?;
        if uri.scheme == lapin::uri::AMQPScheme::AMQPS {
            #[cfg(not(feature = "tls"))]
            return Err(refuse(InvalidBackend::NotBuilt {
                feature: "tls",
                of: "burst",
            })
            .into());
            // Fails if another part of the program has already chosen a provider, which can
            // be used instead.
            #[cfg(feature = "tls")]
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        let ca = config.ca.clone();
        Ok(Self(Arc::new(Location {
            uri,
            #[cfg(feature = "management")]
            management,
            ca,
        })))
    }

    pub(super) fn uri(&self) -> AMQPUri {
        self.0.uri.clone()
    }

    /// The address at which it listens for packs.
    pub(super) fn address(&self) -> ServerAddress {
        let authority = &self.0.uri.authority;
        ServerAddress {
            host: authority.host.clone(),
            port: authority.port,
        }
    }

    /// The same server's URI for another user, in this virtual host.
    #[cfg(feature = "management")]
    pub(super) fn uri_for(&self, account: &Credentials, vhost: &str) -> String {
        let mut uri = self.uri();
        uri.authority.userinfo.username.clone_from(&account.user);
        uri.authority
            .userinfo
            .password
            .clone_from(&account.password);
        uri.vhost = vhost.to_owned();
        uri.to_string()
    }

    #[cfg(feature = "management")]
    pub(super) fn management(&self) -> Option<&str> {
        self.0.management.as_deref()
    }

    /// The user and password of its URI.
    #[cfg(feature = "management")]
    pub(super) fn account(&self) -> Credentials {
        let login = self.uri().authority.userinfo;
        Credentials {
            user: login.username,
            password: login.password,
        }
    }

    pub(super) fn tls(&self) -> OwnedTLSConfig {
        OwnedTLSConfig {
            identity: None,
            cert_chain: self.0.ca.clone(),
        }
    }
}

/// One of the options at the end of a URI.
#[cfg(feature = "management")]
fn option<'a>(uri: &'a str, name: &str) -> Option<&'a str> {
    let (_, options) = uri.split_once('?')?;
    let mut options = options
        .split('&')
        .filter_map(|option| option.split_once('='));
    options.find_map(|(key, value)| (key == name).then_some(value))
}

pub(super) fn error(reason: impl ToString) -> Error {
    Error::of_backend(NAME, None, reason.to_string())
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
            "http://u:hunter2@h",
        ] {
            let error = server(wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
