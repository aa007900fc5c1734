//! The server's address, and the sockets that reach it.

use std::fmt;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionAddr, IntoConnectionInfo};
use socket2::Socket;

use super::RECOVERY;
use super::resp_error::RespError;
#[cfg(feature = "tls")]
use super::tls::{Tls, TlsStream};
use crate::config::BackendConfig;
use crate::error::Error;
use crate::invalid::{InvalidBackend, InvalidConfiguration};
use crate::remote::credentials;
use crate::remote::kind::ServerAddress;

/// How often a blocked read or write checks whether to continue.
const LOOK: Duration = Duration::from_millis(100);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const FORM: &str = "redis://[[user]:password@]host[:port][/0], rediss://… for TLS, or unix:///path";

/// The server's address and credentials. `Debug` output shows nothing of the credentials.
#[derive(Clone)]
pub(super) struct Server(Arc<Location>);

struct Location {
    /// The backend's name, for errors.
    name: &'static str,
    address: Address,
    user: Option<String>,
    password: Option<String>,
    database: i64,
    recovery: Duration,
}

#[derive(Debug)]
enum Address {
    Tcp(String, u16),
    #[cfg(feature = "tls")]
    Tls(String, u16, Tls),
    Unix(PathBuf),
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.0.address).finish()
    }
}

impl Server {
    /// Parses `redis://[user[:password]@]host[:port][/database]`, `rediss://…` for TLS, or
    /// `unix:///path`.
    pub(super) fn new(name: &'static str, config: &BackendConfig) -> Result<Self, Error> {
        let refuse = |reason| InvalidConfiguration::OfBackend {
            backend: name,
            reason,
        };
        let uri = config
            .uri
            .as_deref()
            .ok_or_else(|| refuse(InvalidBackend::NoUri))?;
        let (uri, tls) = match uri.strip_prefix("rediss:") {
            Some(rest) => (format!("redis:{rest}"), true),
            None => (uri.to_owned(), false),
        };
        // The parser's own error might show what it could not parse.
        let info = uri
            .into_connection_info()
            .map_err(|_| refuse(InvalidBackend::Uri { form: FORM }))?;
        let address = match info.addr() {
            #[cfg(feature = "tls")]
            ConnectionAddr::Tcp(host, port) if tls => {
                let tls = Tls::to(host, config.ca.as_deref()).map_err(refuse)?;
                Address::Tls(host.clone(), *port, tls)
            }
            #[cfg(not(feature = "tls"))]
            ConnectionAddr::Tcp(..) if tls => {
                return Err(refuse(InvalidBackend::NotBuilt {
                    feature: "tls",
                    of: "burst",
                })
                .into());
            }
            ConnectionAddr::Tcp(host, port) => Address::Tcp(host.clone(), *port),
            ConnectionAddr::Unix(path) => Address::Unix(path.clone()),
            _ => return Err(refuse(InvalidBackend::Uri { form: FORM }).into()),
        };
        let settings = info.redis_settings();
        Ok(Self(Arc::new(Location {
            name,
            address,
            user: settings.username().map(str::to_owned),
            password: settings.password().map(str::to_owned),
            database: settings.db(),
            recovery: config.recovery.unwrap_or(RECOVERY),
        })))
    }

    /// The same server's URI for another user. Neither name nor password may contain characters
    /// that are special in a URI.
    pub(super) fn uri_for(&self, user: &str, password: &str) -> String {
        let database = self.0.database;
        let over = |scheme: &str, host: &str, port: &u16| {
            let host = match host.contains(':') {
                true => format!("[{host}]"),
                false => host.to_owned(),
            };
            format!("{scheme}://{user}:{password}@{host}:{port}/{database}")
        };
        match &self.0.address {
            Address::Tcp(host, port) => over("redis", host, port),
            #[cfg(feature = "tls")]
            Address::Tls(host, port, _) => over("rediss", host, port),
            Address::Unix(path) => format!(
                "unix://{}?db={database}&user={user}&pass={password}",
                path.display()
            ),
        }
    }

