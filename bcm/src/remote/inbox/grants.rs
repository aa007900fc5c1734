//! How much may be on its way to this pack, and which offers are granted.
//!
//! Eager messages are bounded by their sender's window, which is checked here. Offers are granted
//! in the order they arrived while there is room, and immediately if a worker waits for the
//! message, because then it is not held for long. So a pack holds at most its limit plus what its
//! blocked workers wait for, and every message a worker waits for can arrive.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::super::Frame;
use super::super::assembly::Assembly;
use super::super::flow::cost;
use super::super::permit::{Permit, Release};
use super::super::stream::{Known, Stream, StreamKey};
use super::{Inbox, State};
use crate::pack_id::PackId;
use crate::wire::{Header, Kind, Layout, WireError};

/// While this lives, a worker waits for messages of a stream.
#[derive(Debug)]
pub(crate) struct Expectation {
    inbox: Arc<Inbox>,
    key: StreamKey,
}

impl Drop for Expectation {
    fn drop(&mut self) {
        let mut state = self.inbox.state.lock();
        if let Some(count) = state.expected.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                state.expected.remove(&self.key);
            }
        }
    }
}

impl Inbox {
    /// Takes room for a message that its sender had room for in its window.
    pub(super) fn permit_eager(&self, header: &Header) -> Result<Permit, WireError> {
        let cost = cost(header.total);
        {
            let mut budget = self.budget.lock();
            budget.take_eager(header.pack, cost)?;
            self.counters.in_flight(budget.used());
        }
        Ok(Permit {
            owner: self.me.clone(),
            pack: header.pack,
            cost,
            eager: true,
        })
    }

    /// Handles an offer of another pack.
    pub(super) fn offered(&self, header: &Header) -> Result<(), WireError> {
        let granted = {
            let mut state = self.state.lock();
            if state.closed {
                return Ok(());
            }
            let key = StreamKey::of(header);
            match state.known(key, header.sequence) {
                // Already granted; the grant may have been lost.
                Known::Partly(_) => Some(self.grant_of(header)),
                Known::Done => None,
                Known::New
                    if state.is_wanted(key, header.sequence)
                        || (state.offers.is_empty() && self.has_room(header)) =>
                {
                    Some(self.grant_room(&mut state, *header))
                }
                Known::New => {
                    state.offers.add(*header)?;
                    self.count_offers(&state);
                    None
                }
            }
        };
        self.grant(granted);
        Ok(())
    }

    /// Registers that a worker waits for the next message of a stream. If that message has been
    /// offered it is granted, whether there is room or not, because it will be taken immediately.
    pub(in crate::remote) fn expect(&self, key: StreamKey) -> Option<Expectation> {
        let inbox = self.me.upgrade()?;
        let granted = {
            let mut state = self.state.lock();
            *state.expected.entry(key).or_default() += 1;
            self.grant_wanted(&mut state, key)
        };
        self.grant(granted);
        Some(Expectation { inbox, key })
    }

    /// Grants the next message of a stream if it was offered and a worker waits for it. Later
    /// messages are not granted: the sender may offer any number of them.
    pub(super) fn grant_wanted(&self, state: &mut State, key: StreamKey) -> Option<Header> {
        if state.offers.is_empty() || !state.expected.contains_key(&key) {
            return None;
        }
        let due = state.streams.get(&key).map_or(0, Stream::due);
        let offer = state.offers.take(key, due)?;
        self.count_offers(state);
        Some(self.grant_room(state, offer))
    }

    fn count_offers(&self, state: &State) {
        let waiting = state.offers.len();
        self.offers_waiting.store(waiting, Ordering::Release);
    }

    fn has_room(&self, offer: &Header) -> bool {
        self.budget.lock().has_room(cost(offer.total))
    }

    /// Makes room for an offered message and a place in its stream.
    fn grant_room(&self, state: &mut State, offer: Header) -> Header {
        let cost = cost(offer.total);
        {
            let mut budget = self.budget.lock();
            budget.grant(cost);
            self.counters.in_flight(budget.used());
        }
        let permit = Permit {
            owner: self.me.clone(),
            pack: offer.pack,
            cost,
            eager: false,
        };
        let layout = offer.layout().unwrap_or(Layout::cut(0, 1));
        let assembly = Arc::new(Assembly::new(layout, offer.encoding, permit));
        let stream = state.streams.entry(StreamKey::of(&offer)).or_default();
        stream.begin(offer.sequence, assembly);
        self.grant_of(&offer)
    }

    /// The answer to an offer, addressed to the pack it came from.
    fn grant_of(&self, offer: &Header) -> Header {
        Header {
            kind: Kind::Grant,
            checksum: 0,
            ..*offer
        }
    }

    pub(super) fn grant(&self, grants: impl IntoIterator<Item = Header>) {
        for grant in grants {
            let header = Header {
                pack: self.config.pack,
                ..grant
            };
            self.answer(grant.pack, header);
        }
    }

    fn answer(&self, to: PackId, header: Header) {
        let Some(backend) = self.backend.get().and_then(Weak::upgrade) else {
            return;
        };
        let payload = &[];
        if let Err(error) = backend.control(to, &Frame { header, payload })
            && !self.has_left(to)
            && self.config.cancellation.ended().is_none()
        {
            self.broken(&error);
        }
    }
}

impl Release for Inbox {
    fn release(&self, pack: PackId, cost: u64, eager: bool) {
        let credit = self.budget.lock().give_back(pack, cost, eager);
        if let Some(received) = credit {
            let (flare, own) = (self.config.flare, self.config.pack);
            self.answer(pack, Header::notice(Kind::Credit, flare, own, received));
        }
        if self.offers_waiting.load(Ordering::Acquire) > 0 {
            let granted = {
                let mut state = self.state.lock();
                let mut granted = Vec::new();
                while state.offers.first().is_some_and(|it| self.has_room(it))
                    && let Some(offer) = state.offers.take_first()
                {
                    granted.push(self.grant_room(&mut state, offer));
                }
                self.count_offers(&state);
                granted
            };
            self.grant(granted);
        }
    }
}
