//! `s3`: packs talk through objects in a bucket of any S3 service.
//!
//! | object, under `<prefix>/burst/<flare>/` | holds |
//! | --- | --- |
//! | `joined/<pack>` | nothing: a pack has found the bucket |
//! | `log/<to>/<from>/<n>` | the `n`-th batch of frames from pack `from` to pack `to` |
//! | `data/<source>/<destination>/<context>/<sequence>/<chunk>` | a chunk too large for a batch |
//!
//! Names are predictable, so nothing is ever listed to receive: a reader asks for the next batch
//! of each other pack, again after a while when it is not there. What is small lies in the batch,
//! with everything else that waited to be sent to that pack; a large chunk is an object of its own
//! which the batch announces, stored once however many packs read it.
//!
//! **Requests.** One-to-one, small: a `PUT`, a `GET`, and a share of a bulk deletion of up to a
//! thousand objects; less when several messages wait at the same time. One-to-one in `k` large
//! chunks: `k + 1` of each. To `p` packs in `k` large chunks: `k + p` `PUT`s, `p * (k + 1)`
//! `GET`s. A pack that waits asks each other one between once every [`FIRST_LOOK`] and every
//! [`LAST_LOOK`].
//!
//! Objects one pack reads are deleted when it has; those many read stay until the flare ends and
//! [`clean`] deletes everything under its prefix. S3 expires nothing by itself: give the bucket a
//! lifecycle rule for flares whose platform is lost too. A pack that is gone is not noticed here
//! but by the platform.

mod locations;
mod reader;
mod store;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::inbox::Inbox;
use super::runtime::Runtime;
use super::{Backend, Frame};
use crate::config::{BackendConfig, PackConfig};
use crate::control::Patience;
use crate::error::{Error, Peer};
use crate::wire::{Header, Kind};
use locations::Locations;
use store::{Store, error};
use writer::{Batch, Writer};

pub(super) const NAME: &str = "s3";

/// Chunks up to this size lie in the batch.
const INLINE: usize = 64 << 10;
/// Largest object; more bytes are cut into more chunks.
const LARGEST: usize = 64 << 20;
/// Large chunks a pack writes or reads at the same time.
const TRANSFERS: usize = 8;
/// Bytes of large chunks that are copied for writing at the same time.
const BATCH: usize = 8 << 20;
/// Shortest and longest time between two looks for a batch that is not there yet.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(100);
/// How long finding out whether the bucket is there may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long deleting all of a flare's objects may take.
const CLEANING: Duration = Duration::from_secs(120);
/// How long taking leave may take.
const LEAVING: Duration = Duration::from_secs(1);

/// What the tasks of a pack share.
#[derive(Debug)]
struct Shared {
    store: Store,
    locations: Locations,
    pack: u32,
    inbox: Arc<Inbox>,
    closing: AtomicBool,
    transfers: Semaphore,
}

/// See the module's documentation.
#[derive(Debug)]
struct S3 {
    shared: Arc<Shared>,
    /// By pack; `None` for this one.
    writers: Vec<Option<Writer>>,
    runtime: Runtime,
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let store = Store::new(&config.backend)?;
    let packs = config.topology.num_packs();
    let runtime = Runtime::start(NAME)?;
    let shared = Arc::new(Shared {
        locations: Locations::new(store.prefix(), &config.flare_id),
        store,
        pack: config.pack,
        inbox,
        closing: AtomicBool::new(false),
        transfers: Semaphore::new(TRANSFERS),
    });
    let checked = Arc::clone(&shared);
    runtime.run_for(CONNECTING, async move { checked.check().await })?;
    let (deleter, doomed) = tokio::sync::mpsc::unbounded_channel();
    let mut writers = Vec::new();
    for pack in 0..packs {
        let (other, shared) = (pack != config.pack, Arc::clone(&shared));
        writers.push(other.then(|| {
            runtime.spawn(reader::run(Arc::clone(&shared), pack, deleter.clone()));
            Writer::start(&runtime, shared, pack)
        }));
    }
    runtime.spawn(reader::delete(Arc::clone(&shared), doomed));
    Ok(Arc::new(S3 {
        shared,
        writers,
        runtime,
    }))
}