    /// The name of the backend.
    pub(super) fn name(&self) -> &'static str {
        self.0.name
    }

    /// How long reconnecting is tried after a connection broke.
    pub(super) fn recovery(&self) -> Duration {
        self.0.recovery
    }

    pub(super) fn error(&self, reason: impl ToString) -> Error {
        Error::of_backend(self.0.name, None, reason.to_string())
    }

    /// The error to return when a command has failed.
    pub(super) fn failed(&self, reason: RespError) -> Error {
        match reason {
            RespError::GivenUp(error) => error,
            RespError::Refused(reason)
                if reason.starts_with("WRONGPASS") && self.is_of_a_flare() =>
            {
                self.error(
                    "the server has forgotten the flare's user; was it restarted or failed over?",
                )
            }
            other => self.error(other),
        }
    }

    /// Whether its user was created for a flare, and so was known to the server.
    fn is_of_a_flare(&self) -> bool {
        self.user().and_then(credentials::owner_of).is_some()
    }

    pub(super) fn open(&self) -> std::io::Result<Stream> {
        self.0.address.open()
    }

    pub(super) fn user(&self) -> Option<&str> {
        self.0.user.as_deref()
    }

    pub(super) fn password(&self) -> Option<&str> {
        self.0.password.as_deref()
    }

    pub(super) fn database(&self) -> i64 {
        self.0.database
    }
}

/// The address of the server that a backend of this name is configured with.
pub(super) fn addresses(
    name: &'static str,
    config: &BackendConfig,
) -> Result<Vec<ServerAddress>, Error> {
    let server = Server::new(name, config)?;
    let (host, port) = match &server.0.address {
        Address::Tcp(host, port) => (host, port),
        #[cfg(feature = "tls")]
        Address::Tls(host, port, _) => (host, port),
        Address::Unix(_) => return Ok(Vec::new()),
    };
    Ok(vec![ServerAddress {
        host: host.clone(),
        port: *port,
    }])
}

#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    #[cfg(feature = "tls")]
    Tls(Box<TlsStream>),
}

/// Ends a connection that another thread is reading from.
#[derive(Debug)]
pub(super) struct Hook(Socket);

impl Hook {
    pub(super) fn cut(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Stream {
    pub(super) fn hook(&self) -> std::io::Result<Hook> {
        Ok(Hook(match self {
            Self::Plain(socket) => socket.try_clone()?,
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.sock.try_clone()?.into(),
        }))
    }

    pub(super) fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> std::io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write_vectored(slices),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.write_vectored(slices),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Address {
    fn open(&self) -> std::io::Result<Stream> {
        match self {
            Self::Tcp(host, port) => connect(host, *port).map(Stream::Plain),
            #[cfg(feature = "tls")]
            Self::Tls(host, port, tls) => {
                let stream = tls.over(connect(host, *port)?.into())?;
                Ok(Stream::Tls(Box::new(stream)))
            }
            Self::Unix(path) => prepare(UnixStream::connect(path)?.into()).map(Stream::Plain),
        }
    }
}

fn connect(host: &str, port: u16) -> std::io::Result<Socket> {
    let mut last = ErrorKind::NotFound.into();
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return prepare(stream.into());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn prepare(socket: Socket) -> std::io::Result<Socket> {
    socket.set_read_timeout(Some(LOOK))?;
    socket.set_write_timeout(Some(LOOK))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::super::resp::Client;
    use super::*;

    fn server(uri: &str) -> Result<Server, Error> {
        Server::new(
            "redis-list",
            &BackendConfig::new("redis-list").with_uri(uri),
        )
    }

    #[test]
    fn a_uri_for_another_user_leads_to_the_same_server() {
        for (uri, expected) in [
            ("redis://:x@host/3", "redis://u:p@host:6379/3"),
            ("redis://a:b@[::1]:7/0", "redis://u:p@[::1]:7/0"),
            (
                "unix:///run/redis?db=2&pass=x",
                "unix:///run/redis?db=2&user=u&pass=p",
            ),
        ] {
            let other = server(uri).unwrap().uri_for("u", "p");
            assert_eq!(other, expected);
            let other = server(&other).unwrap();
            assert_eq!((other.user(), other.password()), (Some("u"), Some("p")));
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let server = server("redis://user:hunter2@localhost:1/0").unwrap();
        assert!(!format!("{server:?}").contains("hunter2"));
        let refused = Client::connect(&server, &mut || Ok(())).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("hunter2"));
        for wrong in [
            "redis://user:hunter2@host:port:1/x",
            "hunter2",
            "http://:hunter2@h/0",
        ] {
            let error = self::server(wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
        let config = BackendConfig::new("redis-list").with_uri("redis://:hunter2@host/");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
