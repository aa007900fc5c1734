//! How packs notice, through the server, that one of them is gone, or that the server has
//! forgotten what it was told.
//!
//! Each pack counts up a key of its own, `burst:<flare>:heartbeat:<pack>`, from when it joins. From
//! the flare's start, when all have, it looks at that of the next pack that has not said goodbye.
//! A count that stands still says that the pack is gone, or waits for a processor: which of the two,
//! its [connection](presence) tells. Gone for [`GONE`] looks is lost; so is one that has been
//! connected, and stood still, for [`STILL`], as a machine that has vanished. An orderly pack
//! counts until it leaves `left` in its key: its goodbye may take longer than that to reach the
//! others. Looks are counted, and not time: who is late itself gives the other one more.
//!
//! A count that is not above what the server has confirmed before means that it has lost what came
//! last, messages too. Where a pack goes on after its connections broke, it counts behind each
//! batch of messages ([`Count`]): a server that has come back, or the replica that took its place,
//! has all that came before what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::keys;
use super::presence;
use super::resp::{Exchange, Reply};
use super::resp_error::RespError;
use super::threads::{End, Line, Task, Threads};
use super::writer::Writer;
use crate::config::PackConfig;
use crate::error::Error;
use crate::pack_id::PackId;
use crate::remote::inbox::Inbox;

/// Between two beats.
const PERIOD: Duration = Duration::from_millis(100);
/// How often in a row a count is seen standing still, and nobody connected. A pack that waits for
/// it knows within a second. After the own connection broke it is [`STILL`], for as long: what cut
/// it may have cut the other's, who may be slower.
const GONE: u32 = 6;
/// How often in a row a count is seen standing still at all: for six seconds, as long as a server
/// may say nothing.
const STILL: u32 = 60;

const LEFT: &[u8] = b"left";
/// How many that have left are looked past in a beat.
const AT_ONCE: usize = 8;

/// A pack's signs of life, and its watch over another's.
#[derive(Debug)]
pub(super) struct Heartbeat {
    pub(super) count: Arc<Count>,
    started: Arc<AtomicBool>,
}

/// What a pack counts on the server.
#[derive(Debug)]
pub(super) struct Count {
    key: String,
    confirmed: AtomicI64,
    left: AtomicBool,
}

impl Count {
    /// What the count will have gone beyond, when commands yet to be written are carried out.
    pub(super) fn confirmed(&self) -> i64 {
        self.confirmed.load(Ordering::Acquire)
    }

    /// Counts. One reply, for [`Count::confirm`].
    pub(super) fn up(&self, exchange: &mut Exchange<'_>) -> Result<(), RespError> {
        exchange.command(&[&[b"INCR"], &[self.key.as_bytes()]])
    }

    /// Reads where the count is now.
    pub(super) fn confirm(
        &self,
        before: i64,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), RespError> {
        let Reply::Integer(count) = exchange.reply()? else {
            return Err(RespError::Protocol);
        };
        if count <= before {
            let reason =
                "it has lost the flare's messages; was it restarted, emptied or failed over?";
            return Err(RespError::Refused(reason.to_owned()));
        }
        self.confirmed.fetch_max(count, Ordering::AcqRel);
        Ok(())
    }

    /// Says that nobody counts any more. Two replies.
    fn leave(&self, exchange: &mut Exchange<'_>, expiry: Duration) -> Result<(), RespError> {
        exchange.command(&[&[b"SET"], &[self.key.as_bytes()], &[LEFT]])?;
        keys::expire(exchange, &self.key, expiry)
    }
}

impl Heartbeat {
    /// Gives the first sign, and more until the threads end.
    pub(super) fn begin(
        config: &PackConfig,
        writer: &Writer,
        threads: &Threads,
    ) -> Result<Self, Error> {
        let started = Arc::new(AtomicBool::new(false));
        let count = Arc::new(Count {
            key: key(&config.flare_id, config.pack),
            confirmed: AtomicI64::new(0),
            left: AtomicBool::new(false),
        });
        let mut beating = Beating {
            flare_id: config.flare_id.clone(),
            pack: config.pack,
            packs: config.topology.num_packs(),
            deadline: config.deadline,
            started: Arc::clone(&started),
            count: Arc::clone(&count),
            watched: None,
            unsettled: 0,
        };
        writer.control(|exchange| beating.beat(exchange).map(|()| 0))?;
        threads.spawn(beating)?;
        Ok(Self { count, started })
    }

    /// All packs have joined: from now on they are missed.
    pub(super) fn start(&self) {
        self.started.store(true, Ordering::Release);
    }

    /// Says that the pack ends in good order, unless the thread that counted has. It has ended.
    pub(super) fn leave(&self, writer: &Writer) -> Result<(), Error> {
        if self.count.left.load(Ordering::Acquire) {
            return Ok(());
        }
        let expiry = writer.expiry();
        writer.control(|exchange| self.count.leave(exchange, expiry).map(|()| 2))
    }
}

