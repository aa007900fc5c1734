//! Where a backend hands in what arrives: checks it, puts messages together, in order and once,
//! and gives them to the mailboxes of this pack's workers.
//!
//! Lock order: `state`, then `budget`, then a mailbox's own. No frame is sent and no payload is
//! copied under a lock. A [`Charge`](super::flow::Charge) is never dropped under `state`, since giving back its room
//! may grant an offer.

mod admission;
mod checks;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::iter;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use admission::Budget;
use parking_lot::Mutex;

pub(crate) use admission::Expectation;
pub(super) use checks::check_news;

use super::assembly::{Assembly, Slot};
use super::bundle;
use super::counters::Counters;
use super::flow::Flow;
use super::stream::{Arrival, Arrived, Known, Stream, StreamKey};
use super::{Backend, Frame};
use crate::control::Control;
use crate::error::Error;
use crate::failure::{Failure, FailureKind};
use crate::local::Mailbox;
use crate::message::Parcel;
use crate::payload::{Body, Encoding};
use crate::shared::{Destination, Mailboxes};
use crate::topology::Topology;
use crate::wire::{Header, Kind, WireError};

/// How long after a pack's goodbye its last messages may still be on their way.
const STRAGGLERS: Duration = Duration::from_millis(500);

/// What an inbox needs to know.
#[derive(Debug)]
pub(crate) struct InboxConfig {
    pub(crate) flare: [u8; 16],
    pub(crate) pack: u32,
    pub(crate) topology: Topology,
    pub(crate) max_message: u64,
    pub(crate) max_bytes_in_flight: u64,
    pub(crate) control: Arc<Control>,
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
    /// Read without the lock whenever room is given back.
    offers_waiting: AtomicUsize,
    departed: Vec<OnceLock<Instant>>,
}

#[derive(Debug, Default)]
struct State {
    streams: HashMap<StreamKey, Stream>,
    /// Offers there was no room for, first come first served.
    offers: VecDeque<Header>,
    /// What workers are waiting for.
    expected: HashMap<StreamKey, usize>,
    /// The pack has left the flare: what still comes for it is dropped.
    closed: bool,
}

