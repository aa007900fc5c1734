//! Notices packs that are gone: those whose queue has no reader, or does not exist.
//!
//! Each pack checks the next one that has not said goodbye. The server notices immediately when a
//! process dies, because its connection ends. A pack that ends in good order deletes its queue, and
//! has said goodbye before that. The server confirms messages that are published for a missing
//! queue, and drops them: a pack without a queue in this virtual host would be waited for in vain.
//!
//! Limits are counted in checks, not in time: if this machine or the server is so busy that a check
//! takes long, reconnecting takes long as well.

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

/// The time between two checks.
const PERIOD: Duration = Duration::from_millis(100);

/// How many checks in a row a pack may fail: the checks that fit into this time if answers are
/// immediate.
const fn looks(time: Duration) -> u128 {
    time.as_millis() / PERIOD.as_millis()
}

/// Checks until the pack closes.
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
            // It may be reconnecting; the cause that cut this pack's connection may have cut its
            // connection too, and it may be slower.
            Some(Queue::Unread) => {
                let budget = match cut {
                    Some(cut) if cut.elapsed() < SILENCE => SILENCE,
                    _ => shared.recovery,
                };
                (budget, "nobody reads its queue on the server")
            }
            // Its goodbye may be queued behind other messages here, for as long as some arrive.
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

/// The state of a pack's queue.
enum Queue {
    Read,
    Unread,
    Missing,
}

/// Checks a pack's queue; `None` if the connection broke.
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
