//! The watch's thread: receives and repeats news, decides which packs are lost, and finds the
//! middle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Shared;
use super::flare::FlareState;
use super::line::{Line, Notice};
use crate::pack_id::PackId;
use crate::remote::Frame;
use crate::remote::direct::dialler::Dialler;
use crate::remote::direct::handshake::Purpose;
use crate::remote::direct::membership::Membership;
use crate::remote::inbox::Inbox;
use crate::wire::{Header, Kind};

/// How long the middle stays for packs that have not dialled it yet.
pub(super) const GRACE_PERIOD: Duration = Duration::from_secs(5);
/// The same for packs that can be reached: they are only slow, because they have no processor or
/// stood still.
pub(super) const LONGEST_GRACE_PERIOD: Duration = Duration::from_secs(60);
/// How long it stays when all have dialled, while they are still working.
const STAY: Duration = Duration::from_secs(1);
/// How long the middle waits for packs to dial it before it first probes for them, and between
/// probes.
const PROBE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));
/// How long writing a pack's last notices may take.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

fn encode(frame: &Frame<'_>) -> Vec<u8> {
    [&frame.header.encode(), frame.payload].concat()
}

/// The watch's thread and the state that only it has.
pub(super) struct Watcher {
    membership: Arc<Membership>,
    dialler: Arc<Dialler>,
    shared: Arc<Shared>,
    pack: PackId,
    packs: u32,
    lines: Vec<Line>,
    flare: FlareState,
    closing: Option<Instant>,
}

impl Watcher {
    pub(super) fn new(
        inbox: Arc<Inbox>,
        membership: Arc<Membership>,
        dialler: Arc<Dialler>,
        shared: Arc<Shared>,
    ) -> Self {
        let pack = inbox.config().pack;
        let packs = inbox.config().topology.num_packs();
        Self {
            membership,
            dialler,
            shared,
            pack,
            packs,
            lines: Vec::new(),
            flare: FlareState::new(inbox),
            closing: None,
        }
    }

    pub(super) fn run(mut self) {
        loop {
            self.handle_requests();
            if self.closing.is_none() {
                self.keep_linked();
                self.judge();
            }
            self.lines.iter_mut().for_each(Line::flush);
            if let Some(since) = self.closing
                && (self.lines.iter().all(Line::is_flushed) || since.elapsed() >= FLUSH_TIMEOUT)
            {
                return;
            }
            if self.may_go() {
                let mut pending = self.shared.pending.lock();
                // Unless the answer is about a flare that is over.
                pending.may_go = pending.renewed.is_none();
                self.shared.may_go.notify_all();
            }
            self.sleep();
            self.hear();
        }
    }

    /// Handles the requests of other threads.
    fn handle_requests(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut pending = shared.pending.lock();
        if let Some(inbox) = pending.renewed.take() {
            self.flare = FlareState::new(inbox);
        }
        let lines = std::mem::take(&mut pending.lines);
        let suspects = std::mem::take(&mut pending.suspects);
        let failure = pending.failure.take();
        let failure = failure.filter(|(header, _)| self.flare.inbox.is_of(header));
        let (leaves, closes) = (pending.leaving, pending.closing);
        self.flare.joined = pending.joined;
        drop(pending);
        for (pack, stream) in lines {
            // A pack that has a line needs no other.
            if self.has_line(pack) {
                continue;
            }
            match Line::new(pack, stream) {
                Ok(line) => self.greet(line),
                Err(reason) => self.flare.suspect(pack, reason),
            }
        }
        for (pack, reason) in suspects {
            self.flare.suspect(pack, reason);
        }
        // A failure that arrived on a connection for messages goes round as well.
        if self.flare.failure.is_none()
            && let Some((header, payload)) = failure.or_else(|| self.flare.inbox.failure())
        {
            let payload = &payload;
            let failure = encode(&Frame { header, payload });
            self.repeat(&failure, None);
            self.flare.failure = Some(failure);
        }
        if leaves && self.flare.leaving.is_none() {
            self.flare.leaving = Some(Instant::now());
            self.repeat(&self.goodbye(self.pack), None);
        }
        if closes {
            self.closing.get_or_insert_with(Instant::now);
        }
    }

