//! What comes from the other packs: the connections each of them has made, which waiting workers
//! may read, and whether it has left the present flare.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};
use socket2::Socket;

use super::attendance;
use super::intake::Intake;
use super::links::CONNECTIONS;
use super::reader::Desk;
use crate::local::Sleeper;
use crate::remote::inbox::Inbox;
use crate::wire::Header;

/// Looks at the connection that was busy last for each look at another one.
const TURN: usize = 8;
/// Connections one pack may have here: those it needs, and as many that have just ended.
pub(super) const MOST: usize = 2 * (CONNECTIONS.1 + 1);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Peers {
    roll: Mutex<Roll>,
    states: Vec<Peer>,
}

/// Who is still in the present flare.
#[derive(Debug)]
struct Roll {
    inbox: Arc<Inbox>,
    packs: Vec<Presence>,
    /// How many connections there have been.
    connections: u64,
}

#[derive(Debug, Default)]
struct Presence {
    /// It has said that it sends nothing more.
    goodbye: bool,
    connections: Vec<Incoming>,
}

/// A connection that a pack has made.
#[derive(Debug)]
struct Incoming {
    number: u64,
    /// All that was sent on it in the present flare was read.
    finished: bool,
    /// Goodbyes of older flares that have not come yet.
    owed: u32,
}

impl Presence {
    /// A pack has left when it has said so and all that it sent has been read.
    fn has_left(&self) -> bool {
        self.goodbye && self.connections.iter().all(|it| it.finished)
    }
}

#[derive(Debug, Default)]
struct Peer {
    intakes: RwLock<Vec<Arc<Intake>>>,
    /// Which of them something came on last.
    busy: AtomicUsize,
    turn: AtomicUsize,
}

impl Peers {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        let packs = inbox.config().topology.num_packs();
        Self {
            roll: Mutex::new(Roll {
                inbox,
                packs: (0..packs).map(|_| Presence::default()).collect(),
                connections: 0,
            }),
            states: (0..packs).map(|_| Peer::default()).collect(),
        }
    }

    /// The next flare begins, with all packs present: what is read from now on is for its inbox.
    pub(super) fn renew(&self, inbox: &Arc<Inbox>) {
        {
            let mut roll = self.roll.lock();
            roll.inbox = Arc::clone(inbox);
            for presence in &mut roll.packs {
                presence.goodbye = false;
                for connection in &mut presence.connections {
                    connection.owed += u32::from(!connection.finished);
                    connection.finished = false;
                }
            }
        }
        for peer in &self.states {
            for intake in &*peer.intakes.read() {
                intake.renew(inbox);
            }
        }
    }

    fn of(&self, pack: u32) -> Option<&Peer> {
        self.states.get(pack as usize)
    }

    /// A pack has connected; the number of the connection, or `None` when it has more than it can
    /// need. Asked for before it can send anything, so that it has not left while one of its
    /// connections is still read.
    pub(super) fn connected(&self, pack: u32) -> Option<u64> {
        let mut roll = self.roll.lock();
        let number = roll.connections + 1;
        let presence = roll.packs.get_mut(pack as usize)?;
        if presence.connections.len() >= MOST {
            return None;
        }
        presence.connections.push(Incoming {
            number,
            finished: false,
            owed: 0,
        });
        roll.connections = number;
        Some(number)
    }

    /// What a pack sends on a connection is read from now on, by workers that wait for it and by
    /// the thread of this desk. The stream must not block.
    pub(super) fn admit(
        &self,
        stream: Socket,
        (pack, number): (u32, u64),
        reading: &Arc<Desk>,
    ) -> Arc<Intake> {
        let mut intakes = self.of(pack).map(|peer| peer.intakes.write());
        // Looked up while nobody goes through the intakes, so that it is renewed with them.
        let inbox = Arc::clone(&self.roll.lock().inbox);
        let intake = Arc::new(Intake::new(
            stream,
            (pack, number),
            inbox,
            Arc::clone(reading),
        ));
        if let Some(intakes) = &mut intakes {
            intakes.push(Arc::clone(&intake));
        }
        intake
    }

    /// A connection has come to its end.
    pub(super) fn forget(&self, intake: &Arc<Intake>) {
        if let Some(peer) = self.of(intake.pack()) {
            let mut intakes = peer.intakes.write();
            intakes.retain(|other| !Arc::ptr_eq(other, intake));
        }
    }

    /// All that a pack sent on a connection in the flare it names here was read.
    pub(super) fn finished(&self, goodbye: &Header, number: u64) {
        self.change(goodbye.pack, |inbox, presence| {
            let present = inbox.is_of(goodbye);
            presence.goodbye |= present;
            let mut connections = presence.connections.iter_mut();
            if let Some(connection) = connections.find(|it| it.number == number) {
                match present {
                    true => connection.finished = true,
                    false => connection.owed = connection.owed.saturating_sub(1),
                }
            }
        });
    }

    /// A connection has ended; whether that is no sign of a pack that is lost: all that was sent on
    /// it was read, or it was given up in an older flare, in the middle of what nobody needed any
    /// more.
    pub(super) fn disconnected(&self, pack: u32, number: u64) -> bool {
        let mut in_order = false;
        self.change(pack, |_, presence| {
            let ended = |it: &Incoming| it.number == number;
            let mut connections = presence.connections.iter();
            in_order = connections.any(|it| ended(it) && (it.finished || it.owed > 0));
            presence.connections.retain(|it| !ended(it));
        });
        in_order
    }

    /// A pack says, through another one, that it sends nothing more.
    pub(super) fn said_goodbye(&self, goodbye: &Header) {
        self.change(goodbye.pack, |inbox, presence| {
            presence.goodbye |= inbox.is_of(goodbye);
        });
    }

    pub(super) fn has_said_goodbye(&self, pack: u32) -> bool {
        let roll = self.roll.lock();
        let presence = roll.packs.get(pack as usize);
        presence.is_some_and(|presence| presence.goodbye)
    }

    /// Notes something about a pack, and tells when that means that it has left.
    fn change(&self, pack: u32, note: impl FnOnce(&Inbox, &mut Presence)) {
        let mut roll = self.roll.lock();
        let Roll { inbox, packs, .. } = &mut *roll;
        let Some(presence) = packs.get_mut(pack as usize) else {
            return;
        };
        note(inbox, presence);
        if presence.has_left() {
            let inbox = Arc::clone(inbox);
            drop(roll);
            inbox.left(pack);
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
        if intakes.get(busy).is_some_and(|it| it.help(self)) {
            return true;
        }
        // The next message mostly comes where the last one did; the others are tried in turn.
        let turn = peer.turn.fetch_add(1, Ordering::Relaxed);
        if !turn.is_multiple_of(TURN) {
            return false;
        }
        let other = turn / TURN % intakes.len();
        let found = other != busy && intakes[other].help(self);
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
        attendance::sleep(&intakes, self, sleeper);
    }
}
