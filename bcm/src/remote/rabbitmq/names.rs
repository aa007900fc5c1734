//! What a flare has on the server: everything under its id, declared and deleted here.

use std::time::{Duration, SystemTime};

use lapin::options::{
    BasicGetOptions, ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions,
    QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};

use super::connection::Connection;
use super::server::error;
use crate::error::Error;

/// How long a queue is kept after its reader is gone, and its messages after the deadline.
const GRACE: Duration = Duration::from_secs(60);
/// How long a message of a flare without a deadline may wait.
const NO_DEADLINE: Duration = Duration::from_secs(24 * 3600);
/// How long the number of packs is kept. The same for all packs, which all declare that queue.
const REGISTER: Duration = Duration::from_secs(24 * 3600);
/// Longest id that leaves room for the rest of a name, of which AMQP takes 255 bytes.
const LONGEST_ID: usize = 200;

/// The names of a flare's queues and its exchange.
#[derive(Debug, Clone)]
pub(super) struct Names {
    prefix: String,
}

/// How long a message may wait.
pub(super) fn expiry(deadline: Option<SystemTime>) -> Duration {
    match deadline {
        Some(deadline) => {
            let left = deadline.duration_since(SystemTime::now());
            left.unwrap_or_default() + GRACE
        }
        None => NO_DEADLINE,
    }
}

impl Names {
    pub(super) fn new(flare_id: &str) -> Result<Self, Error> {
        if flare_id.len() > LONGEST_ID {
            let reason = format!("a flare's id may have {LONGEST_ID} bytes at most");
            return Err(error(reason));
        }
        Ok(Self {
            prefix: format!("burst:{flare_id}"),
        })
    }

    /// Frames for a pack.
    pub(super) fn pack(&self, pack: u32) -> ShortString {
        format!("{}:pack:{pack}", self.prefix).into()
    }

    /// Control frames for a pack.
    pub(super) fn control(&self, pack: u32) -> ShortString {
        format!("{}:control:{pack}", self.prefix).into()
    }

    /// The exchange for frames for all.
    pub(super) fn cast(&self) -> ShortString {
        format!("{}:cast", self.prefix).into()
    }

    /// Holds the number of packs.
    pub(super) fn register(&self) -> ShortString {
        format!("{}:register", self.prefix).into()
    }

    /// Declares what a pack needs.
    pub(super) async fn declare(
        &self,
        channel: &Channel,
        pack: u32,
        expiry: Duration,
    ) -> lapin::Result<()> {
        for queue in [self.pack(pack), self.control(pack)] {
            let arguments = arguments(&[("x-expires", GRACE), ("x-message-ttl", expiry)]);
            channel
                .queue_declare(queue, QueueDeclareOptions::durable(), arguments)
                .await?;
        }
        let mut register = arguments(&[("x-expires", REGISTER)]);
        register.insert("x-max-length".into(), AMQPValue::LongInt(1));
        channel
            .queue_declare(self.register(), QueueDeclareOptions::durable(), register)
            .await?;
        let exchange = ExchangeDeclareOptions {
            durable: true,
            auto_delete: true,
            ..ExchangeDeclareOptions::default()
        };
        let none = FieldTable::default();
        channel
            .exchange_declare(self.cast(), ExchangeKind::Fanout, exchange, none.clone())
            .await?;
        let options = QueueBindOptions::default();
        channel
            .queue_bind(self.pack(pack), self.cast(), "".into(), options, none)
            .await
    }

    /// Deletes what only this pack reads, as far as the server lets it.
    pub(super) async fn delete(&self, channel: &Channel, pack: u32) {
        for queue in [self.pack(pack), self.control(pack)] {
            let _ = channel
                .queue_delete(queue, QueueDeleteOptions::default())
                .await;
        }
    }

    /// Deletes everything. What does not exist is deleted already.
    pub(super) async fn delete_all(&self, connection: &Connection) -> lapin::Result<()> {
        let packs = self.packs(connection).await?;
        let link = connection.link().await?;
        let channel = &link.channel;
        for pack in 0..packs {
            for queue in [self.pack(pack), self.control(pack)] {
                channel
                    .queue_delete(queue, QueueDeleteOptions::default())
                    .await?;
            }
        }
        let options = ExchangeDeleteOptions::default();
        channel.exchange_delete(self.cast(), options).await?;
        channel
            .queue_delete(self.register(), QueueDeleteOptions::default())
            .await?;
        Ok(())
    }

    /// How many packs were registered.
    async fn packs(&self, connection: &Connection) -> lapin::Result<u32> {
        // A channel of its own: the server closes it when there is no such queue.
        let link = connection.link().await?;
        let channel = &link.channel;
        let got = channel
            .basic_get(self.register(), BasicGetOptions { no_ack: false })
            .await;
        let message = match got {
            Ok(message) => message,
            Err(reason) if reason.is_amqp_soft_error() => None,
            Err(reason) => return Err(reason),
        };
        let number =
            message.and_then(|message| <[u8; 4]>::try_from(message.delivery.data.as_slice()).ok());
        Ok(number.map_or(0, u32::from_le_bytes))
    }
}

fn arguments(times: &[(&str, Duration)]) -> FieldTable {
    let mut table = FieldTable::default();
    for &(name, time) in times {
        // The server takes no more than 2^32 milliseconds, which is 49 days.
        let milliseconds = time.as_millis().min(u32::MAX.into()) as i64;
        table.insert(name.into(), AMQPValue::LongLongInt(milliseconds));
    }
    table
}
