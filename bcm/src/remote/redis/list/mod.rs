//! `redis-list`: packs talk through lists of a Redis, Valkey or DragonflyDB server.
//!
//! | key | holds |
//! | --- | --- |
//! | `burst:<flare>:pack:<p>` | list of frames for pack `p` |
//! | `burst:<flare>:control:<p>` | list of control frames for pack `p`, which overtake the above |
//! | `burst:<flare>:cast:<source>:<context>:<sequence>:<chunk>` | a chunk many packs read |
//! | `…:left` of the above | how many of them have not read it yet; the last one deletes both |
//! | `burst:<flare>:heartbeat:<p>` | signs of life of pack `p` |
//!
//! A one-to-one message costs one `RPUSH` (with its `EXPIRE`) and one `BLPOP` per chunk; a
//! one-to-many message is stored once, costs one small `RPUSH` per pack and chunk, and one `GET`
//! and `DECR` by each reader. All commands name a single key. Every key expires some time after
//! the flare's deadline, and [`clean`] deletes what is left.
//!
//! Frames are written by pooled connections, pipelined, and confirmed by the server before `send`
//! returns. Each pack has receiving connections of its own, so that no receive ever holds a
//! connection a send needs. A server that does not answer ends the flare, and so does a receiving
//! connection that breaks: what was being popped from a list may be gone with it. Reading without
//! popping (`LRANGE`, later `LTRIM`) would not do: nothing with a single key waits for an entry
//! and leaves it there, and a trim that a broken connection delivers late takes away what nobody
//! has read. Where connections break, use [`stream`](super::stream).

mod commands;
mod receiver;

use std::iter;
use std::sync::Arc;

use super::connections::Connections;
use super::server::Server;
use super::session::Session;
use super::{LARGEST, admission, batches, server};
use crate::cancellation::WaitBudget;
use crate::config::PackConfig;
use crate::error::{Error, Peer};
use crate::remote::inbox::Inbox;
use crate::remote::kind::BackendKind;
use crate::remote::{Backend, Frame};
use crate::wire::{Header, Kind};
use commands::Keys;
use receiver::Receiver;

const NAME: &str = "redis-list";

pub(in crate::remote) const KIND: BackendKind = BackendKind {
    admit: |flare, config| admission::admit(NAME, flare, config),
    clean: |flare_id, config| admission::clean(NAME, flare_id, config),
    servers: |config| server::addresses(NAME, config),
    ..BackendKind::new(NAME)
};

/// Threads that take messages: one waits for the server while the other reads.
const RECEIVERS: usize = 2;
/// One-to-many chunks up to this size are cheaper sent to each than stored, announced and read.
const INLINE: usize = 4 << 10;

/// See the module's documentation.
#[derive(Debug)]
struct RedisList {
    keys: Keys,
    pack: u32,
    session: Session,
}

pub(in crate::remote) fn open(
    config: &PackConfig,
    inbox: Arc<Inbox>,
) -> Result<Arc<dyn Backend>, Error> {
    let server = Server::new(NAME, &config.backend)?;
    RedisList::over(Arc::new(Connections::open(server)?), config, inbox)
}

impl RedisList {
    fn over(
        connections: Arc<Connections>,
        config: &PackConfig,
        inbox: Arc<Inbox>,
    ) -> Result<Arc<dyn Backend>, Error> {
        let (keys, pack) = (Keys::new(&config.flare_id), config.pack);
        let readers = read_by(&keys, pack).map(|list| Receiver::new(&keys, list));
        let session = Session::begin(connections, config, inbox, readers)?;
        Ok(Arc::new(Self {
            keys,
            pack,
            session,
        }))
    }

    /// The lists that only this pack reads.
    fn own(&self) -> [String; 2] {
        [self.keys.pack(self.pack), self.keys.control(self.pack)]
    }
}

/// What each thread of a pack reads.
fn read_by(keys: &Keys, pack: u32) -> impl Iterator<Item = String> {
    let messages = iter::repeat_n(keys.pack(pack), RECEIVERS);
    iter::once(keys.control(pack)).chain(messages)
}

impl Backend for RedisList {
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
        let (list, expiry) = (self.keys.pack(to), self.session.writer.expiry());
        batches(frames).try_for_each(|batch| {
            self.session
                .writer
                .run(Peer::Pack(to), budget, |client, go_on| {
                    for frame in batch {
                        commands::push(client, &list, frame, expiry, go_on)?;
                    }
                    Ok(2 * batch.len())
                })
        })
    }

    fn broadcast(
        &self,
        to: &[u32],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let expiry = self.session.writer.expiry();
        let lists: Vec<String> = to.iter().map(|&pack| self.keys.pack(pack)).collect();
        let peer = to.first().map_or(Peer::AnyWorker, |&pack| Peer::Pack(pack));
        if let [frame] = frames
            && frame.payload.len() <= INLINE
        {
            return self.session.writer.run(peer, budget, |client, go_on| {
                for list in &lists {
                    commands::push(client, list, frame, expiry, go_on)?;
                }
                Ok(2 * lists.len())
            });
        }
        batches(frames).try_for_each(|batch| {
            self.session.writer.run(peer, budget, |client, go_on| {
                for frame in batch {
                    let frame = frame.sealed();
                    let key = self.keys.cast(&frame.header);
                    commands::store(client, &key, &frame, to.len(), expiry, go_on)?;
                    let announcement = Frame {
                        header: Header {
                            kind: Kind::Stored,
                            ..frame.header
                        },
                        payload: &[],
                    };
                    for list in &lists {
                        commands::push(client, list, &announcement, expiry, go_on)?;
                    }
                }
                Ok((2 + 2 * lists.len()) * batch.len())
            })
        })
    }

    fn control(&self, to: u32, frame: &Frame<'_>) -> Result<(), Error> {
        // A goodbye must not overtake the last messages.
        let list = match frame.header.kind {
            Kind::Goodbye => self.keys.pack(to),
            _ => self.keys.control(to),
        };
        let expiry = self.session.writer.expiry();
        self.session.writer.control(|client, go_on| {
            commands::push(client, &list, frame, expiry, go_on)?;
            Ok(2)
        })
    }

    fn payload_limit(&self) -> usize {
        LARGEST
    }

    fn leave(&self) {
        let expiry = self.session.writer.expiry();
        self.session.leave(&self.own(), |client, frame, go_on| {
            for list in read_by(&self.keys, self.pack) {
                commands::push(client, &list, frame, expiry, go_on)?;
            }
            Ok(2 * (1 + RECEIVERS))
        });
    }

    fn renew(&self, config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
        Self::over(self.session.connections(), config, inbox)
    }

    fn close(&self) {
        self.session.close(&self.own());
    }
}
