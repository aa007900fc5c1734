//! `s3`: packs communicate through objects in a bucket of any S3 service.
//!
//! | object, under `<prefix>/burst/<flare>/` | holds |
//! | --- | --- |
//! | `joined/<pack>` | nothing; shows that a pack has found the bucket |
//! | `log/<to>/<from>/<n>` | the `n`-th batch of frames from pack `from` to pack `to` |
//! | `data/<source>/<destination>/<context>/<sequence>/<chunk>` | a chunk too large for a batch |
//!
//! Names are predictable, so nothing is ever listed to receive: a reader requests the next batch of
//! each other pack, and again after a while if it does not exist yet. Small messages are part of a
//! batch, with everything else that waited to be sent to that pack; a large chunk is an object of
//! its own that the batch announces, stored once however many packs read it.
//!
//! **Requests.** One-to-one, small: a `PUT`, a `GET`, and a share of a bulk deletion of up to a
//! thousand objects (if requests are signed elsewhere, a deletion per object); fewer when several
//! messages wait at the same time. One-to-one in `k` large chunks: one of each for every chunk, and
//! at most one more for every 32 MiB, which are announced together. To `p` packs in `k` large
//! chunks, `m` times 32 MiB: `k + p * m` `PUT`s and `p * (k + m)` `GET`s. A waiting pack polls each
//! other one at intervals from [`FIRST_LOOK`] to [`LAST_LOOK`].
//!
//! Objects that one pack reads are deleted once it has read them; those that several packs read
//! stay until the flare ends and [`clean`] deletes everything under its prefix. S3 does not expire
//! objects by itself: give the bucket a lifecycle rule for flares whose platform is lost too. This
//! backend does not notice a pack that is gone; the platform does.

mod locations;
mod reader;
mod signed;
mod signer;
mod store;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::inbox::Inbox;
use super::kind::{BackendKind, MIB};
use super::runtime::Runtime;
use super::{Backend, Frame};
use crate::cancellation::WaitBudget;
use crate::config::{BackendConfig, PackConfig};
use crate::error::{Error, Peer};
use crate::pack_id::PackId;
use crate::wire::{Header, Kind};
use locations::Locations;
use store::{Store, error};
use writer::{Batch, Writer};

const NAME: &str = "s3";

pub(super) const KIND: BackendKind = BackendKind {
    chunk_size: 4 * MIB,
    issue_credentials: signer::issue_credentials,
    clean,
    servers: store::servers,
    ..BackendKind::new(NAME)
};

/// Chunks up to this size are stored in the batch.
const INLINE: usize = 64 << 10;
/// The largest object; larger messages are cut into more chunks.
const LARGEST: usize = 64 << 20;
/// The large chunks a pack reads concurrently from another one.
const TRANSFERS: usize = 8;
/// The bytes of large chunks of which a pack holds copies while they are written.
const WRITING: usize = 32 << 20;
/// A batch of this many bytes is not joined with what waits behind it.
const BATCH: usize = 8 << 20;
/// The shortest and longest time between two polls for a batch that does not exist yet.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(100);
/// How long checking that the bucket exists may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long deleting all of a flare's objects may take.
const CLEANING: Duration = Duration::from_secs(120);
/// How long the service may leave a request for a batch without an answer.
const SILENCE: Duration = Duration::from_secs(6);
/// How long leaving may take: a pack that could not announce that it leaves would be waited for in
/// vain.
const LEAVING: Duration = SILENCE;
/// The same for a flare that has failed, which the others know.
const LEAVING_FAILED: Duration = Duration::from_secs(1);

/// What the tasks of a pack share.
#[derive(Debug)]
struct Shared {
    store: Store,
    locations: Locations,
    pack: PackId,
    inbox: Arc<Inbox>,
    closing: AtomicBool,
    /// Bytes that may be copied for writing.
    room: Arc<Semaphore>,
}

/// See the module's documentation.
#[derive(Debug)]
struct S3 {
    shared: Arc<Shared>,
    /// By pack; `None` for this one.
    writers: Vec<Option<Writer>>,
    runtime: Arc<Runtime>,
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let store = Store::new(&config.backend)?;
    over(Arc::new(Runtime::start(NAME)?), store, config, inbox)
}

/// Opens the backend over the connections of a store, which the runtime holds.
fn over(
    runtime: Arc<Runtime>,
    store: Store,
    config: &PackConfig,
    inbox: Arc<Inbox>,
) -> Result<Arc<dyn Backend>, Error> {
    let shared = Arc::new(Shared {
        locations: Locations::new(store.prefix(), &config.flare_id),
        store,
        pack: config.pack,
        inbox,
        closing: AtomicBool::new(false),
        room: Arc::new(Semaphore::new(WRITING)),
    });
    let checked = Arc::clone(&shared);
    runtime.run_for(CONNECTING, async move { checked.check().await })?;
    let (deleter, deletions) = tokio::sync::mpsc::unbounded_channel();
    let mut writers = Vec::new();
    for pack in config.topology.packs() {
        let (other, shared) = (pack != config.pack, Arc::clone(&shared));
        writers.push(other.then(|| {
            runtime.spawn(reader::run(Arc::clone(&shared), pack, deleter.clone()));
            Writer::start(&runtime, shared, pack)
        }));
    }
    runtime.spawn(reader::delete(Arc::clone(&shared), deletions));
    Ok(Arc::new(S3 {
        shared,
        writers,
        runtime,
    }))
}

