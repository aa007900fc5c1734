//! `redis-stream`: packs talk through streams of a Redis, Valkey or DragonflyDB server.
//!
//! | key | holds |
//! | --- | --- |
//! | `burst:<flare>:lane:<p>:<l>` | stream of frames for pack `p`; chunks take turns between lanes |
//! | `burst:<flare>:control:<p>` | stream of control frames for pack `p`, which overtake the above |
//! | `burst:<flare>:cast` | stream of chunks every pack reads |
//! | `burst:<flare>:cast:<source>:<context>:<sequence>:<chunk>` | the packs that have read one |
//! | `burst:<flare>:heartbeat:<p>` | signs of life of pack `p` |
//!
//! A chunk is one entry with one field. A one-to-one message costs an `XADD` per chunk, one
//! `EXPIRE`, one `INCR` ([`heartbeat`](super::heartbeat)), and the reader's `XREAD` and `XDEL`, of which one serves all entries that wait. A
//! message for all other packs is one entry in the common stream, which each of them reads and
//! notes; the last one deletes it: an `XADD` for each chunk, `XREAD`, `SADD`, `EXPIRE` and `SCARD`
//! by each reader. One for some of the packs only goes to each of them.
//!
//! Reading an entry does not take it away, so a reader whose connection breaks goes on behind the
//! last entry it has finished: nothing is lost, and what comes twice is dropped. All commands
//! name a single key. Every key expires some time after the flare's deadline, and [`clean`]
//! deletes what is left.

mod commands;
mod reader;

use std::iter;
use std::sync::Arc;

use super::connections::Connections;
use super::keys::expire;
use super::server::Server;
use super::session::Session;
use super::{LARGEST, admission, batches, server};
use crate::cancellation::WaitBudget;
use crate::config::PackConfig;
use crate::error::{Error, Peer};
use crate::remote::inbox::Inbox;
use crate::remote::kind::BackendKind;
use crate::remote::{Backend, Frame};
use crate::wire::Kind;
use commands::Keys;
use reader::Reader;

const NAME: &str = "redis-stream";

pub(in crate::remote) const KIND: BackendKind = BackendKind {
    admit: |flare, config| admission::admit(NAME, flare, config),
    clean: |flare_id, config| admission::clean(NAME, flare_id, config),
    servers: |config| server::addresses(NAME, config),
    ..BackendKind::new(NAME)
};

/// Streams of a pack, each with a thread that reads it: one waits while the other reads.
const LANES: u32 = 2;
/// One-to-many chunks up to this size are cheaper sent to each than noted by each.
const INLINE: usize = 4 << 10;

/// See the module's documentation.
#[derive(Debug)]
struct RedisStream {
    keys: Keys,
    pack: u32,
    packs: u32,
    session: Session,
}

pub(in crate::remote) fn open(
    config: &PackConfig,
    inbox: Arc<Inbox>,
) -> Result<Arc<dyn Backend>, Error> {
    let server = Server::new(NAME, &config.backend)?;
    RedisStream::over(Arc::new(Connections::open(server)?), config, inbox)
}

impl RedisStream {
    fn over(
        connections: Arc<Connections>,
        config: &PackConfig,
        inbox: Arc<Inbox>,
    ) -> Result<Arc<dyn Backend>, Error> {
        let keys = Keys::new(&config.flare_id);
        let (pack, packs) = (config.pack, config.topology.num_packs());
        let streams = own(&keys, pack).chain(common(&keys, packs));
        let readers = streams.map(|stream| Reader::new(&keys, config, stream));
        let session = Session::begin(connections, config, inbox, readers)?;
        Ok(Arc::new(Self {
            keys,
            pack,
            packs,
            session,
        }))
    }

    /// The stream a chunk goes to. Small messages of one worker keep to one, large ones use all.
    fn lane(&self, to: u32, frame: &Frame<'_>) -> String {
        let lane = frame.header.source.wrapping_add(frame.header.chunk) % LANES;
        self.keys.lane(to, lane)
    }

