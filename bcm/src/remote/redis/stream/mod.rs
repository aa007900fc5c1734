//! `redis-stream`: packs communicate through streams of a Redis, Valkey or DragonflyDB server.
//!
//! | key | holds |
//! | --- | --- |
//! | `burst:<flare>:lane:<p>:<l>` | stream of frames for pack `p`; chunks take turns between lanes |
//! | `burst:<flare>:control:<p>` | stream of control frames for pack `p`, which overtake the above |
//! | `burst:<flare>:cast` | stream of chunks that every pack reads |
//! | `burst:<flare>:cast:<source>:<context>:<sequence>:<chunk>` | the packs that have read one |
//! | `burst:<flare>:heartbeat:<p>` | the heartbeat of pack `p` |
//!
//! A chunk is one entry with one field. A one-to-one message costs an `XADD` per chunk, one
//! `EXPIRE`, one `INCR` ([`heartbeat`](super::heartbeat)), and the reader's `XREAD` and `XDEL`,
//! each of which serves several waiting entries. A message for all other packs is one entry per
//! chunk in the common stream, which each of them reads and records as read; the last one deletes
//! it: an `XADD` for each chunk, and `XREAD`, `SADD`, `EXPIRE` and `SCARD` by each reader. A
//! message for only some of the packs is sent to each of them.
//!
//! Reading an entry does not remove it, so a reader whose connection breaks continues after the
//! last entry it has finished: nothing is lost, and duplicates are dropped. All commands name a
//! single key. Every key expires some time after the flare's deadline, and [`clean`] deletes what
//! is left.

mod commands;
mod reader;

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use super::BATCH;
use super::keys::{Keys, expire};
use super::layout::{self, Layout};
use super::resp::Exchange;
use super::resp_error::RespError;
use super::session::Session;
use crate::cancellation::WaitBudget;
use crate::config::PackConfig;
use crate::error::{Error, Peer};
use crate::pack_id::PackId;
use crate::remote::inbox::Inbox;
use crate::remote::kind::BackendKind;
use crate::remote::{Backend, Frame};
use crate::wire::Kind;
use reader::Reader;

pub(in crate::remote) const KIND: BackendKind = layout::kind::<Streams>();

/// The streams of a pack, each with a thread that reads it: one waits while the other one reads.
const LANES: u32 = 2;
/// One-to-many chunks up to this size are cheaper to send to each pack than to have each record
/// them as read.
const INLINE: usize = 4 << 10;

/// See the module's documentation.
#[derive(Debug)]
struct Streams {
    keys: Keys,
    pack: PackId,
    packs: u32,
}

pub(in crate::remote) fn open(
    config: &PackConfig,
    inbox: Arc<Inbox>,
) -> Result<Arc<dyn Backend>, Error> {
    layout::open::<Streams>(config, inbox)
}

impl Streams {
    /// The stream a chunk goes to. One worker's small messages stay in one stream, large ones use
    /// all.
    fn lane(&self, to: PackId, frame: &Frame<'_>) -> String {
        let lane = frame.header.source.wrapping_add(frame.header.chunk) % LANES;
        self.keys.lane(to, lane)
    }
}

impl Layout for Streams {
    const NAME: &'static str = "redis-stream";
    type Reader = Reader;

    fn new(config: &PackConfig) -> Self {
        Self {
            keys: Keys::new(&config.flare_id),
            pack: config.pack,
            packs: config.topology.num_packs(),
        }
    }

    /// Two packs do not need the common stream.
    fn read(&self) -> Vec<String> {
        let mut streams = self.own();
        streams.extend((self.packs > 2).then(|| self.keys.cast()));
        streams
    }

    fn reader(&self, stream: String, config: &PackConfig) -> Reader {
        Reader::new(&self.keys, config, stream)
    }

    fn own(&self) -> Vec<String> {
        let lanes = (0..LANES).map(|lane| self.keys.lane(self.pack, lane));
        let control = self.keys.control(self.pack);
        iter::once(control).chain(lanes).collect()
    }

    fn control(&self, to: PackId, frame: &Frame<'_>) -> String {
        match frame.header.kind {
            // It must not overtake the last messages.
            Kind::Goodbye => self.lane(to, frame),
            _ => self.keys.control(to),
        }
    }

    fn add(
        exchange: &mut Exchange<'_>,
        stream: &str,
        frame: &Frame<'_>,
        expiry: Duration,
    ) -> Result<(), RespError> {
        commands::add(exchange, stream, frame)?;
        expire(exchange, stream, expiry)
    }

    fn send(
        &self,
        session: &Session,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let for_all = to.len() > 1 && to.len() as u32 == self.packs - 1;
        let small = matches!(frames, [frame] if frame.payload.len() <= INLINE);
        let cast = (for_all && !small).then(|| self.keys.cast());
        let stream = |pack: PackId, frame: &Frame<'_>| match &cast {
            Some(cast) => Cow::Borrowed(cast.as_str()),
            None => Cow::Owned(self.lane(pack, frame)),
        };
        // With a common stream, one pack stands for all.
        let (peer, to, lanes) = match (&cast, to) {
            (None, [pack, ..]) => (Peer::Pack(*pack), to, LANES as usize),
            _ => (Peer::AnyWorker, to.get(..1).unwrap_or_default(), 1),
        };
        let (count, expiry) = (session.count(), session.writer.expiry());
        Frame::batches(frames, BATCH).try_for_each(|batch| {
            let mut touched = Vec::new();
            for frame in batch.iter().take(lanes) {
                touched.extend(to.iter().map(|&pack| stream(pack, frame)));
            }
            session.writer.run(peer, budget, |exchange| {
                let before = count.confirmed();
                for frame in batch {
                    let frame = frame.sealed();
                    for &pack in to {
                        commands::add(exchange, &stream(pack, &frame), &frame)?;
                    }
                }
                for stream in &touched {
                    expire(exchange, stream, expiry)?;
                }
                count.up(exchange)?;
                exchange.expect(batch.len() * to.len() + touched.len())?;
                count.confirm(before, exchange).map(|()| 0)
            })
        })
    }
}
