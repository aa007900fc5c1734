//! Packs on other machines: incoming connections by [`inbound`](crate::inbound), outgoing ones by
//! [`outbound`](crate::outbound).

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{Resource, getrlimit};

use crate::end::End;
use crate::inbound::Port;
use crate::local_name::{LocalPath, Names};
use crate::outbound;
use crate::relay::ConnectionLimit;
use crate::root::SOCKETS;
use crate::spec::Listen;
use crate::target::{Target, TargetError};
use crate::task::{self, Task};

/// Packs on other machines, in one flare.
const PEERS: usize = 4096;

/// Connections between two packs in one direction: those that packs need, and some that have just ended.
const CONNECTIONS: usize = 8;

/// Bounds of a pack's connections in one direction: the most, however many packs there are, and the least, however few
/// descriptors.
const MOST: u64 = 4096;
const LEAST: u64 = 64;

/// Descriptors of the shim that are reserved for other things.
const KEPT: u64 = 1024;

/// Why packs on other machines cannot be reached, or cannot connect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PeersError {
    #[error("the pack has no directory of sockets")]
    NoSockets,
    #[error("a pack may have {PEERS} on other machines")]
    TooMany,
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Socket(io::Error),
}

/// A pack's connections with packs on other machines.
#[derive(Debug)]
pub(crate) struct Peers {
    /// The names of the pack's own socket and of the one by which it reaches others; none if it has no sockets.
    names: Option<(LocalPath, LocalPath)>,
    inbound: Option<Task>,
    outbound: Option<Task>,
}

impl Peers {
    pub(crate) fn of(names: Option<&Names>) -> Self {
        Self {
            names: names.map(|it| (it.pack.path().clone(), it.peers.path().clone())),
            inbound: None,
            outbound: None,
        }
    }

    /// Lets other packs connect; returns the endpoint at which they do.
    pub(crate) async fn listen(&mut self, listen: &Listen, end: End) -> Result<String, PeersError> {
        let (pack, _) = self.names.clone().ok_or(PeersError::NoSockets)?;
        enough(listen.packs)?;
        task::close(&mut self.inbound).await;
        let host = listen.host.as_str();
        let port = Port::of(host).await.map_err(PeersError::Socket)?;
        let endpoint = match host.contains(':') {
            true => format!("[{host}]:{}", port.number()),
            false => format!("{host}:{}", port.number()),
        };
        let room = (listen.packs, limit(listen.packs));
        self.inbound = Some(Task::spawn(end, |end| port.lead_to(pack, room, end)));
        Ok(endpoint)
    }

    /// Lets the pack connect to these, each given as `HOST:PORT`, by their index; returns the path of the socket for
    /// that in the pack.
    pub(crate) async fn reach(&mut self, peers: &[String], end: End) -> Result<String, PeersError> {
        let (_, name) = self.names.clone().ok_or(PeersError::NoSockets)?;
        enough(peers.len())?;
        let peers: Arc<[Target]> = peers
            .iter()
            .map(|peer| peer.parse())
            .collect::<Result<_, _>>()?;
        task::close(&mut self.outbound).await;
        let listener = bind(&name).map_err(PeersError::Socket)?;
        let limit = limit(peers.len());
        self.outbound = Some(Task::spawn(end, |end| {
            outbound::lead_to(peers, (listener, limit), end)
        }));
        Ok(format!("{SOCKETS}/{}", name.as_str()))
    }

    /// Closes both directions, and returns when no connection is left.
    pub(crate) async fn close(&mut self) {
        // In parallel, as each may take some time.
        tokio::join!(
            task::close(&mut self.inbound),
            task::close(&mut self.outbound)
        );
        if let Some((_, name)) = &self.names {
            name.remove();
        }
    }
}

fn enough(packs: usize) -> Result<(), PeersError> {
    match packs <= PEERS {
        true => Ok(()),
        false => Err(PeersError::TooMany),
    }
}

/// The limit for the connections with this many packs in one direction, each of which takes two descriptors.
fn limit(packs: usize) -> ConnectionLimit {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = (descriptors.saturating_sub(KEPT) / 4).clamp(LEAST, MOST);
    let wanted = (packs * CONNECTIONS) as u64;
    // At most `MOST`.
    ConnectionLimit::new(wanted.clamp(LEAST, most) as u32)
}

fn bind(name: &LocalPath) -> io::Result<tokio::net::UnixListener> {
    // That of an earlier list.
    name.remove();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    name.bind(&socket).map_err(io::Error::other)?;
    tokio::net::UnixListener::from_std(UnixListener::from(socket))
}