    /// Adds a new line, after queueing on it everything that was announced before.
    fn greet(&mut self, mut line: Line) {
        // The failure first: a pack that receives only a goodbye would report that the pack has
        // simply ended.
        if let Some(failure) = &self.flare.failure {
            line.say(failure);
        }
        let gone = PackId::all(self.packs).filter(|&pack| self.flare.has_left(pack));
        for pack in gone.chain(self.flare.leaving.map(|_| self.pack)) {
            line.say(&self.goodbye(pack));
        }
        self.lines.push(line);
    }

    fn goodbye(&self, pack: PackId) -> Vec<u8> {
        let header = Header::notice(Kind::Goodbye, self.flare.inbox.config().flare, pack, 0);
        header.encode().to_vec()
    }

    fn repeat(&mut self, news: &[u8], from: Option<PackId>) {
        for line in &mut self.lines {
            if Some(line.pack) != from {
                line.say(news);
            }
        }
    }

    fn has_line(&self, pack: PackId) -> bool {
        self.lines.iter().any(|line| line.pack == pack)
    }

    /// The packs that have not left, except this one.
    fn others(&self) -> impl Iterator<Item = PackId> {
        PackId::all(self.packs).filter(|&pack| pack != self.pack && !self.flare.has_left(pack))
    }

    /// The pack that is, or should be, in the middle: possibly one that has left.
    fn middle(&self) -> PackId {
        let linked = self.lines.iter().map(|line| line.pack).max();
        let last = self.others().max();
        linked.max(last).unwrap_or_default().max(self.pack)
    }

    /// Keeps this pack linked. A pack whose middle has left in good order dials the next one, even
    /// if the flare has failed since then: the others may not know. The new middle looks for packs
    /// that do not dial.
    fn keep_linked(&mut self) {
        if !self.flare.joined {
            return;
        }
        let middle = self.middle();
        if middle != self.pack {
            if self.has_line(middle) || self.flare.suspects.contains_key(&middle) {
                return;
            }
            let dialled = self.dialler.dial(middle, Purpose::Watch);
            match dialled.and_then(|stream| Line::new(middle, stream)) {
                Ok(line) => self.greet(line),
                Err(reason) => self.flare.suspect(middle, reason),
            }
            return;
        }
        let missing: Vec<_> = self.others().filter(|&pack| !self.has_line(pack)).collect();
        if missing.is_empty() || self.flare.is_over() {
            self.flare.probe = None;
            self.flare.awaits_slow = false;
            return;
        }
        let now = Instant::now();
        if now < *self.flare.probe.get_or_insert(now + PROBE.0) {
            return;
        }
        self.flare.awaits_slow = true;
        for pack in missing {
            if let Err(reason) = self.dialler.probe(pack) {
                self.flare.suspect(pack, reason);
                self.flare.awaits_slow = false;
            }
        }
        self.flare.probe = Some(Instant::now() + PROBE.1);
    }

    /// Declares a suspect lost for which no explanation has arrived.
    fn judge(&mut self) {
        if self.flare.suspects.is_empty() {
            return;
        }
        if self.flare.is_over() {
            self.flare.suspects.clear();
            return;
        }
        let (left, membership) = (&self.flare.left, &self.membership);
        self.flare.suspects.retain(|&pack, _| {
            let explained = left.get(pack.index()).copied().unwrap_or(true);
            !explained && !membership.has_said_goodbye(pack)
        });
        let now = Instant::now();
        let lost = self.flare.suspects.iter().find(|(_, it)| it.until <= now);
        if let Some((&pack, suspect)) = lost {
            self.flare.inbox.lost(pack, &suspect.reason);
            self.flare.suspects.clear();
        }
    }

