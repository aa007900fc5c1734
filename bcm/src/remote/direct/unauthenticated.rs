//! Peers that have connected and not authenticated yet.
//!
//! Their number and the time each may stay are limited. When there is no room, the oldest
//! connection from the source with the most connections is dropped: a pack needs only a moment to
//! authenticate, so it is seldom the one, and dials again if it is ([`super::dialler`]).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, Shutdown};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use socket2::{SockAddr, Socket};

use super::handshake::{AuthenticatedPeer, Credentials, HandshakeError, Reception};
use crate::pack_id::PackId;

/// How long a connected peer may take to authenticate.
pub(super) const STAY: Duration = Duration::from_secs(3);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Unauthenticated {
    room: usize,
    /// In order of arrival.
    pending: Vec<PendingPeer>,
}

#[derive(Debug)]
struct PendingPeer {
    stream: Socket,
    source: Source,
    since: Instant,
    reception: Reception,
}

/// The source of a connection; `None` for this machine.
type Source = Option<IpAddr>;

impl Unauthenticated {
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            pending: Vec::new(),
        }
    }

    /// Adds a new connection.
    pub(super) fn enter(
        &mut self,
        stream: Socket,
        address: &SockAddr,
    ) -> Result<(), HandshakeError> {
        stream.set_nonblocking(true)?;
        let reception = Reception::begin(&stream)?;
        if self.pending.len() >= self.room {
            self.evict();
        }
        self.pending.push(PendingPeer {
            stream,
            source: source(address),
            since: Instant::now(),
            reception,
        });
        Ok(())
    }

    /// Drops one connection to make room; `false` if there was none.
    pub(super) fn evict(&mut self) -> bool {
        let mut sources: HashMap<Source, usize> = HashMap::new();
        for peer in &self.pending {
            *sources.entry(peer.source).or_default() += 1;
        }
        let most = sources.into_iter().max_by_key(|(_, count)| *count);
        let oldest = (self.pending.iter())
            .position(|peer| most.is_some_and(|(source, _)| source == peer.source));
        match oldest {
            Some(index) => {
                self.pending.remove(index).turn_away();
                true
            }
            None => false,
        }
    }

    pub(super) fn streams(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pending.iter().map(|peer| peer.stream.as_fd())
    }

    /// How long until the next peer's time is up.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let oldest = self.pending.first()?;
        Some(STAY.saturating_sub(oldest.since.elapsed()))
    }

    /// Reads from the peers whose index among the [streams](Unauthenticated::streams) has `spoken`,
    /// and turns away those whose time is up. Returns the peers that have authenticated as packs.
    pub(super) fn listen(
        &mut self,
        spoken: impl Fn(usize) -> bool,
        credentials: &Credentials,
        (pack, packs): (PackId, u32),
    ) -> Vec<(AuthenticatedPeer, Socket)> {
        let mut authenticated = Vec::new();
        let mut stay = Vec::with_capacity(self.pending.len());
        for (index, mut peer) in self.pending.drain(..).enumerate() {
            let proof = match spoken(index) {
                true => (peer.reception).hear(&peer.stream, credentials, pack, packs),
                false => Ok(None),
            };
            match proof {
                Ok(Some(proved)) => authenticated.push((proved, peer.stream)),
                Ok(None) if peer.since.elapsed() < STAY => stay.push(peer),
                // Without an answer.
                Ok(None) | Err(_) => peer.turn_away(),
            }
        }
        self.pending = stay;
        authenticated
    }
}

impl PendingPeer {
    fn turn_away(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The source of an address. An IPv6 network counts as one source: it has more addresses than there
/// is room for.
fn source(address: &SockAddr) -> Source {
    match address.as_socket()?.ip() {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_none() => {
            let network = u128::from(address) >> 64 << 64;
            Some(Ipv6Addr::from(network).into())
        }
        address => Some(address),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::io::{ErrorKind, Read};
    use std::net::SocketAddr;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn enter(unauthenticated: &mut Unauthenticated, from: &str) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let address: SocketAddr = format!("{from}:1").parse().unwrap();
        unauthenticated.enter(ours.into(), &address.into()).unwrap();
        theirs
    }

    fn is_there(mut peer: &UnixStream) -> bool {
        peer.set_nonblocking(true).unwrap();
        let mut challenge = [0; 64];
        let _ = peer.read(&mut challenge);
        let read = peer.read(&mut challenge);
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn the_source_with_most_connections_is_evicted_first() {
        let mut unauthenticated = Unauthenticated::new(4);
        let pack = enter(&mut unauthenticated, "10.0.0.1");
        let crowd: Vec<_> = (0..9)
            .map(|_| enter(&mut unauthenticated, "10.0.0.2"))
            .collect();
        assert!(is_there(&pack));
        let left: Vec<_> = crowd.iter().map(is_there).collect();
        assert_eq!(left, [[false; 6].as_slice(), &[true; 3]].concat());
    }

    #[test]
    fn a_network_is_one_source() {
        let mut unauthenticated = Unauthenticated::new(3);
        let pack = enter(&mut unauthenticated, "[2001:db8:1::1]");
        let crowd: Vec<_> = (1..9)
            .map(|i| enter(&mut unauthenticated, &format!("[2001:db8:2::{i}]")))
            .collect();
        assert!(is_there(&pack));
        assert_eq!(crowd.iter().filter(|it| is_there(it)).count(), 2);
    }
}
