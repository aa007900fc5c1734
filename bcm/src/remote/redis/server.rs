//! Where the server is, and the sockets that reach it.

use std::fmt;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionAddr, IntoConnectionInfo};

use super::resp::RespError;
use crate::config::BackendConfig;
use crate::error::Error;

/// How often a blocked read or write asks whether to go on.
const LOOK: Duration = Duration::from_millis(100);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Where the server is and how to log in. Shows nothing of the credentials.
#[derive(Clone)]
pub(super) struct Server(Arc<Location>);

struct Location {
    /// The backend's, for errors.
    name: &'static str,
    address: Address,
    user: Option<String>,
    password: Option<String>,
    database: i64,
}

#[derive(Debug)]
enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.0.address).finish()
    }
}

impl Server {
    /// From `redis://[user[:password]@]host[:port][/database]` or `unix:///path`.
    pub(super) fn new(name: &'static str, config: &BackendConfig) -> Result<Self, Error> {
        let refuse = |reason: &str| Error::InvalidConfiguration {
            reason: format!("{name}: {reason}"),
        };
        let uri = config
            .uri
            .as_deref()
            .ok_or_else(|| refuse("the server's URI is missing"))?;
        // The parser's own error might show what it could not parse.
        let info = uri
            .into_connection_info()
            .map_err(|_| refuse("the URI is not of the form redis://user:password@host:port/0"))?;
        let address = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Address::Tcp(host.clone(), *port),
            ConnectionAddr::Unix(path) => Address::Unix(path.clone()),
            _ => return Err(refuse("TLS is not supported yet; use redis:// or unix://")),
        };
        let settings = info.redis_settings();
        Ok(Self(Arc::new(Location {
            name,
            address,
            user: settings.username().map(str::to_owned),
            password: settings.password().map(str::to_owned),
            database: settings.db(),
        })))
    }

    /// The name of the backend.
    pub(super) fn name(&self) -> &'static str {
        self.0.name
    }

    pub(super) fn error(&self, reason: impl ToString) -> Error {
        Error::Backend {
            backend: self.0.name,
            pack: None,
            reason: reason.to_string(),
        }
    }

    /// The error to return when a command did not go through.
    pub(super) fn failed(&self, reason: RespError) -> Error {
        match reason {
            RespError::GivenUp(error) => error,
            other => self.error(other),
        }
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

#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Ends a connection another thread is reading from.
#[derive(Debug)]
pub(super) struct Hook(Stream);

impl Hook {
    pub(super) fn cut(&self) {
        let _ = match &self.0 {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Stream {
    pub(super) fn hook(&self) -> std::io::Result<Hook> {
        Ok(Hook(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        }))
    }

    pub(super) fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> std::io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write_vectored(slices),
            Self::Unix(stream) => stream.write_vectored(slices),
        }
    }

    pub(super) fn read(&mut self, place: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(place),
            Self::Unix(stream) => stream.read(place),
        }
    }
}

impl Address {
    fn open(&self) -> std::io::Result<Stream> {
        match self {
            Self::Tcp(host, port) => {
                let mut last = ErrorKind::NotFound.into();
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            stream.set_read_timeout(Some(LOOK))?;
                            stream.set_write_timeout(Some(LOOK))?;
                            return Ok(Stream::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(LOOK))?;
                stream.set_write_timeout(Some(LOOK))?;
                Ok(Stream::Unix(stream))
            }
        }
    }
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
    fn a_password_is_never_shown() {
        let server = server("redis://user:hunter2@localhost:1/0").unwrap();
        assert!(!format!("{server:?}").contains("hunter2"));
        let refused = Client::connect(&server, &mut || Ok(())).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("hunter2"));
        for wrong in [
            "redis://user:hunter2@host:port:1/x",
            "hunter2",
            "rediss://:hunter2@h/0",
        ] {
            let error = self::server(wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
        let config = BackendConfig::new("redis-list").with_uri("redis://:hunter2@host/");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
