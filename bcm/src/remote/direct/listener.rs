//! The listening end: accepts connections and admits packs of the flare.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;

use super::handshake::{AuthenticatedPeer, Credentials, Purpose};
use super::peers::Peers;
use super::reader::Reader;
use super::unauthenticated::Unauthenticated;
use super::watch::Watch;
use super::{Thread, error, socket};
use crate::config::PackConfig;
use crate::error::Error;
use crate::local::Waker;
use crate::pack_id::PackId;

/// Room for unauthenticated connections, besides one for each pack: all packs may dial the middle
/// of the watch at the same time.
const PENDING_PEERS: usize = 256;
/// The most connections accepted in a row before reading from those already accepted.
const AT_ONCE: usize = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Listener {
    endpoint: String,
    shared: Arc<Shared>,
    acceptor: Thread,
}

#[derive(Debug)]
struct Shared {
    pack: PackId,
    packs: u32,
    credentials: Credentials,
    peers: Arc<Peers>,
    reader: Arc<Reader>,
    watch: Arc<Watch>,
    closing: AtomicBool,
    /// Wakes the accepting thread.
    waker: Waker,
}

impl Listener {
    /// Listens as one of these packs; with `locally` also on the shorter way within this machine.
    pub(super) fn bind(
        (config, locally): (&PackConfig, bool),
        (pack, packs): (PackId, u32),
        credentials: Credentials,
        (peers, reader): (Arc<Peers>, Arc<Reader>),
        watch: Arc<Watch>,
    ) -> Result<Self, Error> {
        let wrap = |reason: std::io::Error| error(None, format!("cannot listen: {reason}"));
        let (socket, endpoint) = socket::listen(config).map_err(wrap)?;
        let mut sockets = vec![socket];
        if locally && !socket::is_unix(&endpoint) {
            // If this fails, packs of this machine connect like all others.
            sockets.extend(socket::listen_locally(&credentials, &endpoint).ok());
        }
        let shared = Arc::new(Shared {
            pack,
            packs,
            credentials,
            peers,
            reader,
            watch,
            closing: AtomicBool::new(false),
            waker: Waker::new().map_err(wrap)?,
        });
        let accepting = Arc::clone(&shared);
        let acceptor = Thread::spawn("bcm-accept", move || accepting.accept_all(&sockets))?;
        Ok(Self {
            endpoint,
            shared,
            acceptor,
        })
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Ends the thread, and hangs up on unauthenticated peers. Does nothing when called again.
    pub(super) fn close(&self) {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.waker.wake();
        self.acceptor.join();
    }
}

impl Shared {
    fn accept_all(&self, listening: &[Socket]) {
        let mut unauthenticated = Unauthenticated::new(PENDING_PEERS + self.packs as usize);
        while !self.closing.load(Ordering::Acquire) {
            let sockets = listening.iter().map(AsFd::as_fd);
            let descriptors = [self.waker.as_fd()].into_iter().chain(sockets);
            let mut watched: Vec<_> = descriptors
                .chain(unauthenticated.streams())
                .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
                .collect();
            let limit = unauthenticated.time_left();
            let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
            // Even after an interruption, all sockets are checked.
            let _ = poll(&mut watched, limit.as_ref());
            let spoken: Vec<_> = watched.iter().map(|it| !it.revents().is_empty()).collect();
            let spoken = |index: usize| spoken.get(1 + listening.len() + index) == Some(&true);
            let peers = unauthenticated.listen(spoken, &self.credentials, (self.pack, self.packs));
            for (peer, stream) in peers {
                self.let_in(&peer, stream);
            }
            for socket in listening {
                self.accept(socket, &mut unauthenticated);
            }
        }
    }

    fn accept(&self, socket: &Socket, unauthenticated: &mut Unauthenticated) {
        for _ in 0..AT_ONCE {
            match socket.accept() {
                // A peer that has already disconnected needs no answer.
                Ok((stream, address)) => drop(unauthenticated.enter(stream, &address)),
                Err(reason) if reason.kind() == ErrorKind::WouldBlock => return,
                // Usually out of descriptors: unauthenticated peers have to go first.
                Err(_) if unauthenticated.evict() => {}
                Err(_) => {
                    thread::sleep(Duration::from_millis(10));
                    return;
                }
            }
        }
    }

    /// Admits a pack of the flare, unless it has too many connections.
    fn let_in(&self, peer: &AuthenticatedPeer, stream: Socket) {
        let pack = peer.pack;
        if peer.purpose == Purpose::Watch {
            if peer.accept(&stream).is_ok() {
                self.watch.adopt(pack, stream);
            }
            return;
        }
        let Some(number) = self.peers.membership.connected(pack) else {
            return;
        };
        match peer.accept(&stream).and_then(|()| socket::prepare(&stream)) {
            Ok(()) => self.reader.add(stream, pack, number),
            // The peer has already hung up.
            Err(_) => self.peers.membership.forget(pack, number),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::time::{Duration, Instant};

    use socket2::Socket;

    use crate::config::PackConfig;
    use crate::pack::Pack;
    use crate::pack_id::PackId;
    use crate::remote::direct::handshake::{self, Credentials, Purpose};
    use crate::remote::direct::socket;
    use crate::remote::direct::unauthenticated::STAY;
    use crate::topology::Topology;
    use crate::wire::flare_digest;

    #[test]
    fn a_thousand_packs_may_dial_the_middle_at_once() {
        const PACKS: u32 = 1000;
        const MIDDLE: PackId = PackId(PACKS - 1);
        const TIMEOUT: Duration = Duration::from_secs(20);
        const AGAIN: usize = 10;
        let topology = Topology::new(&[1; PACKS as usize]).unwrap();
        let mut config = PackConfig::new("many", MIDDLE, topology);
        config.secret = "secret".into();
        let middle = Pack::join(config).unwrap();
        let endpoint = middle.endpoint().unwrap();
        // All have connected before the first one authenticates.
        let mut others: Vec<(Instant, Socket)> = (1..PACKS)
            .map(|_| (Instant::now(), socket::connect(&endpoint, TIMEOUT).unwrap()))
            .collect();
        let credentials = Credentials::new(&"secret".into(), flare_digest("many"));
        for (pack, (dialled, other)) in (0..).map(PackId).zip(&mut others) {
            let introduce = |other: &Socket| {
                handshake::introduce(other, &credentials, pack, MIDDLE, Purpose::Watch)
            };
            // One thread authenticates them all: on a busy machine the last are late and dial
            // again, some of them often.
            let mut introduced = introduce(other);
            for _ in 0..AGAIN {
                let Err(reason) = &introduced else {
                    break;
                };
                let is_late = reason.is_turned_away() && dialled.elapsed() >= STAY;
                assert!(is_late, "pack {pack}: {reason}");
                *other = socket::connect(&endpoint, TIMEOUT).unwrap();
                introduced = introduce(other);
            }
            introduced.unwrap_or_else(|reason| panic!("pack {pack}, at last: {reason}"));
        }
    }
}