    /// Whether nobody needs this pack any more.
    fn may_go(&self) -> bool {
        let Some(since) = self.flare.leaving else {
            return false;
        };
        let stayed = since.elapsed();
        let longest = match self.flare.awaits_slow {
            true => LONGEST_GRACE_PERIOD,
            false => GRACE_PERIOD,
        };
        // The pack that acknowledged it was in the middle and has informed the others; even if it
        // has left since then, nobody will dial this pack.
        if self.flare.acknowledged
            || self.flare.is_over()
            || !self.flare.joined
            || stayed >= longest
        {
            return true;
        }
        if self.middle() != self.pack {
            return false;
        }
        match self.others().count() {
            0 => true,
            _ if self.others().any(|pack| !self.has_line(pack)) => false,
            1 => true,
            _ => stayed >= STAY,
        }
    }

    /// Sleeps until news arrives, a request is made, or a deadline has come.
    fn sleep(&mut self) {
        let now = Instant::now();
        // Once all these are over nothing depends on them: the pack has gone, or rests.
        let stay = self.flare.leaving.and_then(|since| {
            let turns = [STAY, GRACE_PERIOD, LONGEST_GRACE_PERIOD].map(|turn| since + turn);
            turns.into_iter().find(|turn| *turn > now)
        });
        let suspects = self.flare.suspects.values().map(|suspect| suspect.until);
        let closed = self.closing.map(|since| since + FLUSH_TIMEOUT);
        let next = suspects
            .chain(self.flare.probe)
            .chain(stay)
            .chain(closed)
            .min();
        let limit = next
            .map(|next| {
                next.saturating_duration_since(now)
                    .max(Duration::from_millis(1))
            })
            .and_then(|limit| Timespec::try_from(limit).ok());
        let mut watched = vec![PollFd::new(&self.shared.waker, PollFlags::IN)];
        for line in &self.lines {
            let flags = match line.is_flushed() {
                true => PollFlags::IN,
                false => PollFlags::IN | PollFlags::OUT,
            };
            watched.push(PollFd::new(line, flags));
        }
        // Even after an interruption, all lines are checked.
        let _ = poll(&mut watched, limit.as_ref());
        self.shared.waker.reset();
    }

    fn hear(&mut self) {
        let mut at = 0;
        while let Some(line) = self.lines.get_mut(at) {
            let pack = line.pack;
            let (notices, ended) = line.hear(self.packs);
            for notice in notices {
                self.take(pack, &notice);
            }
            match ended {
                None => at += 1,
                Some(reason) => {
                    drop(self.lines.swap_remove(at));
                    if !self.flare.has_left(pack) {
                        self.flare.suspect(pack, reason);
                    }
                }
            }
        }
    }

    /// Handles a notice. News goes on to all other lines, and a goodbye also back to the pack that
    /// said it. Notices of older flares are dropped; none of the next flare can arrive before its
    /// inbox is the watcher's.
    fn take(&mut self, from: PackId, (header, payload): &Notice) {
        if !self.flare.inbox.is_of(header) {
            self.handle_requests();
        }
        if !self.flare.inbox.is_of(header) {
            return;
        }
        let frame = Frame {
            header: *header,
            payload,
        };
        match header.kind {
            Kind::Goodbye if header.pack == self.pack => {
                self.flare.acknowledged |= self.middle() != self.pack;
            }
            Kind::Goodbye => {
                if !self.flare.has_left(header.pack) {
                    if let Some(left) = self.flare.left.get_mut(header.pack.index()) {
                        *left = true;
                    }
                    self.membership.said_goodbye(header);
                    self.repeat(&encode(&frame), Some(from));
                }
                if header.pack == from {
                    let answer = encode(&frame);
                    let lines = self.lines.iter_mut();
                    (lines.filter(|line| line.pack == from)).for_each(|line| line.say(&answer));
                }
            }
            _ if self.flare.failure.is_none() => {
                let failure = encode(&frame);
                self.repeat(&failure, Some(from));
                self.flare.failure = Some(failure);
                self.flare.inbox.notice(header, payload);
            }
            _ => {}
        }
    }
}
