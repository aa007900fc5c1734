//! Notices packs that are gone: a queue nobody reads belongs to one.
//!
//! Each pack asks after the next one that has not said goodbye. The server knows at once when a
//! process dies, because its connection does. A pack that ends in good order deletes its queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;

use super::connection::Link;
use super::server::error;
use super::{RECOVERY, SILENCE, Shared};

/// Between two questions.
const PERIOD: Duration = Duration::from_millis(100);

/// Asks until the pack closes.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut link = None;
    let mut unread: Option<(u32, Instant)> = None;
    let mut cut: Option<Instant> = None;
    while !shared.closing.load(Ordering::Acquire) {
        tokio::time::sleep(PERIOD).await;
        let next = (1..shared.packs)
            .map(|distance| (shared.pack + distance) % shared.packs)
            .find(|&pack| !shared.inbox.has_left(pack));
        let Some(pack) = next else {
            return;
        };
        if link.as_ref().is_some_and(|link: &Link| !link.is_up()) {
            cut = Some(Instant::now());
        }
        let answer = tokio::time::timeout(SILENCE, readers(&shared, &mut link, pack)).await;
        let Ok(readers) = answer else {
            return shared.broken(&error(format!(
                "the server has said nothing for {SILENCE:?}"
            )));
        };
        if readers != Some(0) {
            unread = None;
            continue;
        }
        // It may be connecting again; what cut this pack's connection may have cut its too, and it
        // may be slower.
        let budget = match cut {
            Some(cut) if cut.elapsed() < SILENCE => SILENCE,
            _ => RECOVERY,
        };
        let (seen, since) = *unread.get_or_insert_with(|| (pack, Instant::now()));
        if seen != pack {
            unread = None;
        } else if since.elapsed() > budget {
            return shared
                .inbox
                .lost(pack, "nobody reads its queue on the server");
        }
    }
}

/// How many read a pack's queue; `None` when it does not exist, or the connection broke.
async fn readers(shared: &Shared, link: &mut Option<Link>, pack: u32) -> Option<u32> {
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
        .await
        .ok()?;
    *link = Some(open);
    Some(queue.consumer_count())
}
