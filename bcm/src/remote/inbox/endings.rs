//! How a flare ends for a pack: other packs leave, are lost or fail, and errors that this pack
//! finds are announced to the others.

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

/// How long after a pack's goodbye its last messages may still be on their way, or the report of
/// the failure that made it leave: that comes from another pack and may be slower than the goodbye.
pub(super) const STRAGGLERS: Duration = Duration::from_millis(500);
impl Inbox {
    /// Records that another pack sends nothing more.
    pub(crate) fn left(&self, pack: PackId) {
        if let Some(departed) = self.departed.get(pack.index()) {
            departed.get_or_init(|| Mutex::new(Patience::of(STRAGGLERS)));
            self.config.cancellation.announce_change();
        }
    }

    /// Whether the pack's operations have ended, successfully or not.
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

    /// Whether another pack said goodbye so long ago that neither messages from it nor the reason
    /// it left can still arrive.
    pub(crate) fn is_gone(&self, pack: PackId) -> bool {
        self.departed
            .get(pack.index())
            .and_then(OnceLock::get)
            .is_some_and(|stragglers| stragglers.lock().is_over())
    }

    /// Whether no more messages can come from a worker.
    pub(in crate::remote) fn departed(&self, worker: u32) -> bool {
        let pack = self.config.topology.pack_of(worker);
        pack.is_some_and(|pack| self.is_gone(pack))
    }

    /// Fails the flare because another pack disappeared without a goodbye.
    pub(crate) fn lost(&self, pack: PackId, reason: impl fmt::Display) {
        let mut failure = Failure::new(FailureKind::PackLost, reason.to_string());
        failure.pack = Some(pack);
        self.fail(failure);
    }

    /// Fails the flare because of a frame that cannot be right, rather than compute with it.
    pub(crate) fn refused(&self, pack: Option<PackId>, error: &WireError) {
        self.fail(error.to_failure(pack));
    }

    /// Fails the flare because this pack can receive nothing more.
    pub(crate) fn broken(&self, reason: &Error) {
        self.fail(reason.to_failure(None, Some(self.config.pack)));
    }

    /// Compares the collective that another pack's worker called with those called here.
    pub(super) fn compare(&self, header: &Header) {
        let histories = &self.config.mailboxes.histories;
        if let Err(error) = histories.heard(header.context, header.class, header.source) {
            self.mismatched(error);
        }
    }

    /// Ends the flare because workers of two packs have called different collectives.
    pub(super) fn mismatched(&self, error: Error) {
        let failure = error.to_failure(None, Some(self.config.pack));
        if self.end(error) {
            self.tell_all(&failure);
        }
    }

    /// Ends this pack's operations with a failure and announces it. A pack that has closed and
    /// still connects the others announces it too.
    fn fail(&self, failure: Failure) {
        let first = self.end(Error::Aborted(failure.clone()));
        if first || matches!(self.config.cancellation.ended(), Some(Error::Closed)) {
            self.tell_all(&failure);
        }
    }

    /// Ends this pack's operations; `true` if nothing else has ended them yet.
    pub(super) fn end(&self, error: Error) -> bool {
        let first = self.config.cancellation.end(error);
        if first {
            self.config.mailboxes.wake_all();
            self.flow.wake_all();
        }
        first
    }

    /// Announces a failure to every other pack. Best effort: a pack that cannot be reached notices
    /// by itself.
    pub(in crate::remote) fn tell_all(&self, failure: &Failure) {
        let Ok(payload) = serde_json::to_vec(failure) else {
            return;
        };
        self.notify(Kind::Abort, &payload);
    }

    /// The failure that the flare has ended with, as it is announced to others.
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

    /// Sends a frame without a particular receiver to every other pack.
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