/// Deletes every object of a flare.
fn clean(flare_id: &str, config: &BackendConfig) -> Result<(), Error> {
    let store = Store::new(config)?;
    let root = Locations::new(store.prefix(), flare_id).root();
    let runtime = Runtime::start(NAME)?;
    runtime.run_for(CLEANING, async move { store.delete_all(&root).await })
}

impl Shared {
    /// Checks that the bucket exists and is writable.
    async fn check(&self) -> Result<(), Error> {
        let joined = self.locations.joined(self.pack);
        self.store.put(&joined, bytes::Bytes::new()).await
    }

    /// Fails the flare, unless the pack is about to end anyway.
    fn broken(&self, reason: &Error) {
        if !self.closing.load(Ordering::Acquire) {
            self.inbox.broken(reason);
        }
    }
}

impl S3 {
    fn writer(&self, to: PackId) -> Result<&Writer, Error> {
        let writer = self.writers.get(to.index()).and_then(Option::as_ref);
        writer.ok_or_else(|| error(format!("there is no other pack {to}")))
    }

    /// Waits until a chunk of this many bytes may be copied.
    fn room(
        &self,
        peer: Peer,
        bytes: usize,
        budget: &mut WaitBudget<'_>,
    ) -> Result<OwnedSemaphorePermit, Error> {
        // A chunk that is larger than the entire room waits for all of it.
        let bytes = bytes.min(WRITING) as u32;
        let room = Arc::clone(&self.shared.room);
        if let Ok(permit) = Arc::clone(&room).try_acquire_many_owned(bytes) {
            budget.remaining(peer)?;
            return Ok(permit);
        }
        let task = async move {
            room.acquire_many_owned(bytes)
                .await
                .map_err(|_| Error::Closed)
        };
        self.runtime.run(task, || budget.remaining(peer).map(drop))
    }

    /// Stores large chunks, and announces them group by group as soon as they are stored, so that
    /// they are read while the next ones are written.
    fn store(
        &self,
        peer: Peer,
        writers: &[Writer],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<Tasks, Error> {
        let mut announced = Tasks::new();
        for some in Frame::batches(frames, WRITING) {
            let mut stored = Tasks::new();
            let mut announcement = Batch::default();
            for frame in some {
                let frame = frame.sealed();
                announcement.push(&Frame {
                    header: Header {
                        kind: Kind::Stored,
                        ..frame.header
                    },
                    payload: &[],
                });
                let room = self.room(peer, frame.payload.len(), budget)?;
                let location = self.shared.locations.data(&frame.header);
                let bytes = bytes::Bytes::copy_from_slice(frame.payload);
                let shared = Arc::clone(&self.shared);
                let upload = async move { writer::upload(&shared, &location, bytes, room).await };
                stored.spawn_on(upload, self.runtime.handle());
            }
            let writers = writers.to_vec();
            let announce = async move {
                all(stored).await?;
                writer::append(&writers, announcement).await
            };
            announced.spawn_on(announce, self.runtime.handle());
        }
        Ok(announced)
    }
}

/// Concurrent tasks; they end when this is dropped.
type Tasks = JoinSet<Result<(), Error>>;

async fn all(mut tasks: Tasks) -> Result<(), Error> {
    while let Some(result) = tasks.join_next().await {
        result.map_err(|_| Error::Closed)??;
    }
    Ok(())
}

impl Backend for S3 {
    fn send(
        &self,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let peer = match to {
            &[pack] => Peer::Pack(pack),
            _ => Peer::AnyWorker,
        };
        let writers: Vec<_> = (to.iter())
            .map(|&pack| self.writer(pack).cloned())
            .collect::<Result<_, _>>()?;
        let interrupt = |budget: &mut WaitBudget<'_>| budget.remaining(peer).map(drop);
        match frames {
            [frame] if frame.payload.len() <= INLINE => {
                let mut batch = Batch::default();
                batch.push(frame);
                let task = async move { writer::append(&writers, batch).await };
                self.runtime.run(task, || interrupt(budget))
            }
            _ => {
                let announced = self.store(peer, &writers, frames, budget)?;
                self.runtime.run(all(announced), || interrupt(budget))
            }
        }
    }

    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        let mut batch = Batch::default();
        batch.push(frame);
        self.writer(to)?.append(batch).map(drop)
    }

    fn payload_limit(&self) -> usize {
        LARGEST
    }

    /// Readers end on their own, within one poll.
    fn leave(&self) {
        if self.shared.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        let limit = match self.shared.inbox.is_aborted() {
            true => LEAVING_FAILED,
            false => LEAVING,
        };
        // Best effort: a pack that is not informed finds out, and the clean-up deletes what is
        // left.
        let last: Vec<_> = self
            .writers
            .iter()
            .flatten()
            .filter_map(|writer| writer.append(Batch::default()).ok())
            .collect();
        let _ = self.runtime.run_for(limit, async move {
            for written in last {
                let _ = written.await;
            }
            Ok(())
        });
    }

    fn renew(&self, config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
        let (runtime, store) = (Arc::clone(&self.runtime), self.shared.store.clone());
        over(runtime, store, config, inbox)
    }

    fn close(&self) {
        self.leave();
        self.runtime.stop();
    }
}
