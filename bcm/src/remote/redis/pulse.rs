//! How packs notice, through the server, that one of them is gone, or that the server has
//! forgotten what it was told.
//!
//! Each pack counts up a key of its own, `burst:<flare>:pulse:<pack>`, from when it joins. From
//! the flare's start, when all have, it looks at that of the next pack that has not said goodbye.
//! One that stands still for [`STILL`] is lost. A count below one's own means that the server has
//! lost what it held, messages too. An orderly pack leaves `left` in its key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::keys;
use super::resp::{Client, GoOn, Reply, RespError};
use super::threads::{End, Line, Task, Threads};
use super::writer::Writer;
use crate::config::PackConfig;
use crate::error::Error;
use crate::remote::inbox::Inbox;

/// Between two beats.
const PERIOD: Duration = Duration::from_millis(100);
/// How long a pulse may stand still. A pack that waits for it knows within a second.
const STILL: Duration = Duration::from_millis(650);
/// A beat that comes later than this says that machine, server or network are busy; then the
/// other pack may be as late, and gets its time anew.
const LATE: Duration = Duration::from_millis(250);

const LEFT: &[u8] = b"left";

/// A pack's signs of life, and its watch over another's.
#[derive(Debug)]
pub(super) struct Pulse {
    key: String,
    started: Arc<AtomicBool>,
}

impl Pulse {
    /// Gives the first sign, and more until the threads end.
    pub(super) fn begin(
        config: &PackConfig,
        writer: &Writer,
        threads: &Threads,
    ) -> Result<Self, Error> {
        let started = Arc::new(AtomicBool::new(false));
        let mut heart = Heart {
            prefix: keys::prefix(&config.flare_id),
            pack: config.pack,
            packs: config.topology.num_packs(),
            deadline: config.deadline,
            started: Arc::clone(&started),
            count: 0,
            watched: None,
            last: None,
        };
        let key = heart.key(heart.pack);
        writer.control(|client, go_on| heart.beat(client, go_on).map(|()| 0))?;
        threads.spawn(heart)?;
        Ok(Self { key, started })
    }

    /// All packs have joined: from now on they are missed.
    pub(super) fn start(&self) {
        self.started.store(true, Ordering::Release);
    }

    /// Says that the pack ends in good order.
    pub(super) fn leave(&self, writer: &Writer) -> Result<(), Error> {
        let expiry = writer.expiry();
        writer.control(|client, go_on| {
            client.command(&[&[b"SET"], &[self.key.as_bytes()], &[LEFT]], go_on)?;
            keys::expire(client, &self.key, expiry, go_on)?;
            Ok(2)
        })
    }
}

/// Beats and watches.
#[derive(Debug)]
struct Heart {
    prefix: String,
    pack: u32,
    packs: u32,
    deadline: Option<SystemTime>,
    started: Arc<AtomicBool>,
    /// What the server has confirmed.
    count: i64,
    watched: Option<Watched>,
    last: Option<Instant>,
}

/// The pack that is looked at.
#[derive(Debug)]
struct Watched {
    pack: u32,
    value: Vec<u8>,
    since: Instant,
}

impl Heart {
    /// The name of a pack's key.
    fn key(&self, pack: u32) -> String {
        format!("{}:pulse:{pack}", self.prefix)
    }

    fn beat(&mut self, client: &mut Client, go_on: GoOn<'_>) -> Result<(), RespError> {
        let own = self.key(self.pack);
        client.command(&[&[b"INCR"], &[own.as_bytes()]], go_on)?;
        keys::expire(client, &own, keys::expiry(self.deadline), go_on)?;
        let count = match client.reply(go_on)? {
            Reply::Integer(count) => count,
            Reply::Error(reason) => return Err(RespError::Refused(reason)),
            _ => return Err(RespError::Protocol),
        };
        client.expect(1, go_on)?;
        if count <= self.count {
            let reason = "it has lost the flare's messages; was it restarted or emptied?";
            return Err(RespError::Refused(reason.to_owned()));
        }
        self.count = count;
        Ok(())
    }

    /// Looks at the next pack; gives the one that is lost.
    fn watch(
        &mut self,
        client: &mut Client,
        inbox: &Inbox,
        go_on: GoOn<'_>,
    ) -> Result<Option<u32>, RespError> {
        let next = (1..self.packs)
            .map(|distance| (self.pack + distance) % self.packs)
            .find(|&pack| !inbox.has_left(pack));
        let Some(pack) = next else {
            return Ok(None);
        };
        let its = self.key(pack);
        client.command(&[&[b"GET"], &[its.as_bytes()]], go_on)?;
        let value = match client.reply(go_on)? {
            Reply::Bulk(value) => value,
            Reply::Nil => Vec::new(),
            Reply::Error(reason) => return Err(RespError::Refused(reason)),
            _ => return Err(RespError::Protocol),
        };
        if value == LEFT {
            // Its goodbye is on its way.
            return Ok(None);
        }
        let late = self.last.is_none_or(|last| last.elapsed() > LATE);
        let same = |seen: &Watched| seen.pack == pack && seen.value == value && !late;
        if let Some(seen) = self.watched.as_ref().filter(|seen| same(seen)) {
            return Ok((seen.since.elapsed() > STILL).then_some(pack));
        }
        let since = Instant::now();
        self.watched = Some(Watched { pack, value, since });
        Ok(None)
    }
}

impl Task for Heart {
    fn step(&mut self, line: &mut Line) -> Result<(), End> {
        if line.is_over() {
            // A pack that failed and could not say so is missed.
            line.pause(PERIOD);
            return Ok(());
        }
        {
            let (client, inbox, attention) = line.parts()?;
            let go_on: GoOn<'_> = &mut || attention.go_on();
            self.beat(client, go_on)?;
            let lost = match self.started.load(Ordering::Acquire) {
                true => self.watch(client, inbox, go_on)?,
                false => None,
            };
            self.last = Some(Instant::now());
            if let Some(pack) = lost {
                inbox.lost(pack, "it has given no sign of life through the server");
            }
        }
        line.pause(PERIOD);
        Ok(())
    }
}
