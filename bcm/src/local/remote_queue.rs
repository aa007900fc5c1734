//! The queue of messages from other packs, until a worker takes them.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::primitives::{AtomicUsize, Ordering};
use super::unexpected::{Envelope, MatchSpec, UnexpectedQueue};
use super::waiters::Waiters;
use crate::error::Error;
use crate::message::Message;

/// Messages of several senders. There are few at a time, so one lock is enough.
#[derive(Debug, Default)]
pub(super) struct RemoteQueue {
    /// Incremented with every delivery.
    version: AtomicUsize,
    by_source: Mutex<FxHashMap<u32, UnexpectedQueue>>,
    pub(super) waiters: Waiters,
}

impl RemoteQueue {
    /// Adds messages, and wakes sleepers once, when all of them are there.
    pub(super) fn deliver(&self, envelopes: impl Iterator<Item = (u32, Envelope)>) {
        {
            let mut by_source = self.by_source.lock();
            for (source, envelope) in envelopes {
                by_source.entry(source).or_default().keep(envelope);
            }
            self.version.fetch_add(1, Ordering::Release);
        }
        self.waiters.wake();
    }

    pub(super) fn try_take(&self, spec: &MatchSpec) -> Result<Option<Message>, Box<Error>> {
        match self.by_source.lock().get_mut(&spec.source) {
            Some(unexpected) => unexpected.take(spec),
            None => Ok(None),
        }
    }

    /// Returns a message from any sender, with its sender.
    pub(super) fn try_take_any(
        &self,
        spec: &MatchSpec,
    ) -> Result<Option<(u32, Message)>, Box<Error>> {
        for (&source, unexpected) in self.by_source.lock().iter_mut() {
            if let Some(message) = unexpected.take(&MatchSpec { source, ..*spec })? {
                return Ok(Some((source, message)));
            }
        }
        Ok(None)
    }

    /// Changes when something is delivered.
    pub(super) fn version(&self) -> usize {
        self.version.load(Ordering::Acquire)
    }
}
