//! How packs notice, through the server, that one of them is gone, or that the server has lost
//! data.
//!
//! From when it joins, each pack increments a key of its own, `burst:<flare>:heartbeat:<pack>`.
//! From the flare's start, when all packs have joined, it checks the key of the next pack that has
//! not said goodbye. A count that stands still means that the pack is gone, or waits for a
//! processor: its [connection](presence) tells which. A pack that is gone for [`GONE`] checks is
//! lost; so is one that stays connected and stands still for [`STILL`], as on a machine that has
//! vanished. A pack that ends in good order counts until it leaves `left` in its key: its goodbye
//! may take longer than that to reach the others. Checks are counted, and not time: a pack that is
//! itself late gives the other one more.
//!
//! A count that is not above the last one the server confirmed means that the server has lost its
//! latest data, including messages. If a pack can continue after its connections broke, it counts
//! behind each batch of messages ([`Count`]): a server that has come back, or the replica that took
//! its place, has everything that came before the count it has.

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

/// The time between two beats.
const PERIOD: Duration = Duration::from_millis(100);
/// The number of checks in a row that find a count unchanged and its pack disconnected until the
/// pack is lost. A pack that waits for it learns that within a second. For some time after this
/// pack's own connection broke, [`STILL`] checks are needed: the same cause may have cut the other
/// pack's connection, and that pack may be slower.
const GONE: u32 = 6;
/// The number of checks in a row that find a count unchanged until the pack is lost in any case:
/// six seconds, as long as a server may stay silent.
const STILL: u32 = 60;

const LEFT: &[u8] = b"left";
/// The most packs checked in a beat, while skipping those that have left.
const AT_ONCE: usize = 8;

/// A pack's heartbeat, and its watch over another pack's.
#[derive(Debug)]
pub(super) struct Heartbeat {
    pub(super) count: Arc<Count>,
    started: Arc<AtomicBool>,
}

/// The counter of a pack on the server.
#[derive(Debug)]
pub(super) struct Count {
    key: String,
    confirmed: AtomicI64,
    left: AtomicBool,
}

impl Count {
    /// The last confirmed count, which every command written from now on must exceed.
    pub(super) fn confirmed(&self) -> i64 {
        self.confirmed.load(Ordering::Acquire)
    }

    /// Increments the counter. One reply, for [`Count::confirm`].
    pub(super) fn up(&self, exchange: &mut Exchange<'_>) -> Result<(), RespError> {
        exchange.command(&[&[b"INCR"], &[self.key.as_bytes()]])
    }

    /// Reads the current count.
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

    /// Marks the counter as finished. Two replies.
    fn leave(&self, exchange: &mut Exchange<'_>, expiry: Duration) -> Result<(), RespError> {
        exchange.command(&[&[b"SET"], &[self.key.as_bytes()], &[LEFT]])?;
        keys::expire(exchange, &self.key, expiry)
    }
}

impl Heartbeat {
    /// Sends the first beat, and more until the threads end.
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
        let mut task = HeartbeatTask {
            flare_id: config.flare_id.clone(),
            pack: config.pack,
            packs: config.topology.num_packs(),
            deadline: config.deadline,
            started: Arc::clone(&started),
            count: Arc::clone(&count),
            watched: None,
            unsettled: 0,
        };
        writer.control(|exchange| task.beat(exchange).map(|()| 0))?;
        threads.spawn(task)?;
        Ok(Self { count, started })
    }

    /// All packs have joined: from now on a missing one is noticed.
    pub(super) fn start(&self) {
        self.started.store(true, Ordering::Release);
    }

    /// Records that the pack ends in good order, unless the thread that counted has done so. That
    /// thread must have ended.
    pub(super) fn leave(&self, writer: &Writer) -> Result<(), Error> {
        if self.count.left.load(Ordering::Acquire) {
            return Ok(());
        }
        let expiry = writer.expiry();
        writer.control(|exchange| self.count.leave(exchange, expiry).map(|()| 2))
    }
}

/// The task that beats and watches.
#[derive(Debug)]
struct HeartbeatTask {
    flare_id: String,
    pack: PackId,
    packs: u32,
    deadline: Option<SystemTime>,
    started: Arc<AtomicBool>,
    count: Arc<Count>,
    watched: Option<Watched>,
    /// The number of checks left in which the cause that broke this pack's connection may keep
    /// others away.
    unsettled: u32,
}

/// The pack that is being watched.
#[derive(Debug)]
struct Watched {
    pack: PackId,
    value: Vec<u8>,
    /// Checks in a row since the value changed.
    still: u32,
    /// Checks in a row at which the pack was not connected either.
    gone: u32,
}

/// The name of a pack's key.
fn key(flare_id: &str, pack: PackId) -> String {
    format!("{}:heartbeat:{pack}", keys::prefix(flare_id))
}

impl HeartbeatTask {
    fn beat(&mut self, exchange: &mut Exchange<'_>) -> Result<(), RespError> {
        let before = self.count.confirmed();
        self.count.up(exchange)?;
        keys::expire(exchange, &self.count.key, keys::expiry(self.deadline))?;
        self.count.confirm(before, exchange)?;
        exchange.expect(1)
    }

    /// The value of a pack's key; empty if it does not exist.
    fn value(&self, pack: PackId, exchange: &mut Exchange<'_>) -> Result<Vec<u8>, RespError> {
        let its = key(&self.flare_id, pack);
        match exchange.request(&[&[b"GET"], &[its.as_bytes()]])? {
            Reply::Bulk(value) => Ok(value),
            Reply::Nil => Ok(Vec::new()),
            _ => Err(RespError::Protocol),
        }
    }

    /// Checks the next pack; returns it if it is lost.
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
            // The pack has left: its goodbye is on its way.
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

impl Task for HeartbeatTask {
    /// Subscribes before the pack has joined, and so before anybody checks.
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
            // A pack that failed and could not announce it must be noticed.
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
        // Independent of the distance to the server; a late pack need not hurry.
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
            // A reply may still arrive on it.
            line.drop_connection();
        }
    }
}
