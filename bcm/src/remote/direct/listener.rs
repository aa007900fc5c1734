//! The listening end: accepts connections and lets packs of the flare in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};

use super::handshake::{self, Credentials};
use super::intake::{self, Intake};
use super::{GOODBYE_TIMEOUT, connection, error};
use crate::error::Error;
use crate::remote::inbox::Inbox;

/// Looks at the connection that was busy last for each look at another one.
const TURN: usize = 8;
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
    credentials: Credentials,
    inbox: Arc<Inbox>,
    closing: AtomicBool,
    /// Closed until this pack can answer what it reads.
    gate: Mutex<bool>,
    gate_opened: Condvar,
    strangers: AtomicUsize,
    connections: Mutex<Vec<(TcpStream, JoinHandle<()>)>>,
    peers: Vec<PeerState>,
}

#[derive(Debug, Default)]
struct PeerState {
    /// It has connected once, be it gone again.
    met: AtomicBool,
    connections: AtomicUsize,
    goodbye: AtomicBool,
    intakes: RwLock<Vec<Arc<Intake>>>,
    /// Which of them something came on last.
    busy: AtomicUsize,
    turn: AtomicUsize,
}

impl Listener {
    pub(super) fn bind(
        advertise: &str,
        credentials: Credentials,
        inbox: Arc<Inbox>,
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
        let packs = inbox.config().topology.num_packs();
        let shared = Arc::new(Shared {
            credentials,
            inbox,
            closing: AtomicBool::new(false),
            gate: Mutex::new(false),
            gate_opened: Condvar::new(),
            strangers: AtomicUsize::new(0),
            connections: Mutex::default(),
            peers: (0..packs).map(|_| PeerState::default()).collect(),
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

    /// This pack is connected to all others: what they sent is read from now on.
    pub(super) fn open_gate(&self) {
        *self.shared.gate.lock() = true;
        self.shared.gate_opened.notify_all();
    }

    /// Whether every other pack has connected once.
    pub(super) fn has_met_all(&self) -> bool {
        self.shared.has_met_all()
    }

    /// A waiting worker reads what has come from a pack; `true` when something has.
    pub(super) fn help(&self, pack: u32) -> bool {
        self.shared.help(pack)
    }

    /// The worker sleeps otherwise.
    pub(super) fn relieve(&self, pack: u32) {
        self.shared.relieve(pack);
    }

    /// A worker sleeps until something comes from one of these packs, the bell is readable or the
    /// time is up, and reads what came. `true` when the bell is readable.
    pub(super) fn sleep(&self, packs: Range<u32>, bell: BorrowedFd<'_>, limit: Duration) -> bool {
        let mut intakes = Vec::new();
        for peer in packs.filter_map(|pack| self.shared.peers.get(pack as usize)) {
            intakes.extend(peer.intakes.read().iter().map(Arc::clone));
        }
        intake::sleep(&intakes, &self.shared.inbox, bell, limit)
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

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|reason| error(None, format!("cannot start a thread: {reason}")))
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
            let (reading, shared) = (stream.try_clone(), Arc::clone(self));
            let Ok(reading) = reading else {
                self.strangers.fetch_sub(1, Ordering::AcqRel);
                continue;
            };
            match spawn("bcm-read", move || shared.serve(&reading)) {
                Ok(reader) => self.connections.lock().push((stream, reader)),
                Err(_) => {
                    self.strangers.fetch_sub(1, Ordering::AcqRel);
                }
            }
        }
    }

    /// One connection, from its handshake to its end.
    fn serve(&self, stream: &TcpStream) {
        let config = self.inbox.config();
        let packs = config.topology.num_packs();
        let met = handshake::receive(stream, &self.credentials, config.pack, packs);
        self.strangers.fetch_sub(1, Ordering::AcqRel);
        // A stranger is turned away without a word.
        if let Ok(guest) = met
            && let Some(peer) = self.peers.get(guest.pack as usize)
        {
            // Counted before the guest can send anything, so that its pack has not left while
            // one of its connections is still read.
            peer.connections.fetch_add(1, Ordering::AcqRel);
            peer.met.store(true, Ordering::Release);
            let welcomed = guest
                .welcome(stream)
                .and_then(|()| connection::prepare(stream));
            let ended = match welcomed {
                Ok(()) => {
                    self.wait_at_gate();
                    self.read(stream, peer, guest.pack)
                }
                Err(error) => Err(error.to_string()),
            };
            self.ended(guest.pack, ended);
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn wait_at_gate(&self) {
        let mut open = self.gate.lock();
        while !*open {
            self.gate_opened.wait(&mut open);
        }
    }

    /// Reads frames until the goodbye, together with workers that wait for them.
    fn read(&self, stream: &TcpStream, peer: &PeerState, pack: u32) -> Result<(), String> {
        let broke = |error: std::io::Error| format!("its connection broke: {error}");
        stream.set_nonblocking(true).map_err(broke)?;
        let intake = Arc::new(Intake::new(stream.try_clone().map_err(broke)?, pack));
        peer.intakes.write().push(Arc::clone(&intake));
        let ended = intake.read(&self.inbox);
        peer.intakes
            .write()
            .retain(|other| !Arc::ptr_eq(other, &intake));
        if ended.is_ok() {
            peer.goodbye.store(true, Ordering::Release);
        }
        ended
    }

    /// See [`Listener::help`].
    fn help(&self, pack: u32) -> bool {
        let Some(peer) = self.peers.get(pack as usize) else {
            return false;
        };
        let intakes = peer.intakes.read();
        if intakes.is_empty() {
            return false;
        }
        let busy = peer.busy.load(Ordering::Relaxed);
        if intakes.get(busy).is_some_and(|it| it.help(&self.inbox)) {
            return true;
        }
        // The next message mostly comes where the last one did; the others are tried in turn.
        let turn = peer.turn.fetch_add(1, Ordering::Relaxed);
        if !turn.is_multiple_of(TURN) {
            return false;
        }
        let other = turn / TURN % intakes.len();
        let found = other != busy && intakes[other].help(&self.inbox);
        if found {
            peer.busy.store(other, Ordering::Relaxed);
        }
        found
    }

    /// See [`Listener::has_met_all`].
    fn has_met_all(&self) -> bool {
        let own = self.inbox.config().pack as usize;
        let mut others = (0..).zip(&self.peers).filter(|(pack, _)| *pack != own);
        others.all(|(_, peer)| peer.met.load(Ordering::Acquire))
    }

    /// See [`Listener::relieve`].
    fn relieve(&self, pack: u32) {
        if let Some(peer) = self.peers.get(pack as usize) {
            peer.intakes.read().iter().for_each(|it| it.relieve());
        }
    }

    /// A pack has left when all its connections have ended and one of them said so.
    fn ended(&self, pack: u32, how: Result<(), String>) {
        let Some(peer) = self.peers.get(pack as usize) else {
            return;
        };
        let last = peer.connections.fetch_sub(1, Ordering::AcqRel) == 1;
        let goodbye = peer.goodbye.load(Ordering::Acquire);
        if goodbye && last {
            self.inbox.left(pack);
        }
        if let Err(reason) = how
            && !goodbye
            && !self.explained()
        {
            self.inbox.lost(pack, &reason);
        }
    }

    /// Whether the flare ends for a reason that says more than a lost connection; waits for it.
    fn explained(&self) -> bool {
        let control = &self.inbox.config().control;
        let since = Instant::now();
        loop {
            if self.closing.load(Ordering::Acquire) || control.ended().is_some() {
                return true;
            }
            if since.elapsed() >= GOODBYE_TIMEOUT {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}
