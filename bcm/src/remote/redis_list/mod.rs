//! `redis-list`: packs talk through lists of a Redis, Valkey or DragonflyDB server.
//!
//! | key | holds |
//! | --- | --- |
//! | `burst:<flare>:pack:<p>` | list of frames for pack `p` |
//! | `burst:<flare>:control:<p>` | list of control frames for pack `p`, which overtake the above |
//! | `burst:<flare>:cast:<source>:<context>:<sequence>:<chunk>` | a chunk many packs read |
//! | `…:left` of the above | how many of them have not read it yet; the last one deletes both |
//!
//! A one-to-one message costs one `RPUSH` (with its `EXPIRE`) and one `BLPOP` per chunk; a
//! one-to-many message is stored once, costs one small `RPUSH` per pack and chunk, and one `GET`
//! and `DECR` by each reader. All commands name a single key. Every key expires some time after
//! the flare's deadline, and [`clean`] deletes what is left.
//!
//! Frames are written by pooled connections, pipelined, and confirmed by the server before `send`
//! returns. Each pack has receiving connections of its own, so that no receive ever holds a
//! connection a send needs. A server that does not answer ends the flare.

mod commands;
mod receiver;
mod resp;
mod server;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use super::inbox::Inbox;
use super::pool::Pool;
use super::{Backend, Frame};
use crate::config::{BackendConfig, PackConfig};
use crate::control::Patience;
use crate::error::{Error, Peer};
use crate::wire::{Header, Kind};
use commands::Keys;
use receiver::Receivers;
use resp::{Client, Reply, RespError};
use server::Server;

pub(super) const NAME: &str = "redis-list";

/// Connections for sending, shared by the workers of a pack.
const CONNECTIONS: usize = 4;
/// Bytes one sender writes before it lets others have its connection.
const BATCH: usize = 8 << 20;
/// One-to-many chunks up to this size are cheaper sent to each than stored, announced and read.
const INLINE: usize = 4 << 10;
/// How long what a flare leaves is kept after its deadline.
const GRACE: Duration = Duration::from_secs(60);
/// How long a flare without a deadline may go without sending anything.
const NO_DEADLINE: Duration = Duration::from_secs(3600);
/// How long the server may take for a control frame, or to answer at all.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(1);

/// See the module's documentation.
#[derive(Debug)]
struct RedisList {
    server: Server,
    keys: Keys,
    pack: u32,
    deadline: Option<SystemTime>,
    pool: Pool<Client>,
    /// `None` once it has failed: whoever reports a failure does not wait for a dead server twice.
    control: Mutex<Option<Client>>,
    receivers: Receivers,
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let server = Server::new(&config.backend)?;
    let keys = Keys::new(&config.flare_id);
    let control = connect(&server)?;
    let receivers = Receivers::start(&server, &keys, config.pack, inbox)?;
    Ok(Arc::new(RedisList {
        server,
        keys,
        pack: config.pack,
        deadline: config.deadline,
        pool: Pool::new(CONNECTIONS),
        control: Mutex::new(Some(control)),
        receivers,
    }))
}

/// Deletes every key of a flare.
pub(super) fn clean(flare_id: &str, config: &BackendConfig) -> Result<(), Error> {
    let mut client = connect(&Server::new(config)?)?;
    let since = Instant::now();
    commands::delete_all(&mut client, flare_id, &mut || {
        within(since, 30 * CONTROL_TIMEOUT)
    })
    .map_err(failed)
}

fn connect(server: &Server) -> Result<Client, Error> {
    let since = Instant::now();
    Client::connect(server, &mut || within(since, 3 * CONTROL_TIMEOUT)).map_err(failed)
}

fn error(reason: impl ToString) -> Error {
    Error::Backend {
        backend: NAME,
        pack: None,
        reason: reason.to_string(),
    }
}

/// The error to return when a command did not go through.
fn failed(reason: RespError) -> Error {
    match reason {
        RespError::GivenUp(error) => error,
        other => error(other),
    }
}

fn within(since: Instant, limit: Duration) -> Result<(), Error> {
    match since.elapsed() < limit {
        true => Ok(()),
        false => Err(error(format!(
            "the server does not answer within {limit:?}"
        ))),
    }
}