/// What a backend does with the payload that follows a header.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Read it into the chunk's place, then [`Chunk::commit`].
    Chunk(Chunk),
    /// Read it and hand it to [`Inbox::notice`]; it is short.
    Notice(usize),
    /// Read it and drop it: it has been here before.
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

    /// As `commit`, for frames that carry a checksum.
    pub(crate) fn verify_and_commit(mut self) -> Result<(), WireError> {
        let header = self.header;
        header.verify(self.bytes())?;
        self.commit();
        Ok(())
    }

    /// The payload is there. Dropped without this, the chunk may come again.
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
            state: Mutex::default(),
            budget: Mutex::new(Budget::new(limit, packs)),
            offers_waiting: AtomicUsize::new(0),
            departed: (0..packs).map(|_| OnceLock::new()).collect(),
            config,
        })
    }

    pub(super) fn attach(&self, backend: Weak<dyn Backend>) {
        // There is one backend per pack, so a second call cannot happen.
        let _ = self.backend.set(backend);
    }

    pub(super) fn config(&self) -> &InboxConfig {
        &self.config
    }

    /// Whether a header names this flare, and not another one of the same packs.
    pub(super) fn is_of(&self, header: &Header) -> bool {
        header.flare == self.config.flare
    }

    /// A header has arrived.
    pub(crate) fn open(&self, header: &Header) -> Result<Incoming, WireError> {
        self.check(header)?;
        if header.kind != Kind::Data {
            return Ok(Incoming::Notice(header.payload_len()?));
        }
        let layout = header.layout()?;
        let length = layout.range(header.chunk).len();
        let assembly = {
            let mut state = self.state.lock();
            if state.closed {
                return Ok(Incoming::Skip(length));
            }
            let stream = state.streams.entry(StreamKey::of(header)).or_default();
            match stream.known(header.sequence) {
                Known::Done => return Ok(Incoming::Skip(length)),
                Known::Partly(assembly) => assembly,
                Known::New => {
                    let charge = self.charge_unasked(header)?;
                    let assembly = Arc::new(Assembly::new(layout, header.encoding, charge));
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
            (Some(slot), Some(inbox)) => Incoming::Chunk(Chunk {
                inbox,
                assembly,
                slot,
                header: *header,
            }),
            _ => Incoming::Skip(length),
        })
    }

    /// A whole frame has arrived.
    pub(crate) fn accept(&self, header: &Header, payload: &[u8]) -> Result<(), WireError> {
        let right_length = |expected: usize| match payload.len() == expected {
            true => Ok(()),
            false => Err(WireError::Length {
                expected,
                found: payload.len(),
            }),
        };
        match self.open(header)? {
            Incoming::Chunk(mut chunk) => {
                let place = chunk.bytes();
                right_length(place.len())?;
                place.copy_from_slice(payload);
                chunk.commit();
            }
            Incoming::Notice(length) => {
                right_length(length)?;
                self.notice(header, payload);
            }
            Incoming::Skip(_) => {}
        }
        Ok(())
    }

    /// A frame that is not part of a message has arrived.
    pub(crate) fn notice(&self, header: &Header, payload: &[u8]) {
        match header.kind {
            Kind::Data | Kind::Stored => {}
            Kind::Offer => self.offered(header),
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
        }
    }

    /// Another pack has ended in good order.
    pub(crate) fn left(&self, pack: u32) {
        if let Some(departed) = self.departed.get(pack as usize) {
            departed.get_or_init(Instant::now);
            self.config.control.announce_change();
        }
    }

    /// Whether the pack's operations have ended, well or badly.
    pub(crate) fn is_over(&self) -> bool {
        self.config.control.ended().is_some()
    }

    /// Whether the flare has failed.
    pub(crate) fn is_aborted(&self) -> bool {
        !matches!(self.config.control.ended(), None | Some(Error::Closed))
    }

    /// Whether another pack has said goodbye.
    pub(crate) fn has_left(&self, pack: u32) -> bool {
        self.departed
            .get(pack as usize)
            .is_some_and(|departed| departed.get().is_some())
    }

    /// Whether nothing can come from a worker any more.
    pub(super) fn departed(&self, worker: u32) -> bool {
        let pack = self.config.topology.pack_of(worker);
        pack.and_then(|pack| self.departed.get(pack as usize))
            .and_then(|departed| departed.get())
            .is_some_and(|at| at.elapsed() > STRAGGLERS)
    }

    /// Another pack is gone without a goodbye: the flare fails.
    pub(crate) fn lost(&self, pack: u32, reason: &str) {
        let mut failure = Failure::new(FailureKind::PackLost, reason);
        failure.pack = Some(pack);
        self.fail(failure);
    }

    /// Something arrived that cannot be right: the flare fails rather than compute with it.
    pub(crate) fn refused(&self, pack: Option<u32>, error: &WireError) {
        let mut failure = Failure::new(FailureKind::Backend, format!("a damaged message: {error}"));
        failure.pack = pack;
        self.fail(failure);
    }

    /// This pack can receive nothing more: the flare fails.
    pub(crate) fn broken(&self, reason: &Error) {
        self.fail(reason.to_failure(None, Some(self.config.pack)));
    }

    /// A pack that has closed and still keeps the others together tells them too.
    fn fail(&self, failure: Failure) {
        let first = self.end(Error::Aborted(failure.clone()));
        if first || matches!(self.config.control.ended(), Some(Error::Closed)) {
            self.tell_all(&failure);
        }
    }

    /// Ends this pack's operations; `true` when nothing else has yet.
    fn end(&self, error: Error) -> bool {
        let first = self.config.control.end(error);
        if first {
            self.config.mailboxes.wake_all();
            self.flow.wake_all();
        }
        first
    }

    /// Tells every other pack of a failure. Best effort: who cannot be told notices by itself.
    pub(super) fn tell_all(&self, failure: &Failure) {
        let Ok(payload) = serde_json::to_vec(failure) else {
            return;
        };
        self.notify(Kind::Abort, &payload);
    }

    /// Sends a frame without a receiver in particular to every other pack.
    pub(super) fn notify(&self, kind: Kind, payload: &[u8]) {
        let Some(backend) = self.backend.get().and_then(Weak::upgrade) else {
            return;
        };
        let config = &self.config;
        let header = Header::notice(kind, config.flare, config.pack, payload.len() as u64);
        let others: Vec<u32> = (0..config.topology.num_packs())
            .filter(|&pack| pack != config.pack && !self.has_left(pack))
            .collect();
        backend.announce(&others, &Frame { header, payload });
    }

    /// The last chunk of a message is in place.
    fn complete(&self, header: &Header, assembly: &Assembly) {
        let arrival = match self.arrival(header, assembly) {
            Ok(arrival) => arrival,
            Err(error) => return self.refused(Some(header.pack), &error),
        };
        let parcel = |arrived| Parcel::Remote(Box::new(arrived));
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        let stream = state.streams.entry(StreamKey::of(header)).or_default();
        let (sequence, class) = (header.sequence, header.class);
        stream.complete(sequence, class, arrival, |class, arrival| match arrival {
            Arrival::One(arrived) => {
                if let Some(mailbox) = self.mailbox(header.destination) {
                    let only = [(header.source, parcel(arrived))];
                    mailbox.deliver_from_afar(header.context, class, only.into_iter());
                }
            }
            Arrival::Several(bundled) => {
                let mut bundled = bundled.into_iter().peekable();
                while let Some(destination) = bundled.peek().map(|value| value.destination) {
                    let same = || bundled.next_if(|value| value.destination == destination);
                    let parcels =
                        iter::from_fn(same).map(|value| (value.source, parcel(value.arrived)));
                    match self.mailbox(destination) {
                        Some(mailbox) => mailbox.deliver_from_afar(header.context, class, parcels),
                        None => parcels.for_each(drop),
                    }
                }
            }
        });
    }

    fn arrival(&self, header: &Header, assembly: &Assembly) -> Result<Arrival, WireError> {
        let (encoding, buffer, charge) = assembly.finish();
        self.counters.received(buffer.as_bytes().len());
        let fingerprint = header.fingerprint;
        if encoding != Encoding::Bundle {
            return Ok(Arrival::One(Arrived {
                encoding,
                fingerprint,
                body: Body::Whole(buffer),
                charge,
            }));
        }
        let topology = &self.config.topology;
        let (theirs, ours) = (header.pack, self.config.pack);
        let most = topology.pack_size(theirs) as usize * topology.pack_size(ours) as usize;
        let mut bundled = bundle::open(fingerprint, buffer, charge, most)?;
        // What is for one receiver is given to it together.
        bundled.sort_by_key(|value| value.destination);
        for value in &bundled {
            self.check_ends(theirs, value.source, value.destination)?;
        }
        Ok(Arrival::Several(bundled))
    }

    fn mailbox(&self, destination: Destination) -> Option<&Mailbox> {
        match destination {
            Destination::Worker(worker) => self.config.mailboxes.of(worker),
            Destination::Board => Some(self.config.mailboxes.board()),
        }
    }

    /// Drops everything that was not delivered, and will drop what comes.
    pub(super) fn clear(&self) {
        let closed = State {
            closed: true,
            ..State::default()
        };
        let state = std::mem::replace(&mut *self.state.lock(), closed);
        drop(state);
    }
}
