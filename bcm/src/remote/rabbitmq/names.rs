//! The queues of a flare on the server, named after its id; declared and deleted here.

use std::time::{Duration, SystemTime};

use lapin::Channel;
use lapin::options::{QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};

use super::server::error;
use crate::error::Error;
use crate::pack_id::PackId;

/// How long a queue is kept after its reader has gone, and its messages after the deadline.
const GRACE: Duration = Duration::from_secs(60);
/// How long a message of a flare without a deadline may wait.
const NO_DEADLINE: Duration = Duration::from_secs(24 * 3600);
/// The exchange for frames for all packs: one that exists in every virtual host, so that flares
/// leave none behind.
pub(super) const CAST: &str = "amq.direct";
/// The exchange that uses each queue's name as its key.
pub(super) const QUEUES: &str = "";
/// The longest id that leaves room for the rest of a name; AMQP names have at most 255 bytes.
const LONGEST_ID: usize = 200;

/// The names of a flare's queues, and the key of frames for all packs.
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

    /// The queue of frames for a pack.
    pub(super) fn pack(&self, pack: PackId) -> ShortString {
        format!("{}:pack:{pack}", self.prefix).into()
    }

    /// The queue of control frames for a pack.
    pub(super) fn control(&self, pack: PackId) -> ShortString {
        format!("{}:control:{pack}", self.prefix).into()
    }

    /// The key of frames for all packs.
    pub(super) fn cast(&self) -> ShortString {
        format!("{}:cast", self.prefix).into()
    }

    /// Declares a pack's queues and binds the common key.
    pub(super) async fn declare(
        &self,
        channel: &Channel,
        pack: PackId,
        expiry: Duration,
    ) -> lapin::Result<()> {
        for queue in [self.pack(pack), self.control(pack)] {
            let arguments = arguments(&[("x-expires", GRACE), ("x-message-ttl", expiry)]);
            channel
                .queue_declare(queue, QueueDeclareOptions::durable(), arguments)
                .await?;
        }
        let (options, none) = (QueueBindOptions::default(), FieldTable::default());
        channel
            .queue_bind(self.pack(pack), CAST.into(), self.cast(), options, none)
            .await
    }

    /// Deletes a pack's queues, if the server allows it.
    pub(super) async fn delete(&self, channel: &Channel, pack: PackId) {
        for queue in [self.pack(pack), self.control(pack)] {
            let _ = channel
                .queue_delete(queue, QueueDeleteOptions::default())
                .await;
        }
    }
}

fn arguments(times: &[(&str, Duration)]) -> FieldTable {
    let mut table = FieldTable::default();
    for &(name, time) in times {
        // The server accepts at most 2^32 milliseconds, which is 49 days.
        let milliseconds = time.as_millis().min(u32::MAX.into()) as i64;
        table.insert(name.into(), AMQPValue::LongLongInt(milliseconds));
    }
    table
}
