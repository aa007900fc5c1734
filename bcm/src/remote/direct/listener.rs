//! The listening end: accepts connections and lets packs of the flare in.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, poll};
use socket2::Socket;

use super::handshake::{self, Credentials, Guest, Purpose};
use super::peers::Peers;
use super::watch::Watch;
use super::{error, socket, spawn};
use crate::error::Error;
use crate::local::Bell;

/// Connections that have not proved themselves yet; more are turned away.
const STRANGERS: usize = 256;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Listener {
    endpoint: String,
    shared: Arc<Shared>,
    acceptor: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    pack: u32,
    packs: u32,
    credentials: Credentials,
    peers: Arc<Peers>,
    watch: Arc<Watch>,
    closing: AtomicBool,
    /// Wakes the accepting thread.
    bell: Bell,
    /// Closed until this pack can answer what it reads.
    gate: Mutex<bool>,
    gate_opened: Condvar,
    strangers: AtomicUsize,
    connections: Mutex<Vec<(Socket, JoinHandle<()>)>>,
}

impl Listener {
    /// Listens as one of these packs; `locally` also in the shorter way of this machine.
    pub(super) fn bind(
        (advertise, locally): (&str, bool),
        (pack, packs): (u32, u32),
        credentials: Credentials,
        peers: Arc<Peers>,
        watch: Arc<Watch>,
    ) -> Result<Self, Error> {
        let wrap = |reason: std::io::Error| error(None, format!("cannot listen: {reason}"));
        let (socket, port) = socket::listen(advertise).map_err(wrap)?;
        let endpoint = match advertise.contains(':') {
            true => format!("[{advertise}]:{port}"),
            false => format!("{advertise}:{port}"),
        };
        let mut sockets = vec![socket];
        if locally {
            // Without it packs of this machine come as all others do.
            sockets.extend(socket::listen_locally(&credentials, &endpoint).ok());
        }
        let shared = Arc::new(Shared {
            pack,
            packs,
            credentials,
            peers,
            watch,
            closing: AtomicBool::new(false),
            bell: Bell::new().map_err(wrap)?,
            gate: Mutex::new(false),
            gate_opened: Condvar::new(),
            strangers: AtomicUsize::new(0),
            connections: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        let acceptor = spawn("bcm-accept", move || accepting.accept_all(&sockets))?;
        Ok(Self {
            endpoint,
            shared,
            acceptor: Mutex::new(Some(acceptor)),
        })
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// This pack knows where the others are: what they send is read from now on.
    pub(super) fn open_gate(&self) {
        *self.shared.gate.lock() = true;
        self.shared.gate_opened.notify_all();
    }

    /// Ends all connections and threads. Does nothing the second time.
    pub(super) fn close(&self) {
        self.shared.closing.store(true, Ordering::Release);
        self.open_gate();
        let Some(acceptor) = self.acceptor.lock().take() else {
            return;
        };
        self.shared.bell.ring();
        let _ = acceptor.join();
        let connections = std::mem::take(&mut *self.shared.connections.lock());
        for (stream, _) in &connections {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for (_, reader) in connections {
            let _ = reader.join();
        }
    }
}

impl Shared {
    fn accept_all(self: &Arc<Self>, listening: &[Socket]) {
        while !self.closing.load(Ordering::Acquire) {
            let mut watched = vec![PollFd::new(&self.bell, PollFlags::IN)];
            watched.extend(
                listening
                    .iter()
                    .map(|socket| PollFd::new(socket, PollFlags::IN)),
            );
            // Interrupted or not, everybody is looked at.
            let _ = poll(&mut watched, None);
            for socket in listening {
                match socket.accept() {
                    Ok((stream, _)) => self.receive(stream),
                    Err(reason) if reason.kind() == ErrorKind::WouldBlock => {}
                    // Out of descriptors, mostly: others may be closed in the meantime.
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        }
    }

    /// Gives a connection to a thread of its own.
    fn receive(self: &Arc<Self>, stream: Socket) {
        self.connections
            .lock()
            .retain(|(_, reader)| !reader.is_finished());
        if self.strangers.fetch_add(1, Ordering::AcqRel) >= STRANGERS {
            self.strangers.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let shared = Arc::clone(self);
        let served = stream
            .try_clone()
            .map_err(|reason| error(None, reason))
            .and_then(|serving| spawn("bcm-read", move || shared.serve(serving)));
        match served {
            Ok(reader) => self.connections.lock().push((stream, reader)),
            Err(_) => {
                self.strangers.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// One connection, from its handshake to its end.
    fn serve(&self, stream: Socket) {
        let met = handshake::receive(&stream, &self.credentials, self.pack, self.packs);
        self.strangers.fetch_sub(1, Ordering::AcqRel);
        // A stranger is turned away without a word.
        match met {
            Ok(guest) if guest.purpose == Purpose::Watch => {
                if guest.welcome(&stream).is_ok() {
                    self.watch.adopt(guest.pack, stream);
                }
            }
            Ok(guest) => self.read(&stream, &guest),
            Err(_) => {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Reads what a pack sends; that it broke off is for the watch to judge.
    fn read(&self, stream: &Socket, guest: &Guest) {
        let number = self.peers.connected(guest.pack);
        let welcomed = guest.welcome(stream).and_then(|()| socket::prepare(stream));
        let ended = match welcomed {
            Ok(()) => {
                self.wait_at_gate();
                self.peers.read(stream, guest.pack, number)
            }
            Err(error) => error.to_string(),
        };
        let _ = stream.shutdown(Shutdown::Both);
        let in_order = self.peers.disconnected(guest.pack, number);
        if !in_order && !self.closing.load(Ordering::Acquire) {
            self.watch.suspect(guest.pack, ended);
        }
    }

    fn wait_at_gate(&self) {
        let mut open = self.gate.lock();
        while !*open {
            self.gate_opened.wait(&mut open);
        }
    }
}
