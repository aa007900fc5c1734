//! What the watch's thread knows of the present flare.

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
    /// Whose goodbye was heard.
    pub(super) left: Vec<bool>,
    /// The failure that goes round.
    pub(super) failure: Option<Vec<u8>>,
    pub(super) suspects: BTreeMap<PackId, Suspect>,
    /// This pack is in the star.
    pub(super) joined: bool,
    /// When this pack said its goodbye.
    pub(super) leaving: Option<Instant>,
    /// Its goodbye has come back to it from the middle.
    pub(super) acknowledged: bool,
    /// When packs that did not dial are looked for.
    pub(super) probe: Option<Instant>,
    /// All that had not dialled could be reached when they were last looked for.
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

    /// It has failed, and everybody is told.
    pub(super) fn is_over(&self) -> bool {
        self.failure.is_some() || self.inbox.is_aborted()
    }
}
