//! `direct`: TCP between packs, no server.
//!
//! Every pack listens. At the start each one dials every other one's control connection, so that
//! a pack that dies is noticed by all; connections for data are dialled when they are needed and
//! kept in a pool per peer. A connection carries frames one way only, from the one who dialled.
//! Both ends prove that they know the flare's secret before anything else ([`handshake`]).
//!
//! Each incoming connection is read by the worker that waits for what comes on it, or else by a
//! thread of its own ([`intake`]). Payloads go straight to their place, and reading never waits
//! for a worker; so a writer waits for the network at most, and for its turn on
//! a connection no longer than one chunk takes.
//!
//! A connection that ends before its `Goodbye` frame means that the pack is lost.

mod connection;
mod handshake;
mod intake;
mod listener;

use std::net::{TcpStream, ToSocketAddrs};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::inbox::Inbox;
use super::pool::Pool;
use super::{Backend, Frame};
use crate::config::PackConfig;
use crate::control::Patience;
use crate::error::{Error, Peer};
use crate::wire::{Header, Kind};
use connection::Connection;
use handshake::Credentials;
use listener::Listener;

pub(super) const NAME: &str = "direct";

/// How long connecting and the handshake may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a pack that has finished stays for others that have not connected to it yet.
const MEETING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a control frame may take: the peer's reader takes them as they come.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the goodbye of a peer that hung up may still be on its way. So may the word of whoever
/// supervises it: that tells which worker ended the pack and how, a connection's end does not.
const GOODBYE_TIMEOUT: Duration = Duration::from_millis(600);

/// See the module's documentation.
#[derive(Debug)]
struct Direct {
    pack: u32,
    credentials: Credentials,
    inbox: Arc<Inbox>,
    listener: Listener,
    peers: OnceLock<Vec<PeerLink>>,
    /// Asked once: the answer takes reading several files.
    cores: usize,
}

/// The connections to one other pack.
#[derive(Debug)]
struct PeerLink {
    endpoint: String,
    control: Mutex<Option<Connection>>,
    data: Pool<Connection>,
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    if config.secret.as_bytes().is_empty() {
        return Err(Error::InvalidConfiguration {
            reason: "direct connections need the flare's secret".to_owned(),
        });
    }
    let credentials = Credentials::new(&config.secret, inbox.config().flare);
    let listener = Listener::bind(&config.advertise, credentials.clone(), Arc::clone(&inbox))?;
    Ok(Arc::new(Direct {
        pack: config.pack,
        credentials,
        inbox,
        listener,
        peers: OnceLock::new(),
        cores: thread::available_parallelism().map_or(1, usize::from),
    }))
}

/// Fewest and most connections per peer: two at least, so that a small message finds one while a
/// chunk of a large one is being written.
const CONNECTIONS: (usize, usize) = (2, 4);

fn error(pack: Option<u32>, reason: impl ToString) -> Error {
    Error::Backend {
        backend: NAME,
        pack,
        reason: reason.to_string(),
    }
}

impl Direct {
    fn peer(&self, pack: u32) -> Result<&PeerLink, Error> {
        let peers = self.peers.get().ok_or(Error::NotStarted)?;
        peers
            .get(pack as usize)
            .ok_or_else(|| error(Some(pack), "there is no such pack"))
    }

    fn dial(&self, pack: u32, endpoint: &str) -> Result<Connection, Error> {
        let wrap = |reason: &dyn ToString| {
            error(
                Some(pack),
                format!("cannot connect to {endpoint}: {}", reason.to_string()),
            )
        };
        let mut last = None;
        for address in endpoint.to_socket_addrs().map_err(|e| wrap(&e))? {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => {
                    handshake::introduce(&stream, &self.credentials, self.pack, pack)
                        .map_err(|e| wrap(&e))?;
                    return Connection::new(stream).map_err(|e| wrap(&e));
                }
                Err(reason) => last = Some(reason),
            }
        }
        Err(match last {
            Some(reason) => wrap(&reason),
            None => wrap(&"the name has no address"),
        })
    }

    /// Writes one frame on a connection of the pool.
    fn write(&self, to: u32, frame: &Frame<'_>, patience: &mut Patience<'_>) -> Result<(), Error> {
        let peer = self.peer(to)?;
        let acquired = peer
            .data
            .acquire(Peer::Pack(to), patience, || self.dial(to, &peer.endpoint));
        let mut connection = match acquired {
            Ok(connection) => connection,
            // It was there at the start: whoever does not answer any more has ended.
            Err(refused @ Error::Backend { .. }) => {
                return Err(self.explanation(to, patience).unwrap_or(refused));
            }
            Err(given_up) => return Err(given_up),
        };
        let result = connection.write(frame, || patience.remaining(Peer::Pack(to)).map(drop));
        match result {
            Ok(()) => {
                peer.data.put_back(connection);
                Ok(())
            }
            Err(connection::WriteError::GivenUp(reason)) => {
                peer.data.forget();
                Err(reason)
            }
            Err(connection::WriteError::Broken(reason)) => {
                peer.data.forget();
                Err(self.hung_up(to, &reason, patience))
            }
        }
    }

    /// A peer that no longer reads has ended, well or badly.
    fn hung_up(&self, pack: u32, reason: &str, patience: &Patience<'_>) -> Error {
        self.explanation(pack, patience).unwrap_or_else(|| {
            self.inbox.lost(pack, reason);
            let ended = self.inbox.config().control.ended();
            ended.cloned().unwrap_or_else(|| error(Some(pack), reason))
        })
    }

    /// Why a peer is gone, as its other connections or the pack's supervisor tell; waits for it.
    fn explanation(&self, pack: u32, patience: &Patience<'_>) -> Option<Error> {
        let control = &self.inbox.config().control;
        let since = Instant::now();
        while !self.inbox.has_left(pack) {
            if let Some(ended) = control.ended() {
                return Some(ended.clone());
            }
            if since.elapsed() >= GOODBYE_TIMEOUT {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        }
        Some(Error::Departed {
            operation: patience.operation,
            peer: Peer::Pack(pack),
        })
    }

    /// Most connections to a peer.
    fn connections(&self) -> usize {
        self.cores.clamp(CONNECTIONS.0, CONNECTIONS.1)
    }

    /// Several threads share the frames of a large message when there are cores for it.
    fn helpers(&self, frames: usize) -> usize {
        (self.cores / 2)
            .min(self.connections())
            .min(frames / 2)
            .saturating_sub(1)
    }
}

