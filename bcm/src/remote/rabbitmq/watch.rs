//! Notices packs that are gone: a queue nobody reads belongs to one, and so does one that is not there.
//!
//! Each pack asks after the next one that has not said goodbye. The server knows at once when a
//! process dies, because its connection does. A pack that ends in good order deletes its queue, and has said goodbye
//! before. The server confirms what is published for a queue that does not exist, and drops it: who has none, in this
//! virtual host, would be waited for in vain.
//!
//! What is allowed for is counted in looks, not in time: where this machine or the server has so much to do that a look
//! takes long, whoever connects again takes long as well.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lapin::ErrorKind;
use lapin::options::QueueDeclareOptions;
use lapin::protocol::AMQPSoftError;
use lapin::types::FieldTable;

use super::connection::Link;
use super::server::error;
use super::{SILENCE, Shared};
use crate::pack_id::PackId;
use crate::remote::runtime;

/// Between two questions.
const PERIOD: Duration = Duration::from_millis(100);

/// How often a pack may be missed in a row: as often as it is looked for in this time where answers take none.
const fn looks(time: Duration) -> u128 {
    time.as_millis() / PERIOD.as_millis()
}

/// Asks until the pack closes.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut link = None;
    let mut missed: Option<(PackId, u128)> = None;
    let mut frames = 0;
    let mut cut: Option<Instant> = None;
    while !shared.closing.load(Ordering::Acquire) {
        tokio::time::sleep(PERIOD).await;
        let mut others = shared.pack.others(shared.packs);
        let next = others.find(|&pack| !shared.inbox.has_left(pack));
        let Some(pack) = next else {
            return;
        };
        if link.as_ref().is_some_and(|link: &Link| !link.is_up()) {
            cut = Some(Instant::now());
        }
        let answer = runtime::within(SILENCE, look(&shared, &mut link, pack)).await;
        let Some(queue) = answer else {
            return shared.broken(&error(format!(
                "the server has said nothing for {SILENCE:?}"
            )));
        };
        let (budget, reason) = match queue {
            None | Some(Queue::Read) => {
                missed = None;
                continue;
            }
            // It may be connecting again; what cut this pack's connection may have cut its too, and it
            // may be slower.
            Some(Queue::Unread) => {
                let budget = match cut {
                    Some(cut) if cut.elapsed() < SILENCE => SILENCE,
                    _ => shared.recovery,
                };
                (budget, "nobody reads its queue on the server")
            }
            // Its goodbye may be behind other messages here, for as long as some come.
            Some(Queue::Missing) => {
                let before = mem::replace(&mut frames, shared.frames.load(Ordering::Relaxed));
                if before != frames {
                    missed = None;
                }
                (SILENCE, "it has no queue on the server")
            }
        };
        let times = match missed {
            Some((seen, times)) if seen == pack => times + 1,
            _ => 1,
        };
        missed = Some((pack, times));
        if times > looks(budget) {
            return shared.inbox.lost(pack, reason);
        }
    }
}

/// What is seen of a pack's queue.
enum Queue {
    Read,
    Unread,
    Missing,
}

/// Looks at a pack's queue; `None` when the connection broke.
async fn look(shared: &Shared, link: &mut Option<Link>, pack: PackId) -> Option<Queue> {
    let open = match link.take().filter(Link::is_up) {
        Some(open) => open,
        None => shared.back.link().await.ok()?,
    };
    let options = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let queue = open
        .channel
        .queue_declare(shared.names.control(pack), options, FieldTable::default())
        .await;
    match queue {
        Ok(queue) => {
            *link = Some(open);
            Some(match queue.consumer_count() {
                0 => Queue::Unread,
                _ => Queue::Read,
            })
        }
        // With this answer the server has closed the channel.
        Err(reason) => is_not_found(&reason).then_some(Queue::Missing),
    }
}

fn is_not_found(reason: &lapin::Error) -> bool {
    match reason.kind() {
        ErrorKind::ProtocolError(reason) => *reason.kind() == AMQPSoftError::NOTFOUND.into(),
        _ => false,
    }
}