/// Deletes every object of a flare.
pub(super) fn clean(flare_id: &str, config: &BackendConfig) -> Result<(), Error> {
    let store = Store::new(config)?;
    let root = Locations::new(store.prefix(), flare_id).root();
    let runtime = Runtime::start(NAME)?;
    runtime.run_for(CLEANING, async move { store.delete_all(&root).await })
}

impl Shared {
    /// Whether the bucket is there and may be written to.
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
    fn writer(&self, to: u32) -> Result<&Writer, Error> {
        let writer = self.writers.get(to as usize).and_then(Option::as_ref);
        writer.ok_or_else(|| error(format!("there is no other pack {to}")))
    }

    /// Stores large chunks and gives the frames that announce them.
    fn store(
        &self,
        peer: Peer,
        frames: &[Frame<'_>],
        patience: &mut Patience<'_>,
    ) -> Result<Batch, Error> {
        let mut announcements = Batch::default();
        let largest = frames.first().map_or(1, |frame| frame.payload.len().max(1));
        for some in frames.chunks((BATCH / largest).max(1)) {
            let mut uploads = Vec::with_capacity(some.len());
            for frame in some {
                let frame = frame.sealed();
                announcements.push(&Frame {
                    header: Header {
                        kind: Kind::Stored,
                        ..frame.header
                    },
                    payload: &[],
                });
                let location = self.shared.locations.data(&frame.header);
                uploads.push((location, bytes::Bytes::copy_from_slice(frame.payload)));
            }
            let shared = Arc::clone(&self.shared);
            let task = async move { writer::upload(&shared, uploads).await };
            self.runtime
                .run(task, || patience.remaining(peer).map(drop))?;
        }
        Ok(announcements)
    }

    /// What a batch holds of these frames, after the rest was stored.
    fn prepare(
        &self,
        peer: Peer,
        frames: &[Frame<'_>],
        patience: &mut Patience<'_>,
    ) -> Result<Batch, Error> {
        if frames.iter().all(|frame| frame.payload.len() <= INLINE) && frames.len() < 2 {
            let mut batch = Batch::default();
            for frame in frames {
                batch.push(frame);
            }
            return Ok(batch);
        }
        self.store(peer, frames, patience)
    }
}

impl Backend for S3 {
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
        self.broadcast(&[to], frames, patience)
    }

    fn broadcast(
        &self,
        to: &[u32],
        frames: &[Frame<'_>],
        patience: &mut Patience<'_>,
    ) -> Result<(), Error> {
        let peer = match to {
            &[pack] => Peer::Pack(pack),
            _ => Peer::AnyWorker,
        };
        let batch = self.prepare(peer, frames, patience)?;
        let mut written = Vec::with_capacity(to.len());
        for &pack in to {
            written.push(self.writer(pack)?.append(batch.clone())?);
        }
        let task = async move {
            for result in written {
                result.await.map_err(|_| Error::Closed)??;
            }
            Ok(())
        };
        self.runtime
            .run(task, || patience.remaining(peer).map(drop))
    }

    fn control(&self, to: u32, frame: &Frame<'_>) -> Result<(), Error> {
        let mut batch = Batch::default();
        batch.push(frame);
        self.writer(to)?.append(batch).map(drop)
    }

    fn payload_limit(&self) -> usize {
        LARGEST
    }

    fn close(&self) {
        if self.shared.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        // Best effort: who is not told finds out, and what is not deleted the clean-up deletes.
        let last: Vec<_> = self
            .writers
            .iter()
            .flatten()
            .filter_map(|writer| writer.append(Batch::default()).ok())
            .collect();
        let _ = self.runtime.run_for(LEAVING, async move {
            for written in last {
                let _ = written.await;
            }
            Ok(())
        });
        self.runtime.stop();
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.close();
    }
}
