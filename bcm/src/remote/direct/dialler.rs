//! The dialling end: finds another pack and proves to belong to the same flare.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use socket2::Socket;

use super::connection_error::ConnectionError;
use super::handshake::{self, Credentials, HandshakeError, Purpose};
use super::socket;
use crate::error::Error;
use crate::invalid::InvalidConfiguration;
use crate::pack_id::PackId;

/// How long connecting may take.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Milliseconds between dials while the other end turns this one away.
const PAUSES: [u64; 6] = [5, 10, 20, 40, 80, 160];
/// How long a pack that is only probed has to answer.
const PROBE_TIMEOUT: Duration = Duration::from_millis(250);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Dialler {
    pack: PackId,
    credentials: Credentials,
    /// Whether packs of this machine are tried on a shorter way than the network.
    locally: bool,
    endpoints: OnceLock<Vec<String>>,
}

impl Dialler {
    pub(super) fn new(pack: PackId, credentials: Credentials, locally: bool) -> Self {
        Self {
            pack,
            credentials,
            locally,
            endpoints: OnceLock::new(),
        }
    }

    /// Sets the packs' endpoints, by pack id; `true` if they are new. They cannot change.
    pub(super) fn learn(&self, endpoints: &[String]) -> Result<bool, Error> {
        let mut new = false;
        let known = self.endpoints.get_or_init(|| {
            new = true;
            endpoints.to_vec()
        });
        match known == endpoints {
            true => Ok(new),
            false => Err(InvalidConfiguration::PackMoved.into()),
        }
    }

    /// Returns a connection that has passed the handshake. A dialler that is turned away before
    /// that may have had to make room for others ([`super::unauthenticated`]), and tries again.
    pub(super) fn dial(&self, to: PackId, purpose: Purpose) -> Result<Socket, ConnectionError> {
        let endpoint = self.endpoint(to)?;
        // Packs that were turned away together do not all come back together.
        let apart = u64::from(self.pack.0 % 16);
        let mut pauses = PAUSES
            .iter()
            .map(|pause| Duration::from_millis(pause + apart));
        loop {
            match (self.try_dial(to, endpoint, purpose), pauses.next()) {
                (Ok(socket), _) => return Ok(socket),
                (Err(reason), Some(pause)) if reason.is_turned_away() => thread::sleep(pause),
                (Err(reason), _) => return Err(unreachable(endpoint, reason)),
            }
        }
    }

    fn try_dial(
        &self,
        to: PackId,
        endpoint: &str,
        purpose: Purpose,
    ) -> Result<Socket, HandshakeError> {
        let introduce = |socket: Socket| -> Result<Socket, HandshakeError> {
            handshake::introduce(&socket, &self.credentials, self.pack, to, purpose)?;
            Ok(socket)
        };
        // A pack on another machine or in another network namespace has no such name.
        if self.locally
            && socket::is_of_network(endpoint)
            && let Ok(socket) = socket::connect_locally(&self.credentials, endpoint, TIMEOUT)
            && let Ok(socket) = introduce(socket)
        {
            return Ok(socket);
        }
        introduce(socket::connect(endpoint, TIMEOUT)?)
    }

    /// Checks whether something listens at a pack's endpoint.
    pub(super) fn probe(&self, to: PackId) -> Result<(), ConnectionError> {
        let endpoint = self.endpoint(to)?;
        socket::connect(endpoint, PROBE_TIMEOUT)
            .map(drop)
            .map_err(|reason| unreachable(endpoint, reason.into()))
    }

    fn endpoint(&self, pack: PackId) -> Result<&str, ConnectionError> {
        let endpoints = self.endpoints.get().ok_or(ConnectionError::NotStarted)?;
        let endpoint = endpoints.get(pack.index());
        endpoint
            .map(String::as_str)
            .ok_or(ConnectionError::NoSuchPack)
    }
}

fn unreachable(endpoint: &str, reason: HandshakeError) -> ConnectionError {
    ConnectionError::Unreachable {
        endpoint: endpoint.to_owned(),
        reason: Arc::new(reason),
    }
}
