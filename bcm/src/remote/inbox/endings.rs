//! How a flare ends for a pack: others leave it, are lost or fail, and what this pack finds wrong
//! goes to the others.

use std::fmt;
use std::sync::{OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::Inbox;
use crate::error::Error;
use crate::failure::{Failure, FailureKind};
use crate::pack_id::PackId;
use crate::remote::Frame;
use crate::remote::patience::Patience;
use crate::wire::{Header, Kind, WireError};

/// How long after a pack's goodbye its last messages may still be on their way, or word of the failure that it left
/// for: that comes from another pack, and the goodbye may be faster.
pub(super) const STRAGGLERS: Duration = Duration::from_millis(500);
impl Inbox {
    /// Another pack sends nothing more.
    pub(crate) fn left(&self, pack: PackId) {
        if let Some(departed) = self.departed.get(pack.index()) {
            departed.get_or_init(|| Mutex::new(Patience::of(STRAGGLERS)));
            self.config.cancellation.announce_change();
        }
    }

    /// Whether the pack's operations have ended, well or badly.
    #[cfg(any(test, feature = "s3"))]
    pub(crate) fn is_over(&self) -> bool {
        self.config.cancellation.ended().is_some()
    }

    /// Whether the flare has failed.
    pub(crate) fn is_aborted(&self) -> bool {
        !matches!(self.config.cancellation.ended(), None | Some(Error::Closed))
    }

    /// Whether another pack has said goodbye.
    pub(crate) fn has_left(&self, pack: PackId) -> bool {
        self.departed
            .get(pack.index())
            .is_some_and(|departed| departed.get().is_some())
    }

    /// Whether another pack has said goodbye so long ago that nothing of it, nor why it left, is still to come.
    pub(crate) fn is_gone(&self, pack: PackId) -> bool {
        self.departed
            .get(pack.index())
            .and_then(OnceLock::get)
            .is_some_and(|stragglers| stragglers.lock().is_over())
    }

    /// Whether nothing can come from a worker any more.
    pub(in crate::remote) fn departed(&self, worker: u32) -> bool {
        let pack = self.config.topology.pack_of(worker);
        pack.is_some_and(|pack| self.is_gone(pack))
    }

    /// Another pack is gone without a goodbye: the flare fails.
    pub(crate) fn lost(&self, pack: PackId, reason: impl fmt::Display) {
        let mut failure = Failure::new(FailureKind::PackLost, reason.to_string());
        failure.pack = Some(pack);
        self.fail(failure);
    }

    /// Something arrived that cannot be right: the flare fails rather than compute with it.
    pub(crate) fn refused(&self, pack: Option<PackId>, error: &WireError) {
        self.fail(error.to_failure(pack));
    }

    /// This pack can receive nothing more: the flare fails.
    pub(crate) fn broken(&self, reason: &Error) {
        self.fail(reason.to_failure(None, Some(self.config.pack)));
    }

    /// Compares what another pack's worker does with what has been called here.
    pub(super) fn compare(&self, header: &Header) {
        let histories = &self.config.mailboxes.histories;
        if let Err(error) = histories.heard(header.context, header.class, header.source) {
            self.mismatched(error);
        }
    }

    /// Workers of two packs have called different collectives.
    pub(super) fn mismatched(&self, error: Error) {
        let failure = error.to_failure(None, Some(self.config.pack));
        if self.end(error) {
            self.tell_all(&failure);
        }
    }

    /// A pack that has closed and still keeps the others together tells them too.
    fn fail(&self, failure: Failure) {
        let first = self.end(Error::Aborted(failure.clone()));
        if first || matches!(self.config.cancellation.ended(), Some(Error::Closed)) {
            self.tell_all(&failure);
        }
    }

    /// Ends this pack's operations; `true` when nothing else has yet.
    pub(super) fn end(&self, error: Error) -> bool {
        let first = self.config.cancellation.end(error);
        if first {
            self.config.mailboxes.wake_all();
            self.flow.wake_all();
        }
        first
    }

    /// Tells every other pack of a failure. Best effort: who cannot be told notices by itself.
    pub(in crate::remote) fn tell_all(&self, failure: &Failure) {
        let Ok(payload) = serde_json::to_vec(failure) else {
            return;
        };
        self.notify(Kind::Abort, &payload);
    }

    /// The failure that the flare has ended with, as others are told of it.
    pub(crate) fn failure(&self) -> Option<(Header, Vec<u8>)> {
        let config = &self.config;
        let failure = match config.cancellation.ended()? {
            Error::Closed => return None,
            Error::Aborted(failure) => failure.clone(),
            other => other.to_failure(None, Some(config.pack)),
        };
        let payload = serde_json::to_vec(&failure).ok()?;
        let length = payload.len() as u64;
        let header = Header::notice(Kind::Abort, config.flare, config.pack, length);
        Some((header, payload))
    }

    /// Sends a frame without a receiver in particular to every other pack.
    pub(in crate::remote) fn notify(&self, kind: Kind, payload: &[u8]) {
        let Some(backend) = self.backend.get().and_then(Weak::upgrade) else {
            return;
        };
        let config = &self.config;
        let header = Header::notice(kind, config.flare, config.pack, payload.len() as u64);
        let others: Vec<_> = (config.topology.packs())
            .filter(|&pack| pack != config.pack && !self.has_left(pack))
            .collect();
        backend.announce(&others, &Frame { header, payload });
    }
}
