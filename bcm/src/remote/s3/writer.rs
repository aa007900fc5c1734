//! Appends batches of frames to the log that another pack reads, one object after another.

use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::store::error;
use super::{BATCH, Shared};
use crate::error::Error;
use crate::pack_id::PackId;
use crate::remote::Frame;
use crate::remote::runtime::Runtime;

/// Frames with their headers, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Batch(Vec<u8>);

impl Batch {
    pub(super) fn push(&mut self, frame: &Frame<'_>) {
        self.0.extend_from_slice(&frame.seal());
        self.0.extend_from_slice(frame.payload);
    }
}

/// The writer for one other pack. While an object is being written, later batches are gathered for
/// the next one; so the busier it is, the fewer requests are needed.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    waiting: mpsc::UnboundedSender<Append>,
}

#[derive(Debug)]
struct Append {
    batch: Batch,
    written: oneshot::Sender<Result<(), Error>>,
}

impl Writer {
    pub(super) fn start(runtime: &Runtime, shared: Arc<Shared>, to: PackId) -> Self {
        let (waiting, appends) = mpsc::unbounded_channel();
        runtime.spawn(run(shared, to, appends));
        Self { waiting }
    }

    /// Appends a batch; the returned receiver reports when it is written. An empty batch counts as
    /// written when everything before it is.
    pub(super) fn append(
        &self,
        batch: Batch,
    ) -> Result<oneshot::Receiver<Result<(), Error>>, Error> {
        let (written, result) = oneshot::channel();
        self.waiting
            .send(Append { batch, written })
            .map_err(|_| error("the service does not answer"))?;
        Ok(result)
    }
}

async fn run(shared: Arc<Shared>, to: PackId, mut appends: mpsc::UnboundedReceiver<Append>) {
    let mut number = 0;
    while let Some(first) = appends.recv().await {
        let (mut bytes, mut waiting) = (first.batch.0, vec![first.written]);
        while bytes.len() < BATCH
            && let Ok(next) = appends.try_recv()
        {
            bytes.extend_from_slice(&next.batch.0);
            waiting.push(next.written);
        }
        let mut result = Ok(());
        if !bytes.is_empty() {
            let location = shared.locations.log(to, shared.pack, number);
            result = shared.store.put(&location, bytes.into()).await;
            number += 1;
        }
        if let Err(reason) = &result {
            // Nothing after the missing object would ever be read.
            shared.broken(reason);
        }
        let failed = result.is_err();
        for written in waiting {
            let _ = written.send(result.clone());
        }
        if failed {
            return;
        }
    }
}

/// Appends the same batch for several packs; returns when it is written.
pub(super) async fn append(writers: &[Writer], batch: Batch) -> Result<(), Error> {
    let written: Vec<_> = (writers.iter())
        .map(|writer| writer.append(batch.clone()))
        .collect::<Result<_, _>>()?;
    for result in written {
        result.await.map_err(|_| Error::Closed)??;
    }
    Ok(())
}

/// Stores a large chunk, and then frees the room of its copy.
pub(super) async fn upload(
    shared: &Shared,
    location: &Path,
    bytes: Bytes,
    room: OwnedSemaphorePermit,
) -> Result<(), Error> {
    let result = shared.store.put(location, bytes).await;
    drop(room);
    if let Err(reason) = &result {
        // Its message can never become complete.
        shared.broken(reason);
    }
    result
}
