//! Where messages from other packs lie until a worker takes them.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::kept::{Envelope, Kept, Want};
use super::primitives::{AtomicUsize, Ordering};
use super::sleepers::Sleepers;
use crate::error::Error;
use crate::message::Parcel;

/// Messages of several senders, who are not many at a time, so one lock does.
#[derive(Debug, Default)]
pub(super) struct Tray {
    /// Raised with every delivery.
    version: AtomicUsize,
    by_source: Mutex<FxHashMap<u32, Kept>>,
    pub(super) sleepers: Sleepers,
}

impl Tray {
    /// Whoever sleeps is woken once, with all of them there.
    pub(super) fn deliver(&self, envelopes: impl Iterator<Item = (u32, Envelope)>) {
        {
            let mut by_source = self.by_source.lock();
            for (source, envelope) in envelopes {
                by_source.entry(source).or_default().keep(envelope);
            }
            self.version.fetch_add(1, Ordering::Release);
        }
        self.sleepers.wake();
    }

    pub(super) fn try_take(&self, want: &Want) -> Result<Option<Parcel>, Box<Error>> {
        match self.by_source.lock().get_mut(&want.source) {
            Some(kept) => kept.take(want),
            None => Ok(None),
        }
    }

    /// A message of any sender, who is named.
    pub(super) fn try_take_any(&self, want: &Want) -> Result<Option<(u32, Parcel)>, Box<Error>> {
        for (&source, kept) in self.by_source.lock().iter_mut() {
            if let Some(parcel) = kept.take(&Want { source, ..*want })? {
                return Ok(Some((source, parcel)));
            }
        }
        Ok(None)
    }

    /// Changes when something is delivered.
    pub(super) fn version(&self) -> usize {
        self.version.load(Ordering::Acquire)
    }
}
