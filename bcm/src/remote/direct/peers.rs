//! What comes from the other packs: the connections each of them has made, which waiting workers
//! may read, and whether it has left.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::RwLock;
use socket2::Socket;

use super::attendance;
use super::intake::{self, Intake};
use crate::local::Sleeper;
use crate::remote::inbox::Inbox;

/// Looks at the connection that was busy last for each look at another one.
const TURN: usize = 8;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Peers {
    inbox: Arc<Inbox>,
    states: Vec<Peer>,
}

#[derive(Debug, Default)]
struct Peer {
    connections: AtomicUsize,
    goodbye: AtomicBool,
    intakes: RwLock<Vec<Arc<Intake>>>,
    /// Which of them something came on last.
    busy: AtomicUsize,
    turn: AtomicUsize,
}

impl Peers {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        let packs = inbox.config().topology.num_packs();
        Self {
            inbox,
            states: (0..packs).map(|_| Peer::default()).collect(),
        }
    }

    fn of(&self, pack: u32) -> Option<&Peer> {
        self.states.get(pack as usize)
    }

    /// A pack has connected. Said before it can send anything, so that it has not left while one
    /// of its connections is still read.
    pub(super) fn connected(&self, pack: u32) {
        if let Some(peer) = self.of(pack) {
            peer.connections.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Reads a connection to its end, together with workers that wait for what it brings.
    pub(super) fn read(&self, stream: &Socket, pack: u32) -> intake::End {
        let Some(peer) = self.of(pack) else {
            return Ok(());
        };
        let broke = |error: std::io::Error| format!("its connection broke: {error}");
        stream.set_nonblocking(true).map_err(broke)?;
        let intake = Arc::new(Intake::new(stream.try_clone().map_err(broke)?, pack));
        peer.intakes.write().push(Arc::clone(&intake));
        let ended = intake.read(&self.inbox);
        peer.intakes
            .write()
            .retain(|other| !Arc::ptr_eq(other, &intake));
        ended
    }

    /// A connection has ended, with or without a goodbye.
    pub(super) fn disconnected(&self, pack: u32, goodbye: bool) {
        if let Some(peer) = self.of(pack) {
            peer.goodbye.fetch_or(goodbye, Ordering::AcqRel);
            peer.connections.fetch_sub(1, Ordering::AcqRel);
            self.look_whether_left(pack, peer);
        }
    }

    /// A pack says, here or through another one, that it sends nothing more.
    pub(super) fn said_goodbye(&self, pack: u32) {
        if let Some(peer) = self.of(pack) {
            peer.goodbye.store(true, Ordering::Release);
            self.look_whether_left(pack, peer);
        }
    }

    pub(super) fn has_said_goodbye(&self, pack: u32) -> bool {
        self.of(pack)
            .is_some_and(|peer| peer.goodbye.load(Ordering::Acquire))
    }

    /// A pack has left when it has said so and all that it sent has been read.
    fn look_whether_left(&self, pack: u32, peer: &Peer) {
        if peer.goodbye.load(Ordering::Acquire) && peer.connections.load(Ordering::Acquire) == 0 {
            self.inbox.left(pack);
        }
    }

    /// A waiting worker reads what has come from a pack; `true` when something has.
    pub(super) fn help(&self, pack: u32) -> bool {
        let Some(peer) = self.of(pack) else {
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

    /// The worker sleeps otherwise.
    pub(super) fn relieve(&self, pack: u32) {
        if let Some(peer) = self.of(pack) {
            peer.intakes.read().iter().for_each(|it| it.relieve());
        }
    }

    /// A worker sleeps, and reads what comes from these packs meanwhile.
    pub(super) fn sleep(&self, packs: Range<u32>, sleeper: &Sleeper<'_>) {
        let mut intakes = Vec::new();
        for peer in packs.filter_map(|pack| self.of(pack)) {
            intakes.extend(peer.intakes.read().iter().map(Arc::clone));
        }
        attendance::sleep(&intakes, &self.inbox, sleeper);
    }
}
