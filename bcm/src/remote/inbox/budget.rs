//! How many bytes may be on their way to this pack, and how many are.

use crate::pack_id::PackId;
use crate::remote::flow::window;
use crate::wire::WireError;

#[derive(Debug)]
pub(super) struct Budget {
    /// Bytes that came eagerly, and bytes that were granted.
    eager: u64,
    granted: u64,
    limit: u64,
    window: u64,
    peers: Vec<PeerBudget>,
}

#[derive(Debug, Clone, Copy, Default)]
struct PeerBudget {
    eager: u64,
    /// Bytes since the beginning: received by workers, and last reported to the sender.
    received: u64,
    told: u64,
}

impl Budget {
    pub(super) fn new(limit: u64, packs: u32) -> Self {
        Self {
            eager: 0,
            granted: 0,
            limit,
            window: window(limit, packs),
            peers: vec![PeerBudget::default(); packs as usize],
        }
    }

    pub(super) fn used(&self) -> u64 {
        self.eager + self.granted
    }

    pub(super) fn take_eager(&mut self, pack: PackId, cost: u64) -> Result<(), WireError> {
        let Some(peer) = self.peers.get_mut(pack.index()) else {
            return Err(WireError::Window);
        };
        if peer.eager.saturating_add(cost) > self.window {
            return Err(WireError::Window);
        }
        peer.eager += cost;
        self.eager += cost;
        Ok(())
    }

    pub(super) fn grant(&mut self, cost: u64) {
        self.granted += cost;
    }

    /// Returns the total number of received bytes if it is time to report it to the sender.
    pub(super) fn give_back(&mut self, pack: PackId, cost: u64, eager: bool) -> Option<u64> {
        let used = match eager {
            true => &mut self.eager,
            false => &mut self.granted,
        };
        *used = used.saturating_sub(cost);
        let threshold = self.window / 4;
        let peer = self.peers.get_mut(pack.index()).filter(|_| eager)?;
        peer.eager = peer.eager.saturating_sub(cost);
        peer.received += cost;
        (peer.received - peer.told >= threshold).then(|| {
            peer.told = peer.received;
            peer.received
        })
    }

    /// Whether a further message can be granted: into the half of the limit that is not for eager
    /// messages. A message larger than that has room when no other is granted.
    pub(super) fn has_room(&self, cost: u64) -> bool {
        self.granted == 0 || self.granted.saturating_add(cost) <= self.limit / 2
    }
}
