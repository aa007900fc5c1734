//! Packs of other machines: they come by [`inbound`](crate::inbound), and are gone to by [`outbound`](crate::outbound).

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

/// Of other machines, in one flare.
const PEERS: usize = 4096;

/// Connections of two packs in one direction: those that packs need, and some that have just ended.
const CONNECTIONS: usize = 8;

/// Connections of a pack in one direction, however many packs there are, and where there are few descriptors.
const MOST: u64 = 4096;
const LEAST: u64 = 64;

/// Descriptors of the shim that are not for this.
const KEPT: u64 = 1024;

/// Why there are none, or why they cannot come.
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

/// What of them there is.
#[derive(Debug)]
pub(crate) struct Peers {
    /// Of the pack's own socket, and of that on which it finds others; none where it has no sockets.
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

    /// Lets others come; where they do.
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

    /// Lets the pack go to these, each given as `HOST:PORT`, by their index; where it says so.
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

    /// Returns when no connection is left.
    pub(crate) async fn close(&mut self) {
        // Together, as each may take its time.
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

/// For the connections of so many packs in one direction, each of which takes two descriptors.
fn limit(packs: usize) -> ConnectionLimit {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = (descriptors.saturating_sub(KEPT) / 4).clamp(LEAST, MOST);
    let wanted = (packs * CONNECTIONS) as u64;
    // It is at most `MOST`.
    ConnectionLimit::new(wanted.clamp(LEAST, most) as u32)
}

fn bind(name: &LocalPath) -> io::Result<tokio::net::UnixListener> {
    // Of an earlier list.
    name.remove();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    name.bind(&socket).map_err(io::Error::other)?;
    tokio::net::UnixListener::from_std(UnixListener::from(socket))
}
