//! Receives what a backend reads: checks frames, assembles messages, brings them into order without
//! duplicates, and gives them to the mailboxes of this pack's workers.
//!
//! Lock order: `state`, then `budget`, then a mailbox's own. No frame is sent and no payload is
//! copied under a lock. A [`Permit`](super::permit::Permit) is never dropped while `state` is
//! locked, since giving back its room may grant an offer.

mod budget;
mod checks;
mod endings;
mod grants;
mod offers;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::iter;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock, Weak};

use budget::Budget;
use offers::Offers;
use parking_lot::Mutex;

pub(super) use checks::check_news;
pub(crate) use grants::Expectation;

use super::Backend;
use super::arrived::Arrived;
use super::assembly::{Assembly, Slot};
use super::bundle;
use super::counters::Counters;
use super::flow::Flow;
use super::patience::Patience;
use super::stream::{Arrival, Known, Stream, StreamKey};
use crate::address::Destination;
use crate::cancellation::Cancellation;
use crate::error::Error;
use crate::failure::{Failure, FailureKind};
use crate::local::Mailbox;
use crate::mailboxes::Mailboxes;
use crate::message::Message;
use crate::pack_id::PackId;
use crate::payload::{Body, Encoding};
use crate::topology::Topology;
use crate::wire::{Header, Kind, WireError};

/// The configuration of an inbox.
#[derive(Debug)]
pub(crate) struct InboxConfig {
    pub(crate) flare: [u8; 16],
    pub(crate) pack: PackId,
    pub(crate) topology: Topology,
    pub(crate) max_message: u64,
    pub(crate) max_bytes_in_flight: u64,
    pub(crate) cancellation: Arc<Cancellation>,
    pub(crate) mailboxes: Arc<Mailboxes>,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Inbox {
    config: InboxConfig,
    me: Weak<Self>,
    backend: OnceLock<Weak<dyn Backend>>,
    pub(super) flow: Flow,
    pub(super) counters: Counters,
    state: Mutex<State>,
    budget: Mutex<Budget>,
    /// The number of waiting offers, read without the lock whenever room is given back.
    offers_waiting: AtomicUsize,
    /// For each pack that has said goodbye, how long more frames from it may still arrive.
    departed: Vec<OnceLock<Mutex<Patience>>>,
}

#[derive(Debug)]
struct State {
    streams: HashMap<StreamKey, Stream>,
    offers: Offers,
    /// The streams that workers are waiting on, with the number of workers.
    expected: HashMap<StreamKey, usize>,
    /// The pack has left the flare: frames that still arrive for it are dropped.
    closed: bool,
}

impl State {
    fn new(packs: u32) -> Self {
        Self {
            streams: HashMap::new(),
            offers: Offers::new(packs),
            expected: HashMap::new(),
            closed: false,
        }
    }

    /// What is known about a message; only a message with a permit creates a stream.
    fn known(&self, key: StreamKey, sequence: u64) -> Known {
        let stream = self.streams.get(&key);
        stream.map_or(Known::New, |stream| stream.known(sequence))
    }

    /// Whether a worker waits for this message next.
    fn is_wanted(&self, key: StreamKey, sequence: u64) -> bool {
        let due = self.streams.get(&key).map_or(0, Stream::due);
        sequence == due && self.expected.contains_key(&key)
    }
}

/// What a backend must do with the payload that follows a header.
#[derive(Debug)]
pub(crate) enum PayloadTarget {
    /// Read it into the chunk's place, then [`Chunk::commit`].
    Chunk(Chunk),
    /// Read it and hand it to [`Inbox::notice`]; it is short.
    Notice(usize),
    /// Read it and drop it: it has already arrived, or the pack has left.
    Skip(usize),
}

/// The place of a chunk in its message.
#[derive(Debug)]
pub(crate) struct Chunk {
    inbox: Arc<Inbox>,
    assembly: Arc<Assembly>,
    slot: Slot,
    header: Header,
}

impl Chunk {
    /// Where the payload goes.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        self.slot.bytes()
    }

