//! Publishes frames and waits for the server's confirmation.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::ShortString;
use lapin::{BasicProperties, Channel, Confirmation};
use tokio::sync::{Mutex, mpsc};

use super::connection::{CONNECTING, Link, broken, within};
use super::server::{error, failed};
use super::{AGAIN, Outgoing, SILENCE, Shared};
use crate::error::Error;
use crate::remote::Frame;

/// How long a server may accept nothing for lack of memory or disk; readers may make room.
const BLOCKED: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(250);

/// A frame on its way.
#[derive(Debug)]
pub(super) struct Message {
    exchange: ShortString,
    key: ShortString,
    bytes: Vec<u8>,
}

impl Message {
    pub(super) fn new(exchange: &'static str, key: ShortString, frame: &Frame<'_>) -> Self {
        let header = frame.seal();
        let mut bytes = Vec::with_capacity(header.len() + frame.payload.len());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(frame.payload);
        Self {
            exchange: exchange.into(),
            key,
            bytes,
        }
    }
}

/// The server's answer to a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Confirmed,
    Refused,
    /// No answer, because the server has been blocked for too long.
    Blocked,
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Publisher {
    shared: Arc<Shared>,
    link: Mutex<Option<Link>>,
}

impl Publisher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            link: Mutex::default(),
        }
    }

    /// Returns once the server has all of these; if the connection breaks, all are published again.
    pub(super) async fn publish(&self, messages: &[Message]) -> Result<(), Error> {
        let mut broken: Option<Instant> = None;
        loop {
            let reason = match self.attempt(messages).await {
                Ok(Outcome::Confirmed) => return Ok(()),
                Ok(Outcome::Refused) => return Err(error("the server refused a message")),
                Ok(Outcome::Blocked) => {
                    return Err(error(
                        "the server takes no messages: it is short of memory or disk",
                    ));
                }
                Err(reason) => reason,
            };
            *self.link.lock().await = None;
            let since = *broken.get_or_insert_with(Instant::now);
            let closing = self.shared.closing.load(Ordering::Acquire);
            let recovery = self.shared.recovery(&reason);
            if !may_pass(&reason) || closing || since.elapsed() > recovery {
                return Err(failed(reason));
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Publishes once, while there is a connection and the server reads it.
    async fn attempt(&self, messages: &[Message]) -> lapin::Result<Outcome> {
        let link = self.link().await?;
        let mut publishing = std::pin::pin!(publish_on(&link.channel, messages));
        let mut blocked: Option<Instant> = None;
        loop {
            if let Ok(result) = tokio::time::timeout(LOOK, &mut publishing).await {
                return result;
            }
            if !link.is_up() {
                return Err(broken());
            }
            if !link.is_blocked() {
                blocked = None;
            } else if blocked.get_or_insert_with(Instant::now).elapsed() > BLOCKED {
                return Ok(Outcome::Blocked);
            }
        }
    }

    async fn link(&self) -> lapin::Result<Link> {
        let mut current = self.link.lock().await;
        if let Some(link) = current.as_ref().filter(|link| link.is_up()) {
            return Ok(link.clone());
        }
        let link = self.shared.out.link().await?;
        let confirming = link.channel.confirm_select(ConfirmSelectOptions::default());
        within(CONNECTING, confirming).await?;
        Ok(current.insert(link).clone())
    }
}

async fn publish_on(channel: &Channel, messages: &[Message]) -> lapin::Result<Outcome> {
    let mut confirmations = Vec::with_capacity(messages.len());
    for message in messages {
        let confirmation = channel
            .basic_publish(
                message.exchange.clone(),
                message.key.clone(),
                BasicPublishOptions::default(),
                &message.bytes,
                BasicProperties::default(),
            )
            .await?;
        confirmations.push(confirmation);
    }
    for confirmation in confirmations {
        match confirmation.await? {
            Confirmation::Ack(_) => {}
            Confirmation::Nack(_) => return Ok(Outcome::Refused),
            // The channel no longer knows that a confirmation was requested.
            Confirmation::NotRequested => return Err(broken()),
        }
    }
    Ok(Outcome::Confirmed)
}

/// Whether a new connection may succeed.
pub(super) fn may_pass(reason: &lapin::Error) -> bool {
    !(reason.is_amqp_soft_error() || reason.is_amqp_hard_error()) || reason.can_be_recovered()
}

/// Publishes control frames in order.
pub(super) async fn run_commands(
    publisher: Arc<Publisher>,
    mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
) {
    while let Some(outgoing) = outgoing.recv().await {
        match outgoing {
            Outgoing::Publish(message) => {
                if let Err(reason) = publisher.publish(&[message]).await {
                    // A later frame may be the one that informs the others, and may get through.
                    publisher.shared.broken(&reason);
                }
            }
            Outgoing::Tell(done) => {
                let _ = done.send(());
            }
        }
    }
}

impl Shared {
    /// How long reconnecting is tried after a connection broke. A server that exists but is slow,
    /// because it or this machine is busy, gets more time than one that refuses connections.
    pub(super) fn recovery(&self, reason: &lapin::Error) -> Duration {
        match reason.kind() {
            lapin::ErrorKind::IOError(reason) if reason.kind() != ErrorKind::ConnectionRefused => {
                SILENCE.max(self.recovery)
            }
            _ => self.recovery,
        }
    }

    /// Fails the flare, unless the pack is about to end anyway.
    pub(super) fn broken(&self, reason: &Error) {
        if !self.closing.load(Ordering::Acquire) {
            self.inbox.broken(reason);
        }
    }
}
