//! The dialling end: finds another pack and proves to be one of the same flare.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::OnceLock;
use std::time::Duration;

use super::error;
use super::handshake::{self, Credentials, Purpose};
use crate::error::Error;

/// How long connecting may take, and so may the handshake.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How long a pack that is only looked for has to answer.
const PROBE_TIMEOUT: Duration = Duration::from_millis(250);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Dialler {
    pack: u32,
    credentials: Credentials,
    endpoints: OnceLock<Vec<String>>,
}

impl Dialler {
    pub(super) fn new(pack: u32, credentials: Credentials) -> Self {
        Self {
            pack,
            credentials,
            endpoints: OnceLock::new(),
        }
    }

    /// Where the packs are, by pack id. A pack is started once: later tables are not read.
    pub(super) fn learn(&self, endpoints: Vec<String>) {
        let _ = self.endpoints.set(endpoints);
    }

    pub(super) fn knows_endpoints(&self) -> bool {
        self.endpoints.get().is_some()
    }

    /// A connection that has passed the handshake.
    pub(super) fn dial(&self, to: u32, purpose: Purpose) -> Result<TcpStream, Error> {
        let endpoint = self.endpoint(to)?;
        let stream = connect(endpoint, TIMEOUT).map_err(|reason| unreachable(to, &reason))?;
        handshake::introduce(&stream, &self.credentials, self.pack, to, purpose)
            .map_err(|reason| unreachable(to, &format!("{endpoint}: {reason}")))?;
        Ok(stream)
    }

    /// Whether something listens where a pack should be.
    pub(super) fn probe(&self, to: u32) -> Result<(), Error> {
        let endpoint = self.endpoint(to)?;
        connect(endpoint, PROBE_TIMEOUT)
            .map(drop)
            .map_err(|reason| unreachable(to, &reason))
    }

    fn endpoint(&self, pack: u32) -> Result<&str, Error> {
        let endpoints = self.endpoints.get().ok_or(Error::NotStarted)?;
        match endpoints.get(pack as usize) {
            Some(endpoint) => Ok(endpoint),
            None => Err(error(Some(pack), "there is no such pack")),
        }
    }
}

fn connect(endpoint: &str, timeout: Duration) -> Result<TcpStream, String> {
    let addresses = endpoint
        .to_socket_addrs()
        .map_err(|reason| format!("{endpoint}: {reason}"))?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(reason) => last = Some(reason),
        }
    }
    Err(match last {
        Some(reason) => format!("{endpoint}: {reason}"),
        None => format!("{endpoint}: the name has no address"),
    })
}

fn unreachable(pack: u32, reason: &str) -> Error {
    error(Some(pack), format!("cannot connect to {reason}"))
}
