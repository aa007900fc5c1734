//! What the watch's thread knows about the current flare.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::EXPLANATION;
use crate::pack_id::PackId;
use crate::remote::direct::connection_error::ConnectionError;
use crate::remote::inbox::Inbox;

/// See the module's documentation.
pub(super) struct FlareState {
    pub(super) inbox: Arc<Inbox>,
    /// For each pack, whether its goodbye was received.
    pub(super) left: Vec<bool>,
    /// The announced failure, as a frame.
    pub(super) failure: Option<Vec<u8>>,
    pub(super) suspects: BTreeMap<PackId, Suspect>,
    /// Whether this pack has joined the star.
    pub(super) joined: bool,
    /// When this pack said its goodbye.
    pub(super) leaving: Option<Instant>,
    /// Whether the middle has sent this pack's goodbye back.
    pub(super) acknowledged: bool,
    /// When to probe next for packs that have not dialled.
    pub(super) probe: Option<Instant>,
    /// Whether all packs that had not dialled could be reached at the last probe.
    pub(super) awaits_slow: bool,
}

pub(super) struct Suspect {
    pub(super) until: Instant,
    pub(super) reason: ConnectionError,
}

impl FlareState {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        let packs = inbox.config().topology.num_packs();
        Self {
            inbox,
            left: vec![false; packs as usize],
            failure: None,
            suspects: BTreeMap::new(),
            joined: false,
            leaving: None,
            acknowledged: false,
            probe: None,
            awaits_slow: false,
        }
    }

    pub(super) fn has_left(&self, pack: PackId) -> bool {
        self.left.get(pack.index()).copied().unwrap_or(false)
    }

    pub(super) fn suspect(&mut self, pack: PackId, reason: ConnectionError) {
        let until = Instant::now() + EXPLANATION;
        (self.suspects.entry(pack)).or_insert(Suspect { until, reason });
    }

    /// Whether the flare has failed and the others are being informed.
    pub(super) fn is_over(&self) -> bool {
        self.failure.is_some() || self.inbox.is_aborted()
    }
}