impl Backend for Direct {
    fn endpoint(&self) -> Option<String> {
        Some(self.listener.endpoint().to_owned())
    }

    fn start(&self, endpoints: &[String]) -> Result<(), Error> {
        let packs = self.inbox.config().topology.num_packs();
        if endpoints.len() != packs as usize {
            return Err(Error::InvalidConfiguration {
                reason: format!("{} endpoints for {packs} packs", endpoints.len()),
            });
        }
        let mut peers = Vec::with_capacity(endpoints.len());
        for (pack, endpoint) in (0..).zip(endpoints) {
            let control = if pack == self.pack {
                None
            } else {
                Some(self.dial(pack, endpoint)?)
            };
            peers.push(PeerLink {
                endpoint: endpoint.clone(),
                control: Mutex::new(control),
                data: Pool::new(self.connections()),
            });
        }
        // A pack is started once; a second call keeps the first one's connections.
        let _ = self.peers.set(peers);
        self.listener.open_gate();
        Ok(())
    }

    fn send(
        &self,
        to: u32,
        frames: &[Frame<'_>],
        patience: &mut Patience<'_>,
    ) -> Result<(), Error> {
        let helpers = self.helpers(frames.len());
        if helpers == 0 {
            return frames
                .iter()
                .try_for_each(|frame| self.write(to, frame, patience));
        }
        let next = AtomicUsize::new(0);
        let run = |patience: &mut Patience<'_>| -> Result<(), Error> {
            while let Some(frame) = frames.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.write(to, frame, patience)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> = (0..helpers)
                .map(|_| {
                    let mut patience = patience.share();
                    scope.spawn(move || run(&mut patience))
                })
                .collect();
            let mut result = run(patience);
            for thread in threads {
                let other = thread
                    .join()
                    .unwrap_or_else(|_| Err(error(Some(to), "a sending thread panicked")));
                result = result.and(other);
            }
            result
        })
    }

    fn broadcast(
        &self,
        to: &[u32],
        frames: &[Frame<'_>],
        patience: &mut Patience<'_>,
    ) -> Result<(), Error> {
        to.iter()
            .try_for_each(|&pack| self.send(pack, frames, patience))
    }

    fn control(&self, to: u32, frame: &Frame<'_>) -> Result<(), Error> {
        let peer = self.peer(to)?;
        let since = Instant::now();
        let mut control = peer.control.lock();
        let Some(connection) = control.as_mut() else {
            return Err(error(Some(to), "the connection is closed"));
        };
        let result = connection.write(frame, || match since.elapsed() < CONTROL_TIMEOUT {
            true => Ok(()),
            false => Err(error(Some(to), "it does not read")),
        });
        result.map_err(|reason| {
            *control = None;
            match reason {
                connection::WriteError::GivenUp(reason) => reason,
                connection::WriteError::Broken(reason) => error(Some(to), reason),
            }
        })
    }

    fn help(&self, pack: u32) -> bool {
        self.listener.help(pack)
    }

    fn relieve(&self, pack: u32) {
        self.listener.relieve(pack);
    }

    fn sleeps(&self) -> bool {
        true
    }

    fn sleep(&self, packs: Range<u32>, bell: BorrowedFd<'_>, limit: Duration) -> bool {
        self.listener.sleep(packs, bell, limit)
    }

    fn close(&self) {
        let config = self.inbox.config();
        // A pack whose work is short must not be gone before others have dialled it: they would take it for dead.
        let since = Instant::now();
        while self.peers.get().is_some()
            && matches!(config.control.ended(), None | Some(Error::Closed))
            && since.elapsed() < MEETING_TIMEOUT
            && !self.listener.has_met_all()
        {
            thread::sleep(Duration::from_millis(1));
        }
        let goodbye = Frame {
            header: Header::notice(Kind::Goodbye, config.flare, config.pack, 0),
            payload: &[],
        };
        for peer in self.peers.get().into_iter().flatten() {
            for mut connection in peer.data.close() {
                // Whoever does not read any more needs no goodbye.
                let _ = connection.write(&goodbye, || Err(Error::Closed));
            }
            *peer.control.lock() = None;
        }
        self.listener.close();
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.listener.close();
    }
}
