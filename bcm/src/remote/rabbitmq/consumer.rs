//! Takes frames from a queue and gives them to the inbox.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::StreamExt;
use lapin::Consumer;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::{FieldTable, ShortString};

use super::connection::{CONNECTING, Link, broken, within};
use super::publisher::may_pass;
use super::server::{error, failed};
use super::{AGAIN, Shared};
use crate::remote::runtime::LOOK;
use crate::wire::{HEADER_SIZE, Header, WireError};

/// The frames that the server sends ahead of the acknowledgement.
const AHEAD: u16 = 16;

/// A consumer of a queue, and its link.
pub(super) struct Reader {
    link: Link,
    consumer: Consumer,
}

/// Begins to read a queue. The caller limits how long that may take.
pub(super) async fn consume(shared: &Shared, queue: &ShortString) -> lapin::Result<Reader> {
    let link = shared.back.link_within(super::CONNECTING).await?;
    let channel = &link.channel;
    channel.basic_qos(AHEAD, BasicQosOptions::default()).await?;
    let options = BasicConsumeOptions::default();
    let none = FieldTable::default();
    let consumer = channel
        .basic_consume(queue.clone(), "".into(), options, none)
        .await?;
    Ok(Reader { link, consumer })
}

/// Reads a queue until the pack closes; reconnects when the connection breaks.
pub(super) async fn run(shared: Arc<Shared>, queue: ShortString, first: Reader) {
    let mut reader = Some(first);
    let mut broken: Option<Instant> = None;
    loop {
        let result = match reader.take() {
            Some(reader) => read(&shared, reader).await,
            None => match within(CONNECTING, consume(&shared, &queue)).await {
                Ok(connected) => {
                    (reader, broken) = (Some(connected), None);
                    continue;
                }
                Err(reason) => Ok(Some(reason)),
            },
        };
        if shared.closing.load(Ordering::Acquire) || shared.inbox.is_aborted() {
            return;
        }
        let reason = match result {
            Ok(reason) => reason,
            Err(damage) => return shared.inbox.refused(None, &damage),
        };
        let since = *broken.get_or_insert_with(Instant::now);
        match reason {
            None => {
                return shared.broken(&error("the server has deleted the flare's queues"));
            }
            Some(reason) if !may_pass(&reason) || since.elapsed() > shared.recovery(&reason) => {
                return shared.broken(&failed(reason));
            }
            Some(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// Reads until the connection breaks, or the server ends it, which it does without giving a reason.
async fn read(shared: &Shared, mut reader: Reader) -> Result<Option<lapin::Error>, WireError> {
    loop {
        if shared.inbox.is_aborted() || shared.left.load(Ordering::Acquire) {
            // A pack that failed and could not announce it must be noticed: nobody reads its
            // queues. A pack that leaves in good order reads until it has deleted them: its goodbye
            // may take long to arrive.
            return Ok(None);
        }
        let next = reader.consumer.next();
        let delivery = match tokio::time::timeout(LOOK, next).await {
            Ok(Some(Ok(delivery))) => delivery,
            Ok(Some(Err(reason))) => return Ok(Some(reason)),
            Ok(None) if reader.link.is_up() => return Ok(None),
            Err(_) if reader.link.is_up() => continue,
            Ok(None) | Err(_) => return Ok(Some(broken())),
        };
        shared.frames.fetch_add(1, Ordering::Relaxed);
        let header = Header::decode(&delivery.data)?;
        let payload = delivery.data.get(HEADER_SIZE..).unwrap_or_default();
        // Frames for all packs also come back to the sender.
        if header.pack != shared.pack {
            header.verify(payload)?;
            shared.inbox.accept(&header, payload)?;
        }
        let acknowledged = delivery.acker.ack(BasicAckOptions::default());
        if let Err(reason) = reader.link.answer(acknowledged).await {
            return Ok(Some(reason));
        }
    }
}
