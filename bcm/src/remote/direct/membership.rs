//! Which packs are still in the current flare: a pack has left when it has said goodbye and
//! everything it sent on its connections has been read.

use std::sync::Arc;

use parking_lot::Mutex;

use super::connection::CONNECTIONS;
use crate::pack_id::PackId;
use crate::remote::inbox::Inbox;
use crate::wire::Header;

/// The most connections one pack may have here: those it needs, and as many that have just ended.
pub(super) const MOST: usize = 2 * (CONNECTIONS.1 + 1);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Membership {
    members: Mutex<Members>,
}

#[derive(Debug)]
struct Members {
    /// The current flare's.
    inbox: Arc<Inbox>,
    packs: Vec<Member>,
    /// The number of connections so far.
    connections: u64,
}

#[derive(Debug, Default)]
struct Member {
    /// Whether it has said that it sends nothing more.
    goodbye: bool,
    connections: Vec<Inbound>,
}

/// A connection that a pack has made.
#[derive(Debug)]
struct Inbound {
    number: u64,
    /// Whether everything sent on it in the current flare has been read.
    finished: bool,
    /// The number of goodbyes of older flares that have not arrived yet.
    owed: u32,
}

impl Member {
    /// Whether the pack has left: it has said goodbye, and everything it sent has been read.
    fn has_left(&self) -> bool {
        self.goodbye && self.connections.iter().all(|it| it.finished)
    }
}

impl Membership {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        let packs = inbox.config().topology.num_packs();
        Self {
            members: Mutex::new(Members {
                inbox,
                packs: (0..packs).map(|_| Member::default()).collect(),
                connections: 0,
            }),
        }
    }

    /// The next flare begins, with all packs present.
    pub(super) fn renew(&self, inbox: &Arc<Inbox>) {
        let mut members = self.members.lock();
        members.inbox = Arc::clone(inbox);
        for member in &mut members.packs {
            member.goodbye = false;
            for connection in &mut member.connections {
                connection.owed += u32::from(!connection.finished);
                connection.finished = false;
            }
        }
    }

    /// The current flare's inbox.
    pub(super) fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.members.lock().inbox)
    }

    /// Registers a connection of a pack. Returns its number, or `None` if the pack has more than it
    /// can need. Called before the pack can send anything, so that it does not count as departed
    /// while one of its connections is still being read.
    pub(super) fn connected(&self, pack: PackId) -> Option<u64> {
        let mut members = self.members.lock();
        let number = members.connections + 1;
        let member = members.packs.get_mut(pack.index())?;
        if member.connections.len() >= MOST {
            return None;
        }
        member.connections.push(Inbound {
            number,
            finished: false,
            owed: 0,
        });
        members.connections = number;
        Some(number)
    }

    /// Records that everything a pack sent on a connection, in the flare named by this goodbye, has
    /// been read.
    pub(super) fn finished(&self, goodbye: &Header, number: u64) {
        self.change(goodbye.pack, |inbox, member| {
            let present = inbox.is_of(goodbye);
            member.goodbye |= present;
            let mut connections = member.connections.iter_mut();
            if let Some(connection) = connections.find(|it| it.number == number) {
                match present {
                    true => connection.finished = true,
                    false => connection.owed = connection.owed.saturating_sub(1),
                }
            }
        });
    }

    /// Removes a connection that has ended. Returns whether its end does not indicate a lost pack:
    /// everything sent on it was read; or it was given up in an older flare, in the middle of data
    /// that nobody needed any more; or it ended before it was `used`, because the dialling pack had
    /// waited too long and dials again.
    pub(super) fn disconnected(&self, pack: PackId, number: u64, used: bool) -> bool {
        let mut in_order = false;
        self.change(pack, |_, member| {
            let ended = |it: &Inbound| it.number == number;
            let mut connections = member.connections.iter();
            in_order = connections.any(|it| ended(it) && (!used || it.finished || it.owed > 0));
            member.connections.retain(|it| !ended(it));
        });
        in_order
    }

    /// Removes a connection that ended before anybody read from it.
    pub(super) fn forget(&self, pack: PackId, number: u64) {
        self.change(pack, |_, member| {
            member.connections.retain(|it| it.number != number);
        });
    }

    /// Records a goodbye of a pack that another one passed on.
    pub(super) fn said_goodbye(&self, goodbye: &Header) {
        self.change(goodbye.pack, |inbox, member| {
            member.goodbye |= inbox.is_of(goodbye);
        });
    }

    pub(super) fn has_said_goodbye(&self, pack: PackId) -> bool {
        let members = self.members.lock();
        let member = members.packs.get(pack.index());
        member.is_some_and(|member| member.goodbye)
    }

    /// Changes the state of a pack, and notifies the inbox if that means that the pack has left.
    fn change(&self, pack: PackId, note: impl FnOnce(&Inbox, &mut Member)) {
        let mut members = self.members.lock();
        let Members { inbox, packs, .. } = &mut *members;
        let Some(member) = packs.get_mut(pack.index()) else {
            return;
        };
        note(inbox, member);
        if member.has_left() {
            let inbox = Arc::clone(inbox);
            drop(members);
            inbox.left(pack);
        }
    }
}
