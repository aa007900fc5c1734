//! Messages that other packs want to send and for which there was no room yet.

use std::collections::{BTreeMap, HashMap};

use crate::remote::stream::StreamKey;
use crate::wire::{Header, WireError};

/// The most offers one pack may have waiting here: each belongs to a thread that waits in that
/// pack.
pub(super) const MOST: u32 = 4096;

/// See the module's documentation. First come, first served.
#[derive(Debug)]
pub(super) struct Offers {
    /// By order of arrival.
    waiting: BTreeMap<u64, Header>,
    streams: HashMap<StreamKey, BTreeMap<u64, u64>>,
    /// The number of waiting offers per pack.
    counts: Vec<u32>,
    next: u64,
}

impl Offers {
    pub(super) fn new(packs: u32) -> Self {
        Self {
            waiting: BTreeMap::new(),
            streams: HashMap::new(),
            counts: vec![0; packs as usize],
            next: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn first(&self) -> Option<&Header> {
        self.waiting.values().next()
    }

    /// Adds an offer, unless it was made before.
    pub(super) fn add(&mut self, offer: Header) -> Result<(), WireError> {
        let key = StreamKey::of(&offer);
        let made = (self.streams.get(&key)).is_some_and(|it| it.contains_key(&offer.sequence));
        if made {
            return Ok(());
        }
        let count = self.counts.get_mut(offer.pack.index());
        match count {
            Some(count) if *count < MOST => *count += 1,
            _ => return Err(WireError::Offers),
        }
        self.next += 1;
        let stream = self.streams.entry(key).or_default();
        stream.insert(offer.sequence, self.next);
        self.waiting.insert(self.next, offer);
        Ok(())
    }

    pub(super) fn take_first(&mut self) -> Option<Header> {
        let offer = *self.first()?;
        self.take(StreamKey::of(&offer), offer.sequence)
    }

    /// Takes the offer of one message.
    pub(super) fn take(&mut self, key: StreamKey, sequence: u64) -> Option<Header> {
        let stream = self.streams.get_mut(&key)?;
        let number = stream.remove(&sequence)?;
        if stream.is_empty() {
            self.streams.remove(&key);
        }
        let offer = self.waiting.remove(&number)?;
        if let Some(count) = self.counts.get_mut(offer.pack.index()) {
            *count -= 1;
        }
        Some(offer)
    }
}
