//! `redis-list`: packs communicate through lists of a Redis, Valkey or DragonflyDB server.
//!
//! | key | holds |
//! | --- | --- |
//! | `burst:<flare>:pack:<p>` | list of frames for pack `p` |
//! | `burst:<flare>:control:<p>` | list of control frames for pack `p`, which overtake the above |
//! | `burst:<flare>:cast:<source>:<context>:<sequence>:<chunk>` | a chunk that several packs read |
//! | `…:left` of the above | how many of them have not read it yet; the last one deletes both |
//! | `burst:<flare>:heartbeat:<p>` | the heartbeat of pack `p` |
//!
//! A one-to-one message costs one `RPUSH` (with its `EXPIRE`) and one `BLPOP` per chunk; a
//! one-to-many message is stored once and costs one small `RPUSH` per pack and chunk, and one `GET`
//! and `DECR` per reader. All commands name a single key. Every key expires some time after the
//! flare's deadline, and [`clean`] deletes what is left.
//!
//! Frames are written on pooled connections, pipelined, and confirmed by the server before `send`
//! returns. Each pack has separate receiving connections, so that no receive ever holds a
//! connection that a send needs. A server that does not answer ends the flare, and so does a
//! receiving connection that breaks: an entry that was being popped from a list may be lost with
//! it. Reading without popping (`LRANGE`, later `LTRIM`) would not work: no command on a single key
//! waits for an entry and leaves it there, and a trim that a broken connection delivers late
//! removes entries that nobody has read. Where connections break, use [`stream`](super::stream).

mod commands;
mod receiver;

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
use crate::wire::{Header, Kind};
use receiver::Receiver;

pub(in crate::remote) const KIND: BackendKind = layout::kind::<Lists>();

/// Threads that take messages: one waits for the server while the other one reads.
const RECEIVERS: usize = 2;
/// One-to-many chunks up to this size are cheaper to send to each pack than to store, announce and
/// read.
const INLINE: usize = 4 << 10;

/// See the module's documentation.
#[derive(Debug)]
struct Lists {
    keys: Keys,
    pack: PackId,
}

pub(in crate::remote) fn open(
    config: &PackConfig,
    inbox: Arc<Inbox>,
) -> Result<Arc<dyn Backend>, Error> {
    layout::open::<Lists>(config, inbox)
}

impl Layout for Lists {
    const NAME: &'static str = "redis-list";
    type Reader = Receiver;

    fn new(config: &PackConfig) -> Self {
        Self {
            keys: Keys::new(&config.flare_id),
            pack: config.pack,
        }
    }

    fn read(&self) -> Vec<String> {
        let messages = iter::repeat_n(self.keys.pack(self.pack), RECEIVERS);
        let control = self.keys.control(self.pack);
        iter::once(control).chain(messages).collect()
    }

    fn reader(&self, list: String, _config: &PackConfig) -> Receiver {
        Receiver::new(&self.keys, list)
    }

    fn own(&self) -> Vec<String> {
        vec![self.keys.pack(self.pack), self.keys.control(self.pack)]
    }

    fn control(&self, to: PackId, frame: &Frame<'_>) -> String {
        match frame.header.kind {
            // It must not overtake the last messages.
            Kind::Goodbye => self.keys.pack(to),
            _ => self.keys.control(to),
        }
    }

    fn add(
        exchange: &mut Exchange<'_>,
        list: &str,
        frame: &Frame<'_>,
        expiry: Duration,
    ) -> Result<(), RespError> {
        let header = frame.seal();
        exchange.command(&[&[b"RPUSH"], &[list.as_bytes()], &[&header, frame.payload]])?;
        // An emptied list is removed together with its expiry, so each push sets it again.
        expire(exchange, list, expiry)
    }

    fn send(
        &self,
        session: &Session,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let expiry = session.writer.expiry();
        let lists: Vec<String> = to.iter().map(|&pack| self.keys.pack(pack)).collect();
        let peer = to.first().map_or(Peer::AnyWorker, |&pack| Peer::Pack(pack));
        let small = matches!(frames, [frame] if frame.payload.len() <= INLINE);
        let stored = to.len() > 1 && !small;
        Frame::batches(frames, BATCH).try_for_each(|batch| {
            session.writer.run(peer, budget, |exchange| {
                for frame in batch {
                    let mut frame = frame.sealed();
                    if stored {
                        let key = self.keys.chunk(&frame.header);
                        commands::store(exchange, &key, &frame, to.len(), expiry)?;
                        frame = Frame {
                            header: Header {
                                kind: Kind::Stored,
                                ..frame.header
                            },
                            payload: &[],
                        };
                    }
                    for list in &lists {
                        Self::add(exchange, list, &frame, expiry)?;
                    }
                }
                Ok(2 * (usize::from(stored) + lists.len()) * batch.len())
            })
        })
    }
}