/// Beats and watches.
#[derive(Debug)]
struct Beating {
    flare_id: String,
    pack: PackId,
    packs: u32,
    deadline: Option<SystemTime>,
    started: Arc<AtomicBool>,
    count: Arc<Count>,
    watched: Option<Watched>,
    /// Looks that are left of the time in which what broke the own connection may keep others away.
    unsettled: u32,
}

/// The pack that is looked at.
#[derive(Debug)]
struct Watched {
    pack: PackId,
    value: Vec<u8>,
    /// Looks in a row since then.
    still: u32,
    /// Looks in a row at which it was not connected either.
    gone: u32,
}

/// The name of a pack's key.
fn key(flare_id: &str, pack: PackId) -> String {
    format!("{}:heartbeat:{pack}", keys::prefix(flare_id))
}

impl Beating {
    fn beat(&mut self, exchange: &mut Exchange<'_>) -> Result<(), RespError> {
        let before = self.count.confirmed();
        self.count.up(exchange)?;
        keys::expire(exchange, &self.count.key, keys::expiry(self.deadline))?;
        self.count.confirm(before, exchange)?;
        exchange.expect(1)
    }

    /// What a pack's key holds; nothing when it is not there.
    fn value(&self, pack: PackId, exchange: &mut Exchange<'_>) -> Result<Vec<u8>, RespError> {
        let its = key(&self.flare_id, pack);
        match exchange.request(&[&[b"GET"], &[its.as_bytes()]])? {
            Reply::Bulk(value) => Ok(value),
            Reply::Nil => Ok(Vec::new()),
            _ => Err(RespError::Protocol),
        }
    }

    /// Looks at the next pack; gives the one that is lost.
    fn watch(
        &mut self,
        exchange: &mut Exchange<'_>,
        inbox: &Inbox,
    ) -> Result<Option<PackId>, RespError> {
        self.unsettled = self.unsettled.saturating_sub(1);
        let others = self.pack.others(self.packs);
        let candidates = others.filter(|&pack| !inbox.has_left(pack));
        let mut found = None;
        for pack in candidates.take(AT_ONCE) {
            let value = self.value(pack, exchange)?;
            // The goodbye of one that has left is on its way.
            if value != LEFT {
                found = Some((pack, value));
                break;
            }
        }
        let Some((pack, value)) = found else {
            return Ok(None);
        };
        let same = |seen: &Watched| seen.pack == pack && seen.value == value;
        let Some(mut seen) = self.watched.take().filter(same) else {
            let (still, gone) = (0, 0);
            self.watched = Some(Watched {
                pack,
                value,
                still,
                gone,
            });
            return Ok(None);
        };
        let is_there = presence::is_listening(exchange, &presence::channel(&self.flare_id, pack))?;
        seen.still += 1;
        seen.gone = if is_there { 0 } else { seen.gone + 1 };
        let gone = if self.unsettled > 0 { STILL } else { GONE };
        let lost = seen.gone >= gone || seen.still >= STILL;
        self.watched = Some(seen);
        Ok(lost.then_some(pack))
    }
}

impl Task for Beating {
    /// It listens before the pack has joined, and so before anybody looks.
    fn prepare(&mut self, line: &mut Line) -> Result<(), RespError> {
        if self.started.load(Ordering::Acquire) {
            self.unsettled = STILL;
            self.watched = None;
        }
        let own = presence::channel(&self.flare_id, self.pack);
        line.exchange(|exchange, _| presence::begin(exchange, &own))
    }

    fn step(&mut self, line: &mut Line) -> Result<(), End> {
        let begun = Instant::now();
        if line.is_aborted() {
            // A pack that failed and could not say so is missed.
            let own = presence::channel(&self.flare_id, self.pack);
            line.exchange(|exchange, _| presence::end(exchange, &own))?;
            line.pause(PERIOD, true);
            return Ok(());
        }
        line.exchange(|exchange, inbox| {
            self.beat(exchange)?;
            let lost = match self.started.load(Ordering::Acquire) {
                true => self.watch(exchange, inbox)?,
                false => None,
            };
            if let Some(pack) = lost {
                inbox.lost(pack, "it has given no sign of life through the server");
            }
            Ok::<_, RespError>(())
        })?;
        // However far the server is; who was late is not in a hurry.
        line.pause(PERIOD.saturating_sub(begun.elapsed()).max(PERIOD / 2), true);
        Ok(())
    }

    fn is_last(&self) -> bool {
        true
    }

    fn finish(&mut self, line: &mut Line) {
        let expiry = keys::expiry(self.deadline);
        let said = line.exchange(|exchange, _| {
            self.count.leave(exchange, expiry)?;
            exchange.expect(2)
        });
        if said.is_ok() {
            self.count.left.store(true, Ordering::Release);
        }
        let own = presence::channel(&self.flare_id, self.pack);
        if said
            .and_then(|()| line.exchange(|exchange, _| presence::end(exchange, &own)))
            .is_err()
        {
            // A reply may still come on it.
            line.drop_connection();
        }
    }
}