    /// The streams of packs which frames were added to.
    fn touched(&self, to: &[u32], frames: &[Frame<'_>]) -> Vec<String> {
        let first = frames.iter().take(LANES as usize);
        first
            .flat_map(|frame| to.iter().map(|&pack| self.lane(pack, frame)))
            .collect()
    }

    /// Adds frames to the lanes of all of these packs.
    fn send_each(
        &self,
        to: &[u32],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let expiry = self.session.writer.expiry();
        let peer = to.first().map_or(Peer::AnyWorker, |&pack| Peer::Pack(pack));
        batches(frames).try_for_each(|batch| {
            let (touched, count) = (self.touched(to, batch), self.session.count());
            self.session.writer.run(peer, budget, |client, go_on| {
                let before = count.confirmed();
                for frame in batch {
                    let frame = frame.sealed();
                    for &pack in to {
                        commands::add(client, &self.lane(pack, &frame), &frame, go_on)?;
                    }
                }
                for stream in &touched {
                    expire(client, stream, expiry, go_on)?;
                }
                count.up(client, go_on)?;
                client.expect(batch.len() * to.len() + touched.len(), go_on)?;
                count.confirm(before, client, go_on).map(|()| 0)
            })
        })
    }
}

/// The streams that only this pack reads, each with a thread of its own.
fn own(keys: &Keys, pack: u32) -> impl Iterator<Item = String> {
    let lanes = (0..LANES).map(move |lane| keys.lane(pack, lane));
    iter::once(keys.control(pack)).chain(lanes)
}

/// The stream that all packs read, with another thread; two packs have no use for it.
fn common(keys: &Keys, packs: u32) -> Option<String> {
    (packs > 2).then(|| keys.cast())
}

impl Backend for RedisStream {
    fn endpoint(&self) -> Option<String> {
        None
    }

    fn start(&self, _endpoints: &[String]) -> Result<(), Error> {
        self.session.start();
        Ok(())
    }

    fn send(
        &self,
        to: u32,
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        self.send_each(&[to], frames, budget)
    }

    fn broadcast(
        &self,
        to: &[u32],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let for_all = to.len() > 1 && to.len() as u32 == self.packs - 1;
        let small = matches!(frames, [frame] if frame.payload.len() <= INLINE);
        if !for_all || small {
            return self.send_each(to, frames, budget);
        }
        let (cast, expiry) = (self.keys.cast(), self.session.writer.expiry());
        batches(frames).try_for_each(|batch| {
            self.session
                .writer
                .run(Peer::AnyWorker, budget, |client, go_on| {
                    let (count, before) = (self.session.count(), self.session.count().confirmed());
                    for frame in batch {
                        commands::add(client, &cast, frame, go_on)?;
                    }
                    expire(client, &cast, expiry, go_on)?;
                    count.up(client, go_on)?;
                    client.expect(batch.len() + 1, go_on)?;
                    count.confirm(before, client, go_on).map(|()| 0)
                })
        })
    }

    fn control(&self, to: u32, frame: &Frame<'_>) -> Result<(), Error> {
        // A goodbye must not overtake the last messages.
        let stream = match frame.header.kind {
            Kind::Goodbye => self.lane(to, frame),
            _ => self.keys.control(to),
        };
        let expiry = self.session.writer.expiry();
        self.session.writer.control(|client, go_on| {
            commands::add(client, &stream, frame, go_on)?;
            expire(client, &stream, expiry, go_on)?;
            Ok(2)
        })
    }

    fn payload_limit(&self) -> usize {
        LARGEST
    }

    fn leave(&self) {
        let own: Vec<String> = own(&self.keys, self.pack).collect();
        let expiry = self.session.writer.expiry();
        self.session.leave(&own, |client, frame, go_on| {
            let mut replies = 0;
            for stream in own.iter().cloned().chain(common(&self.keys, self.packs)) {
                commands::add(client, &stream, frame, go_on)?;
                expire(client, &stream, expiry, go_on)?;
                replies += 2;
            }
            Ok(replies)
        });
    }

    fn renew(&self, config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
        Self::over(self.session.connections(), config, inbox)
    }

    fn close(&self) {
        let own: Vec<String> = own(&self.keys, self.pack).collect();
        self.session.close(&own);
    }
}
