//! How packs learn that another one has failed or left, without each being connected to each.
//!
//! The packs form a star. In its middle is the last pack; every other one dials it at the start
//! and keeps that *line*. When a line ends before a goodbye was heard, its pack is suspected, and
//! lost unless somebody explains within [`EXPLANATION`] what has happened: a connection's end
//! says nothing of which worker ended the pack, and how; whoever supervises the pack does, to
//! another pack, which passes it on.
//!
//! News (a goodbye, a failure) goes to all lines, and whoever hears news for the first time
//! repeats it on all its other lines. So it takes two steps to everybody.
//!
//! A pack leaves by saying goodbye on its line and waits to hear that from the middle, which
//! then has told the others. The middle stays while the others are there, and some time longer
//! than they usually take to leave too; then it hangs up after its goodbye, and the last pack of
//! those that remain is the new middle, which the others dial. (The *last* pack, because a
//! process that holds several mostly closes them in order.)
//!
//! ```text
//! goodbye of 1 over 3:     1 ──Goodbye(1)──▶ 3 ──Goodbye(1)──▶ 0, 2, and 1 itself: it may go
//! 3 leaves before the others:   3 ──Goodbye(3)──▶ 0, 1, 2; hangs up;   0, 1 ──dial──▶ 2
//! ```

mod line;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;

use super::dialler::Dialler;
use super::handshake::Purpose;
use super::peers::Peers;
use super::{error, spawn};
use crate::error::Error;
use crate::local::Bell;
use crate::remote::Frame;
use crate::remote::inbox::Inbox;
use crate::wire::{Header, Kind};
use line::{Line, Notice};

/// How long the word of what became of a pack may take, when its connections have ended.
pub(super) const EXPLANATION: Duration = Duration::from_millis(600);
/// How long the middle stays for packs that have not dialled it yet.
const MEETING: Duration = Duration::from_secs(5);
/// How long it stays when all have, while they are at work.
const STAY: Duration = Duration::from_secs(1);
/// How long the middle waits for packs to dial it before it looks whether they are there, and
/// before it looks again.
const PROBE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));
/// How long the last words of a pack may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Watch {
    desk: Arc<Desk>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What others leave for the watch's thread.
#[derive(Debug)]
struct Desk {
    tray: Mutex<Tray>,
    bell: Bell,
    may_go: Condvar,
}

#[derive(Debug, Default)]
struct Tray {
    lines: Vec<(u32, Socket)>,
    failure: Option<Vec<u8>>,
    suspects: Vec<(u32, String)>,
    leaving: bool,
    closing: bool,
    /// The thread's answer to `leaving`.
    may_go: bool,
}

