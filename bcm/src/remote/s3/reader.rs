//! Reads the batches of another pack, and the chunks they announce.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use object_store::path::Path;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};

use super::store::error;
use super::{FIRST_LOOK, LAST_LOOK, SILENCE, Shared, TRANSFERS};
use crate::address::Destination;
use crate::error::Error;
use crate::pack_id::PackId;
use crate::remote::inbox::PayloadTarget;
use crate::remote::runtime::within;
use crate::wire::{HEADER_SIZE, Header, Kind, WireError};

/// The most objects deleted with one request, and how long the first of them waits for others.
const DELETED_AT_ONCE: usize = 500;
const GATHERING: Duration = Duration::from_secs(1);

/// Receives the objects that were read and may be deleted.
pub(super) type Deleter = mpsc::UnboundedSender<Path>;

/// The error that ends reading.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum End {
    Service(#[from] Error),
    Frame(#[from] WireError),
}

impl Shared {
    fn end(&self, end: End) {
        match end {
            End::Service(reason) => self.broken(&reason),
            End::Frame(reason) => self.inbox.refused(None, &reason),
        }
    }
}

/// Reads until the pack closes.
pub(super) async fn run(shared: Arc<Shared>, from: PackId, deleter: Deleter) {
    // Large chunks are read concurrently, so that batches never wait for them.
    let reading = Arc::new(Semaphore::new(TRANSFERS));
    let (mut number, mut pause) = (0, FIRST_LOOK);
    while !shared.closing.load(Ordering::Acquire) && !shared.inbox.is_over() {
        let location = shared.locations.log(shared.pack, from, number);
        let answer = within(SILENCE, shared.store.get(&location)).await;
        let silent = || {
            let reason = format!("the service has said nothing for {SILENCE:?}");
            Err(error(reason))
        };
        match answer.unwrap_or_else(silent) {
            Ok(Some(batch)) => {
                if let Err(end) = take(&shared, &reading, &batch, &deleter) {
                    return shared.end(end);
                }
                let _ = deleter.send(location);
                (number, pause) = (number + 1, FIRST_LOOK);
            }
            Ok(None) => {
                sleep(pause).await;
                pause = (pause * 3 / 2).min(LAST_LOOK);
            }
            Err(reason) => return shared.end(End::Service(reason)),
        }
    }
}

/// Gives the frames of a batch to the inbox, and starts reading the chunks it announces.
fn take(
    shared: &Arc<Shared>,
    reading: &Arc<Semaphore>,
    mut batch: &[u8],
    deleter: &Deleter,
) -> Result<(), End> {
    while !batch.is_empty() {
        let header = Header::decode(batch)?;
        let (_, rest) = batch.split_at(HEADER_SIZE);
        let length = header.payload_len()?;
        let Some((payload, rest)) = rest.split_at_checked(length) else {
            return Err(WireError::Length {
                expected: length,
                found: rest.len(),
            }
            .into());
        };
        batch = rest;
        if header.kind == Kind::Stored {
            let (shared, reading) = (Arc::clone(shared), Arc::clone(reading));
            let deleter = deleter.clone();
            tokio::spawn(async move {
                let _permit = reading.acquire().await;
                if let Err(end) = read_stored(&shared, &header, &deleter).await {
                    shared.end(end);
                }
            });
        } else {
            header.verify(payload)?;
            shared.inbox.accept(&header, payload)?;
        }
    }
    Ok(())
}

async fn read_stored(shared: &Shared, header: &Header, deleter: &Deleter) -> Result<(), End> {
    let header = Header {
        kind: Kind::Data,
        ..*header
    };
    let PayloadTarget::Chunk(mut chunk) = shared.inbox.open(&header)? else {
        return Ok(());
    };
    let location = shared.locations.data(&header);
    let buffer = chunk.bytes();
    let expected = buffer.len();
    let found = shared.store.get_into(&location, buffer).await?;
    let found = found.ok_or_else(|| error("a stored chunk is gone before it was read"))?;
    if found != expected {
        return Err(WireError::Length { expected, found }.into());
    }
    chunk.verify_and_commit()?;
    if header.destination != Destination::Pack {
        let _ = deleter.send(location);
    }
    Ok(())
}

/// Deletes objects that were read, many with one request.
pub(super) async fn delete(shared: Arc<Shared>, mut deletions: mpsc::UnboundedReceiver<Path>) {
    while let Some(first) = deletions.recv().await {
        let mut some = vec![first];
        let gathering = async {
            while some.len() < DELETED_AT_ONCE
                && let Some(next) = deletions.recv().await
            {
                some.push(next);
            }
        };
        let _ = timeout(GATHERING, gathering).await;
        // The clean-up deletes what is left.
        let _ = shared.store.delete(some).await;
    }
}
