//! The listening end: accepts connections and lets packs of the flare in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::handshake::{self, Credentials, Guest, Purpose};
use super::peers::Peers;
use super::watch::Watch;
use super::{connection, error, spawn};
use crate::error::Error;

/// Connections that have not proved themselves yet; more are turned away.
const STRANGERS: usize = 256;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Listener {
    endpoint: String,
    wake: SocketAddr,
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
    /// Closed until this pack can answer what it reads.
    gate: Mutex<bool>,
    gate_opened: Condvar,
    strangers: AtomicUsize,
    connections: Mutex<Vec<(TcpStream, JoinHandle<()>)>>,
}

impl Listener {
    /// Listens as one of these packs.
    pub(super) fn bind(
        advertise: &str,
        (pack, packs): (u32, u32),
        credentials: Credentials,
        peers: Arc<Peers>,
        watch: Arc<Watch>,
    ) -> Result<Self, Error> {
        // The advertised address is often one of this machine; behind a name or an address
        // translation it is not.
        let listener = TcpListener::bind((advertise, 0))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)))
            .map_err(|reason| error(None, format!("cannot listen: {reason}")))?;
        let address = listener
            .local_addr()
            .map_err(|reason| error(None, format!("cannot listen: {reason}")))?;
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        let shared = Arc::new(Shared {
            pack,
            packs,
            credentials,
            peers,
            watch,
            closing: AtomicBool::new(false),
            gate: Mutex::new(false),
            gate_opened: Condvar::new(),
            strangers: AtomicUsize::new(0),
            connections: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        let acceptor = spawn("bcm-accept", move || accepting.accept(&listener))?;
        let host = match advertise.contains(':') {
            true => format!("[{advertise}]"),
            false => advertise.to_owned(),
        };
        Ok(Self {
            endpoint: format!("{host}:{}", address.port()),
            wake: SocketAddr::new(ip, address.port()),
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
        // `accept` cannot be interrupted, but it can be given a connection.
        let woken = TcpStream::connect_timeout(&self.wake, Duration::from_secs(1));
        if woken.is_ok() {
            let _ = acceptor.join();
        }
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
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.closing.load(Ordering::Acquire) {
                return;
            }
            let Ok((stream, _)) = accepted else {
                // Out of descriptors, mostly: others may be closed in the meantime.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            self.connections
                .lock()
                .retain(|(_, reader)| !reader.is_finished());
            if self.strangers.fetch_add(1, Ordering::AcqRel) >= STRANGERS {
                self.strangers.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let (serving, shared) = (stream.try_clone(), Arc::clone(self));
            let Ok(serving) = serving else {
                self.strangers.fetch_sub(1, Ordering::AcqRel);
                continue;
            };
            match spawn("bcm-read", move || shared.serve(serving)) {
                Ok(reader) => self.connections.lock().push((stream, reader)),
                Err(_) => {
                    self.strangers.fetch_sub(1, Ordering::AcqRel);
                }
            }
        }
    }

    /// One connection, from its handshake to its end.
    fn serve(&self, stream: TcpStream) {
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
    fn read(&self, stream: &TcpStream, guest: &Guest) {
        self.peers.connected(guest.pack);
        let welcomed = guest
            .welcome(stream)
            .and_then(|()| connection::prepare(stream));
        let ended = match welcomed {
            Ok(()) => {
                self.wait_at_gate();
                self.peers.read(stream, guest.pack)
            }
            Err(error) => Err(error.to_string()),
        };
        let _ = stream.shutdown(Shutdown::Both);
        self.peers.disconnected(guest.pack, ended.is_ok());
        if let Err(reason) = ended
            && !self.closing.load(Ordering::Acquire)
        {
            self.watch.suspect(guest.pack, reason);
        }
    }

    fn wait_at_gate(&self) {
        let mut open = self.gate.lock();
        while !*open {
            self.gate_opened.wait(&mut open);
        }
    }
}