impl Watch {
    pub(super) fn start(
        inbox: Arc<Inbox>,
        peers: Arc<Peers>,
        dialler: Arc<Dialler>,
    ) -> Result<Self, Error> {
        let bell = Bell::new().map_err(|reason| error(None, format!("cannot watch: {reason}")))?;
        let desk = Arc::new(Desk {
            tray: Mutex::default(),
            bell,
            may_go: Condvar::new(),
        });
        let watcher = Watcher::new(inbox, peers, dialler, Arc::clone(&desk));
        let thread = spawn("bcm-watch", move || watcher.run())?;
        Ok(Self {
            desk,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Dials the middle of the star. The packs' endpoints are known.
    pub(super) fn join(&self, dialler: &Dialler, pack: u32, packs: u32) -> Result<(), Error> {
        let middle = packs - 1;
        if pack != middle {
            self.adopt(middle, dialler.dial(middle, Purpose::Watch)?);
        }
        self.desk.bell.ring();
        Ok(())
    }

    fn ask(&self, what: impl FnOnce(&mut Tray)) {
        what(&mut self.desk.tray.lock());
        self.desk.bell.ring();
    }

    /// A connection to a pack has passed the handshake.
    pub(super) fn adopt(&self, pack: u32, stream: Socket) {
        self.ask(|tray| tray.lines.push((pack, stream)));
    }

    /// Tells everybody of a failure. Only the first one goes round.
    pub(super) fn announce(&self, failure: &Frame<'_>) {
        self.ask(|tray| {
            tray.failure.get_or_insert_with(|| encode(failure));
        });
    }

    /// A connection from or to a pack does not work: it leaves, or is lost within
    /// [`EXPLANATION`].
    pub(super) fn suspect(&self, pack: u32, reason: String) {
        self.ask(|tray| tray.suspects.push((pack, reason)));
    }

    /// Says goodbye and waits until everyone is told, or can do without.
    pub(super) fn leave(&self) {
        self.ask(|tray| tray.leaving = true);
        let mut tray = self.desk.tray.lock();
        while !tray.may_go {
            self.desk.may_go.wait(&mut tray);
        }
    }

    /// Hangs up and ends the thread. Does nothing the second time.
    pub(super) fn close(&self) {
        self.ask(|tray| tray.closing = true);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

fn encode(frame: &Frame<'_>) -> Vec<u8> {
    [&frame.header.encode(), frame.payload].concat()
}

/// The watch's thread and what it alone knows.
struct Watcher {
    inbox: Arc<Inbox>,
    peers: Arc<Peers>,
    dialler: Arc<Dialler>,
    desk: Arc<Desk>,
    pack: u32,
    packs: u32,
    lines: Vec<Line>,
    /// Whose goodbye was heard.
    left: Vec<bool>,
    /// The failure that goes round.
    failure: Option<Vec<u8>>,
    suspects: BTreeMap<u32, Suspect>,
    /// When this pack said its goodbye.
    leaving: Option<Instant>,
    /// Its goodbye has come back to it.
    heeded: bool,
    /// When packs that did not dial are looked for.
    probe: Option<Instant>,
    closing: Option<Instant>,
}

struct Suspect {
    until: Instant,
    reason: String,
}

impl Watcher {
    fn new(inbox: Arc<Inbox>, peers: Arc<Peers>, dialler: Arc<Dialler>, desk: Arc<Desk>) -> Self {
        let pack = inbox.config().pack;
        let packs = inbox.config().topology.num_packs();
        Self {
            inbox,
            peers,
            dialler,
            desk,
            pack,
            packs,
            lines: Vec::new(),
            left: vec![false; packs as usize],
            failure: None,
            suspects: BTreeMap::new(),
            leaving: None,
            heeded: false,
            probe: None,
            closing: None,
        }
    }

    fn run(mut self) {
        loop {
            self.empty_tray();
            if self.closing.is_none() {
                self.keep_linked();
                self.judge();
            }
            self.lines.iter_mut().for_each(Line::flush);
            if let Some(since) = self.closing
                && (self.lines.iter().all(Line::is_flushed) || since.elapsed() >= LAST_WORDS)
            {
                return;
            }
            if self.may_go() {
                self.desk.tray.lock().may_go = true;
                self.desk.may_go.notify_all();
            }
            self.sleep();
            self.hear();
        }
    }

    /// Does what others ask for.
    fn empty_tray(&mut self) {
        let desk = Arc::clone(&self.desk);
        let mut tray = desk.tray.lock();
        let lines = std::mem::take(&mut tray.lines);
        let suspects = std::mem::take(&mut tray.suspects);
        let failure = tray.failure.take();
        let (leaves, closes) = (tray.leaving, tray.closing);
        drop(tray);
        for (pack, stream) in lines {
            match Line::new(pack, stream) {
                Ok(line) => self.greet(line),
                Err(reason) => self.suspect(pack, reason.to_string()),
            }
        }
        for (pack, reason) in suspects {
            self.suspect(pack, reason);
        }
        if self.failure.is_none()
            && let Some(failure) = failure
        {
            self.repeat(&failure, None);
            self.failure = Some(failure);
        }
        if leaves && self.leaving.is_none() {
            self.leaving = Some(Instant::now());
            self.repeat(&self.goodbye(self.pack), None);
        }
        if closes {
            self.closing.get_or_insert_with(Instant::now);
        }
    }

    /// A new line is told what was said before.
    fn greet(&mut self, mut line: Line) {
        let gone = (0..self.packs).filter(|&pack| self.has_left(pack));
        for pack in gone.chain(self.leaving.map(|_| self.pack)) {
            line.say(&self.goodbye(pack));
        }
        if let Some(failure) = &self.failure {
            line.say(failure);
        }
        self.lines.push(line);
    }

    fn goodbye(&self, pack: u32) -> Vec<u8> {
        let header = Header::notice(Kind::Goodbye, self.inbox.config().flare, pack, 0);
        header.encode().to_vec()
    }

    fn repeat(&mut self, news: &[u8], from: Option<u32>) {
        for line in &mut self.lines {
            if Some(line.pack) != from {
                line.say(news);
            }
        }
    }

    fn has_left(&self, pack: u32) -> bool {
        self.left.get(pack as usize).copied().unwrap_or(false)
    }

    fn has_line(&self, pack: u32) -> bool {
        self.lines.iter().any(|line| line.pack == pack)
    }

    fn suspect(&mut self, pack: u32, reason: String) {
        let until = Instant::now() + EXPLANATION;
        (self.suspects.entry(pack)).or_insert(Suspect { until, reason });
    }

    /// The packs that have not left, but for this one.
    fn others(&self) -> impl Iterator<Item = u32> {
        (0..self.packs).filter(|&pack| pack != self.pack && !self.has_left(pack))
    }

    /// The pack that is, or should be, in the middle: one that has left may still be.
    fn middle(&self) -> u32 {
        let linked = self.lines.iter().map(|line| line.pack).max();
        let last = self.others().max();
        linked.max(last).unwrap_or_default().max(self.pack)
    }

    /// A pack that has lost the middle in good order dials the next one, also when the flare has
    /// failed meanwhile: the others may not know. The new middle looks for those that do not
    /// dial.
    fn keep_linked(&mut self) {
        if !self.dialler.knows_endpoints() {
            return;
        }
        let middle = self.middle();
        if middle != self.pack {
            if self.has_line(middle) || self.suspects.contains_key(&middle) {
                return;
            }
            let dialled = self
                .dialler
                .dial(middle, Purpose::Watch)
                .and_then(|stream| {
                    Line::new(middle, stream)
                        .map_err(|reason| error(Some(middle), reason.to_string()))
                });
            match dialled {
                Ok(line) => self.greet(line),
                Err(reason) => self.suspect(middle, reason.to_string()),
            }
            return;
        }
        let missing: Vec<u32> = self.others().filter(|&pack| !self.has_line(pack)).collect();
        if missing.is_empty() || self.is_over() {
            self.probe = None;
            return;
        }
        let now = Instant::now();
        if now < *self.probe.get_or_insert(now + PROBE.0) {
            return;
        }
        for pack in missing {
            if let Err(reason) = self.dialler.probe(pack) {
                self.suspect(pack, reason.to_string());
            }
        }
        self.probe = Some(Instant::now() + PROBE.1);
    }

    /// The flare has failed, and everybody is told.
    fn is_over(&self) -> bool {
        self.failure.is_some() || self.inbox.is_aborted()
    }

    /// Suspects that nobody has explained are lost.
    fn judge(&mut self) {
        if self.suspects.is_empty() {
            return;
        }
        if self.is_over() {
            self.suspects.clear();
            return;
        }
        let (left, peers) = (&self.left, &self.peers);
        self.suspects.retain(|&pack, _| {
            let explained = left.get(pack as usize).copied().unwrap_or(true);
            !explained && !peers.has_said_goodbye(pack)
        });
        let now = Instant::now();
        let lost = self.suspects.iter().find(|(_, it)| it.until <= now);
        if let Some((&pack, suspect)) = lost {
            self.inbox.lost(pack, &suspect.reason);
            self.suspects.clear();
        }
    }

    /// Whether nobody needs this pack any more.
    fn may_go(&self) -> bool {
        let Some(since) = self.leaving else {
            return false;
        };
        let stayed = since.elapsed();
        if self.is_over() || !self.dialler.knows_endpoints() || stayed >= MEETING {
            return true;
        }
        if self.middle() != self.pack {
            return self.heeded;
        }
        match self.others().count() {
            0 => true,
            _ if self.others().any(|pack| !self.has_line(pack)) => false,
            1 => true,
            _ => stayed >= STAY,
        }
    }

    /// Until something is heard, something is asked for, or it is time for something.
    fn sleep(&mut self) {
        let now = Instant::now();
        let stay = self.leaving.map(|since| match since.elapsed() < STAY {
            true => since + STAY,
            false => since + MEETING,
        });
        let suspects = self.suspects.values().map(|suspect| suspect.until);
        let closed = self.closing.map(|since| since + LAST_WORDS);
        let next = suspects.chain(self.probe).chain(stay).chain(closed).min();
        let limit = next
            .map(|next| {
                next.saturating_duration_since(now)
                    .max(Duration::from_millis(1))
            })
            .and_then(|limit| Timespec::try_from(limit).ok());
        let mut watched = vec![PollFd::new(&self.desk.bell, PollFlags::IN)];
        for line in &self.lines {
            let flags = match line.is_flushed() {
                true => PollFlags::IN,
                false => PollFlags::IN | PollFlags::OUT,
            };
            watched.push(PollFd::new(line, flags));
        }
        // Interrupted or not, everybody is looked at.
        let _ = poll(&mut watched, limit.as_ref());
        self.desk.bell.silence();
    }

    fn hear(&mut self) {
        let mut at = 0;
        while let Some(line) = self.lines.get_mut(at) {
            let pack = line.pack;
            let (notices, ended) = line.hear(&self.inbox);
            for notice in notices {
                self.take(pack, &notice);
            }
            match ended {
                None => at += 1,
                Some(reason) => {
                    drop(self.lines.swap_remove(at));
                    if !self.has_left(pack) {
                        self.suspect(pack, reason);
                    }
                }
            }
        }
    }

    /// What is news goes on to all others. A goodbye goes back too, to the pack that said it.
    fn take(&mut self, from: u32, (header, payload): &Notice) {
        let frame = Frame {
            header: *header,
            payload,
        };
        match header.kind {
            Kind::Goodbye if header.pack == self.pack => self.heeded = true,
            Kind::Goodbye => {
                if !self.has_left(header.pack) {
                    if let Some(left) = self.left.get_mut(header.pack as usize) {
                        *left = true;
                    }
                    self.peers.said_goodbye(header.pack);
                    self.repeat(&encode(&frame), Some(from));
                }
                if header.pack == from {
                    let answer = encode(&frame);
                    let lines = self.lines.iter_mut();
                    (lines.filter(|line| line.pack == from)).for_each(|line| line.say(&answer));
                }
            }
            _ if self.failure.is_none() => {
                let failure = encode(&frame);
                self.repeat(&failure, Some(from));
                self.failure = Some(failure);
                self.inbox.notice(header, payload);
            }
            _ => {}
        }
    }
}