impl RedisList {
    /// How many seconds a key written now may stay.
    fn expiry(&self) -> u64 {
        let left = match self.deadline {
            Some(deadline) => deadline
                .duration_since(SystemTime::now())
                .unwrap_or_default(),
            None => NO_DEADLINE,
        };
        (left + GRACE).as_secs()
    }

    /// Runs commands on a connection of the pool. `write` gives the number of replies to come.
    fn run(
        &self,
        peer: Peer,
        patience: &mut Patience<'_>,
        write: impl FnOnce(&mut Client, resp::GoOn<'_>) -> Result<usize, RespError>,
    ) -> Result<(), Error> {
        let mut client = self
            .pool
            .acquire(peer, patience, || connect(&self.server))?;
        let go_on: resp::GoOn<'_> = &mut || patience.remaining(peer).map(drop);
        let result = write(&mut client, go_on).and_then(|replies| client.expect(replies, go_on));
        match result {
            Ok(()) => {
                self.pool.put_back(client);
                Ok(())
            }
            Err(reason) => {
                self.pool.forget();
                Err(failed(reason))
            }
        }
    }
}

/// Splits frames into what one sender writes at a time.
fn batches<'a, 'f>(frames: &'a [Frame<'f>]) -> impl Iterator<Item = &'a [Frame<'f>]> {
    let largest = frames.first().map_or(1, |frame| frame.payload.len().max(1));
    frames.chunks((BATCH / largest).max(1))
}

impl Backend for RedisList {
    fn endpoint(&self) -> Option<String> {
        None
    }

    fn start(&self, _endpoints: &[String]) -> Result<(), Error> {
        Ok(())
    }

    fn send(
        &self,
        to: u32,
        frames: &[Frame<'_>],
        patience: &mut Patience<'_>,
    ) -> Result<(), Error> {
        let (list, expiry) = (self.keys.pack(to), self.expiry());
        batches(frames).try_for_each(|batch| {
            self.run(Peer::Pack(to), patience, |client, go_on| {
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
        patience: &mut Patience<'_>,
    ) -> Result<(), Error> {
        let expiry = self.expiry();
        let lists: Vec<String> = to.iter().map(|&pack| self.keys.pack(pack)).collect();
        let peer = to.first().map_or(Peer::AnyWorker, |&pack| Peer::Pack(pack));
        if let [frame] = frames
            && frame.payload.len() <= INLINE
        {
            return self.run(peer, patience, |client, go_on| {
                for list in &lists {
                    commands::push(client, list, frame, expiry, go_on)?;
                }
                Ok(2 * lists.len())
            });
        }
        batches(frames).try_for_each(|batch| {
            self.run(peer, patience, |client, go_on| {
                for frame in batch {
                    let key = self.keys.cast(&frame.header);
                    commands::store(client, &key, frame, to.len(), expiry, go_on)?;
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
        let expiry = self.expiry();
        let mut control = self.control.lock();
        let Some(client) = control.as_mut() else {
            return Err(error("the server does not answer"));
        };
        let since = Instant::now();
        let go_on: resp::GoOn<'_> = &mut || within(since, CONTROL_TIMEOUT);
        let result = commands::push(client, &list, frame, expiry, go_on)
            .and_then(|()| client.expect(2, go_on));
        result.map_err(|reason| {
            *control = None;
            failed(reason)
        })
    }

    fn close(&self) {
        self.receivers.close();
        drop(self.pool.close());
        if let Some(mut client) = self.control.lock().take() {
            // Nobody reads these any more. What cannot be deleted now expires.
            let since = Instant::now();
            let go_on: resp::GoOn<'_> = &mut || within(since, CONTROL_TIMEOUT);
            for key in [self.keys.pack(self.pack), self.keys.control(self.pack)] {
                let _ = commands::delete(&mut client, &key, go_on);
            }
        }
    }
}

impl Drop for RedisList {
    fn drop(&mut self) {
        self.receivers.close();
    }
}

impl Client {
    /// Reads replies and fails on the first one that is an error.
    fn expect(&mut self, replies: usize, go_on: resp::GoOn<'_>) -> Result<(), RespError> {
        let mut result = Ok(());
        for _ in 0..replies {
            match self.reply(go_on) {
                Ok(Reply::Error(reason)) if result.is_ok() => {
                    result = Err(RespError::Refused(reason));
                }
                Ok(_) => {}
                Err(broken) => return Err(broken),
            }
        }
        result
    }
}
