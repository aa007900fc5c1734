//! What arrives from the other packs: the connections each of them has made, which waiting workers
//! may read.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use socket2::Socket;

use super::connection_reader::ConnectionReader;
use super::membership::Membership;
use super::reader_shared::ReaderShared;
use super::sleep;
use crate::local::ConnectionWait;
use crate::pack_id::PackId;
use crate::remote::inbox::Inbox;

/// How often the last busy connection is tried before another one is.
const TURN: usize = 8;
/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Peers {
    pub(super) membership: Arc<Membership>,
    states: Vec<Peer>,
}

#[derive(Debug, Default)]
struct Peer {
    connections: RwLock<Vec<Arc<ConnectionReader>>>,
    /// The connection on which something arrived last.
    busy: AtomicUsize,
    turn: AtomicUsize,
}

impl Peers {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        let packs = inbox.config().topology.num_packs();
        Self {
            membership: Arc::new(Membership::new(inbox)),
            states: (0..packs).map(|_| Peer::default()).collect(),
        }
    }

    /// The next flare begins, with all packs present: everything read from now on is for its inbox.
    pub(super) fn renew(&self, inbox: &Arc<Inbox>) {
        self.membership.renew(inbox);
        for peer in &self.states {
            for connection in &*peer.connections.read() {
                connection.renew(inbox);
            }
        }
    }

    fn of(&self, pack: PackId) -> Option<&Peer> {
        self.states.get(pack.index())
    }

    /// Adds a connection. From now on it is read by workers that wait for its pack, and by this
    /// pack's reading thread. The stream must be non-blocking.
    pub(super) fn add(
        &self,
        stream: Socket,
        (pack, number): (PackId, u64),
        reading: &Arc<ReaderShared>,
    ) -> Arc<ConnectionReader> {
        let mut connections = self.of(pack).map(|peer| peer.connections.write());
        // Created while nobody iterates over the connections, so that it is renewed with them.
        let connection = Arc::new(ConnectionReader::new(
            stream,
            (pack, number),
            Arc::clone(&self.membership),
            Arc::clone(reading),
        ));
        if let Some(connections) = &mut connections {
            connections.push(Arc::clone(&connection));
        }
        connection
    }

    /// Removes a connection that has ended.
    pub(super) fn forget(&self, connection: &Arc<ConnectionReader>) {
        if let Some(peer) = self.of(connection.pack()) {
            let mut connections = peer.connections.write();
            connections.retain(|other| !Arc::ptr_eq(other, connection));
        }
    }

    /// Reads whatever has arrived from a pack, for a waiting worker; `true` if something has.
    pub(super) fn progress(&self, pack: PackId) -> bool {
        let Some(peer) = self.of(pack) else {
            return false;
        };
        let connections = peer.connections.read();
        if connections.is_empty() {
            return false;
        }
        let busy = peer.busy.load(Ordering::Relaxed);
        if connections.get(busy).is_some_and(|it| it.progress()) {
            return true;
        }
        // The next message usually arrives where the last one did; the others are tried in turn.
        let turn = peer.turn.fetch_add(1, Ordering::Relaxed);
        if !turn.is_multiple_of(TURN) {
            return false;
        }
        let other = turn / TURN % connections.len();
        let found = other != busy && connections[other].progress();
        if found {
            peer.busy.store(other, Ordering::Relaxed);
        }
        found
    }

    /// A worker that read here goes to sleep elsewhere.
    pub(super) fn hand_back(&self, pack: PackId) {
        if let Some(peer) = self.of(pack) {
            peer.connections.read().iter().for_each(|it| it.hand_back());
        }
    }

    /// Lets a worker sleep and read what arrives from this pack (or from any) in the meantime.
    pub(super) fn sleep(&self, pack: Option<PackId>, wait: &ConnectionWait<'_>) {
        let peers = match pack {
            Some(pack) => self.of(pack).map_or(&[][..], slice::from_ref),
            None => &self.states,
        };
        let mut connections = Vec::new();
        for peer in peers {
            connections.extend(peer.connections.read().iter().map(Arc::clone));
        }
        sleep::sleep(&connections, wait);
    }
}
