//! How much this pack may send: its windows towards other packs, and the offers it waits on. The
//! receiving half is in [`super::inbox`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

use parking_lot::Mutex;

use super::Backend;
use super::stream::StreamKey;
use crate::cancellation::{Pause, WaitBudget};
use crate::error::{Error, Peer};
use crate::pack_id::PackId;

/// The room a message takes besides its bytes, so that empty messages are not free.
const OVERHEAD: u64 = 256;

/// How much of a window a message takes.
pub(super) fn cost(total: u64) -> u64 {
    total.saturating_add(OVERHEAD)
}

/// The bytes one pack may have on the way to another. Half of the limit is for eager messages,
/// shared by all packs that may send them; the other half is for granted ones.
pub(super) fn window(limit: u64, packs: u32) -> u64 {
    (limit / 2 / u64::from(packs.saturating_sub(1).max(1))).max(4 * OVERHEAD)
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Flow {
    windows: Mutex<Vec<Window>>,
    waiting: Mutex<HashMap<(StreamKey, u64), Arc<Ticket>>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    size: u64,
    /// Both are totals since the beginning, so that a repeated notice changes nothing.
    sent: u64,
    received: u64,
}

#[derive(Debug)]
struct Ticket {
    missing: Mutex<Vec<PackId>>,
    granted: AtomicBool,
    thread: Thread,
}

impl Flow {
    pub(super) fn new(limit: u64, packs: u32) -> Self {
        let window = Window {
            size: window(limit, packs),
            sent: 0,
            received: 0,
        };
        Self {
            windows: Mutex::new(vec![window; packs as usize]),
            waiting: Mutex::default(),
        }
    }

    /// Takes room for a message in the windows of all these packs, or of none.
    pub(super) fn reserve(&self, packs: &[PackId], cost: u64) -> bool {
        let mut windows = self.windows.lock();
        let room = packs.iter().all(|&pack| {
            windows.get(pack.index()).is_some_and(|window| {
                window
                    .sent
                    .saturating_sub(window.received)
                    .saturating_add(cost)
                    <= window.size
            })
        });
        if room {
            for &pack in packs {
                if let Some(window) = windows.get_mut(pack.index()) {
                    window.sent += cost;
                }
            }
        }
        room
    }

    /// A pack reports how many eager bytes it has received in total.
    pub(super) fn credit(&self, pack: PackId, received: u64) {
        if let Some(window) = self.windows.lock().get_mut(pack.index()) {
            window.received = window.received.max(received).min(window.sent);
        }
    }

    /// Waits until these packs have granted the message, which `offer` offers to them. A pack for
    /// which `is_gone` holds grants nothing.
    pub(super) fn wait_for_grant(
        &self,
        message: (StreamKey, u64),
        packs: &[PackId],
        budget: &mut WaitBudget<'_>,
        backend: &dyn Backend,
        is_gone: impl Fn(PackId) -> bool,
        offer: impl FnOnce(&mut WaitBudget<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let ticket = Arc::new(Ticket {
            missing: Mutex::new(packs.to_vec()),
            granted: AtomicBool::new(false),
            thread: thread::current(),
        });
        self.waiting.lock().insert(message, Arc::clone(&ticket));
        let result = offer(budget).and_then(|()| {
            budget.refresh();
            while !ticket.granted.load(Ordering::Acquire) {
                let first = ticket.missing.lock().first().copied();
                let peer = first.map_or(Peer::AnyWorker, Peer::Pack);
                match (budget.pause(peer)?, first) {
                    (Pause::Look, Some(pack)) => {
                        backend.progress(pack);
                    }
                    (Pause::Look, None) => {}
                    (Pause::Park(_), Some(pack)) if is_gone(pack) => {
                        return Err(Error::Departed {
                            operation: budget.operation,
                            peer,
                        });
                    }
                    (Pause::Park(limit), _) => {
                        packs.iter().for_each(|&pack| backend.hand_back(pack));
                        if !ticket.granted.load(Ordering::Acquire) {
                            budget.cancellation.park(limit);
                        }
                    }
                }
            }
            Ok(())
        });
        self.waiting.lock().remove(&message);
        result
    }

    /// Records that a pack has granted a message.
    pub(super) fn granted(&self, key: StreamKey, sequence: u64, pack: PackId) {
        let Some(ticket) = self.waiting.lock().get(&(key, sequence)).cloned() else {
            return;
        };
        let mut missing = ticket.missing.lock();
        missing.retain(|&other| other != pack);
        if missing.is_empty() {
            ticket.granted.store(true, Ordering::Release);
            ticket.thread.unpark();
        }
    }

    /// Wakes all waiting threads, so that they see that something has ended.
    pub(super) fn wake_all(&self) {
        for ticket in self.waiting.lock().values() {
            ticket.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: PackId = PackId(1);
    const TWO: PackId = PackId(2);

    #[test]
    fn a_window_fills_and_empties() {
        let flow = Flow::new(8 * OVERHEAD, 2);
        assert!(flow.reserve(&[ONE], cost(OVERHEAD)));
        assert!(flow.reserve(&[ONE], cost(OVERHEAD)));
        assert!(!flow.reserve(&[ONE], cost(0)));
        flow.credit(ONE, cost(OVERHEAD));
        // Repeated or late credits free no more room than there is.
        flow.credit(ONE, cost(OVERHEAD));
        flow.credit(ONE, 1);
        assert!(flow.reserve(&[ONE], cost(OVERHEAD)));
        assert!(!flow.reserve(&[ONE], cost(0)));
        flow.credit(ONE, u64::MAX);
        assert!(flow.reserve(&[ONE], cost(OVERHEAD)));
    }

    #[test]
    fn all_windows_are_reserved_or_none() {
        let flow = Flow::new(8 * OVERHEAD, 3);
        assert!(flow.reserve(&[TWO], 4 * OVERHEAD));
        assert!(!flow.reserve(&[ONE, TWO], OVERHEAD));
        assert!(flow.reserve(&[ONE], 4 * OVERHEAD));
    }
}