    /// Like `commit`, for frames with a checksum.
    pub(crate) fn verify_and_commit(mut self) -> Result<(), WireError> {
        let header = self.header;
        header.verify(self.bytes())?;
        self.commit();
        Ok(())
    }

    /// Records that the payload is in place. If this is dropped instead, the chunk can arrive
    /// again.
    pub(crate) fn commit(self) {
        if self.slot.fill() {
            self.inbox.complete(&self.header, &self.assembly);
        }
    }
}

impl Inbox {
    pub(crate) fn new(config: InboxConfig) -> Arc<Self> {
        let packs = config.topology.num_packs();
        let limit = config.max_bytes_in_flight;
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            backend: OnceLock::new(),
            flow: Flow::new(limit, packs),
            counters: Counters::default(),
            state: Mutex::new(State::new(packs)),
            budget: Mutex::new(Budget::new(limit, packs)),
            offers_waiting: AtomicUsize::new(0),
            departed: (0..packs).map(|_| OnceLock::new()).collect(),
            config,
        })
    }

    pub(super) fn attach(&self, backend: Weak<dyn Backend>) {
        // There is one backend per pack, so there is no second call.
        let _ = self.backend.set(backend);
    }

    pub(super) fn config(&self) -> &InboxConfig {
        &self.config
    }

    /// Whether a header belongs to this flare, and not to another one of the same packs.
    pub(super) fn is_of(&self, header: &Header) -> bool {
        header.flare == self.config.flare
    }

    /// Accepts a header that has arrived, and returns what to do with its payload.
    pub(crate) fn open(&self, header: &Header) -> Result<PayloadTarget, WireError> {
        self.check(header)?;
        if header.kind != Kind::Data {
            return Ok(PayloadTarget::Notice(header.payload_len()?));
        }
        let layout = header.layout()?;
        let length = layout.range(header.chunk).len();
        let assembly = {
            let mut state = self.state.lock();
            if state.closed {
                return Ok(PayloadTarget::Skip(length));
            }
            let key = StreamKey::of(header);
            match state.known(key, header.sequence) {
                Known::Done => return Ok(PayloadTarget::Skip(length)),
                Known::Partly(assembly) => assembly,
                Known::New => {
                    let permit = self.permit_eager(header)?;
                    let assembly = Arc::new(Assembly::new(layout, header.encoding, permit));
                    let stream = state.streams.entry(key).or_default();
                    stream.begin(header.sequence, Arc::clone(&assembly));
                    assembly
                }
            }
        };
        if !assembly.fits(layout, header.encoding) {
            return Err(WireError::Layout {
                chunk: header.chunk,
                chunks: header.chunks,
                total: header.total,
            });
        }
        Ok(match (assembly.claim(header.chunk), self.me.upgrade()) {
            (Some(slot), Some(inbox)) => PayloadTarget::Chunk(Chunk {
                inbox,
                assembly,
                slot,
                header: *header,
            }),
            _ => PayloadTarget::Skip(length),
        })
    }

    /// Accepts a whole frame that has arrived.
    pub(crate) fn accept(&self, header: &Header, payload: &[u8]) -> Result<(), WireError> {
        let right_length = |expected: usize| match payload.len() == expected {
            true => Ok(()),
            false => Err(WireError::Length {
                expected,
                found: payload.len(),
            }),
        };
        match self.open(header)? {
            PayloadTarget::Chunk(mut chunk) => {
                let buffer = chunk.bytes();
                right_length(buffer.len())?;
                buffer.copy_from_slice(payload);
                chunk.commit();
            }
            PayloadTarget::Notice(length) => {
                right_length(length)?;
                self.notice(header, payload);
            }
            PayloadTarget::Skip(_) => {}
        }
        Ok(())
    }

    /// Handles a frame that is not part of a message.
    pub(crate) fn notice(&self, header: &Header, payload: &[u8]) {
        match header.kind {
            Kind::Data | Kind::Stored => {}
            Kind::Offer => {
                self.compare(header);
                if let Err(error) = self.offered(header) {
                    self.refused(Some(header.pack), &error);
                }
            }
            Kind::Grant => {
                let key = StreamKey::of(header);
                self.flow.granted(key, header.sequence, header.pack);
            }
            Kind::Credit => self.flow.credit(header.pack, header.total),
            Kind::Abort => {
                let failure = serde_json::from_slice(payload).unwrap_or_else(|_| {
                    let mut failure = Failure::new(FailureKind::PeerFailed, "it did not say why");
                    failure.pack = Some(header.pack);
                    failure
                });
                self.end(Error::Aborted(failure));
            }
            Kind::Goodbye => self.left(header.pack),
            Kind::Waiting => self.compare(header),
        }
    }

    /// Delivers a message whose last chunk is in place.
    fn complete(&self, header: &Header, assembly: &Assembly) {
        let arrival = match self.arrival(header, assembly) {
            Ok(arrival) => arrival,
            Err(error) => return self.refused(Some(header.pack), &error),
        };
        let message = |arrived| Message::Remote(Box::new(arrived));
        let key = StreamKey::of(header);
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        let stream = state.streams.entry(key).or_default();
        let (sequence, class) = (header.sequence, header.class);
        let histories = &self.config.mailboxes.histories;
        // Together with the messages, which must not be dropped under the lock either.
        let mut mismatched = Vec::new();
        stream.complete(sequence, class, arrival, |class, arrival| {
            if let Err(error) = histories.heard(header.context, class, header.source) {
                mismatched.push((error, arrival));
                return;
            }
            match arrival {
                Arrival::One(arrived) => {
                    if let Some(mailbox) = self.mailbox(header.destination) {
                        let only = [(header.source, message(arrived))];
                        mailbox.deliver_remote(header.context, class, only.into_iter());
                    }
                }
                Arrival::Several(bundled) => {
                    let mut bundled = bundled.into_iter().peekable();
                    while let Some(destination) = bundled.peek().map(|value| value.destination) {
                        let same = || bundled.next_if(|value| value.destination == destination);
                        let messages =
                            iter::from_fn(same).map(|value| (value.source, message(value.arrived)));
                        match self.mailbox(destination) {
                            Some(mailbox) => {
                                mailbox.deliver_remote(header.context, class, messages)
                            }
                            None => messages.for_each(drop),
                        }
                    }
                }
            }
        });
        let wanted = self.grant_wanted(&mut state, key);
        drop(state);
        self.grant(wanted);
        for (error, _) in mismatched {
            self.mismatched(error);
        }
    }

    fn arrival(&self, header: &Header, assembly: &Assembly) -> Result<Arrival, WireError> {
        let (encoding, buffer, permit) = assembly.finish();
        self.counters.received(buffer.as_bytes().len());
        let fingerprint = header.fingerprint;
        if encoding != Encoding::Bundle {
            return Ok(Arrival::One(Arrived {
                encoding,
                fingerprint,
                body: Body::Whole(buffer),
                permit,
            }));
        }
        let topology = &self.config.topology;
        let (theirs, ours) = (header.pack, self.config.pack);
        let most = topology.pack_size(theirs) as usize * topology.pack_size(ours) as usize;
        let mut bundled = bundle::open(fingerprint, buffer, permit, most)?;
        // Values for the same receiver are delivered together.
        bundled.sort_by_key(|value| value.destination);
        for value in &bundled {
            self.check_ends(theirs, value.source, value.destination)?;
        }
        Ok(Arrival::Several(bundled))
    }

    fn mailbox(&self, destination: Destination) -> Option<&Mailbox> {
        match destination {
            Destination::Worker(worker) => self.config.mailboxes.of(worker),
            Destination::Pack => Some(self.config.mailboxes.of_pack()),
        }
    }

    /// Drops everything that was not delivered, and everything that arrives from now on.
    pub(super) fn clear(&self) {
        let closed = State {
            closed: true,
            ..State::new(0)
        };
        let state = std::mem::replace(&mut *self.state.lock(), closed);
        drop(state);
    }
}
