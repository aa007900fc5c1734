//! The sending half: numbers messages, respects the windows, cuts chunks.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::counters::Traffic;
use super::flow::cost;
use super::inbox::{Expectation, Inbox};
use super::stream::StreamKey;
use super::{Backend, Frame};
use crate::address::{Class, Destination, Source};
use crate::cancellation::WaitBudget;
use crate::error::Error;
use crate::failure::Failure;
use crate::invalid::InvalidArgument;
use crate::local::{ConnectionWait, MatchSpec};
use crate::operation::Operation;
use crate::pack_id::PackId;
use crate::payload::Encoded;
use crate::wire::{Header, Kind, Layout};

/// A pack's connection to the other packs.
#[derive(Debug)]
pub(crate) struct Remote {
    backend: Arc<dyn Backend>,
    inbox: Arc<Inbox>,
    chunk_size: usize,
    sequences: Mutex<HashMap<StreamKey, u64>>,
    ended: AtomicBool,
}

/// The sequence number reserved for a message to one worker of another pack.
#[derive(Debug)]
pub(crate) struct SequenceSlot {
    key: StreamKey,
    sequence: u64,
    pack: PackId,
}

impl Remote {
    pub(crate) fn new(backend: Arc<dyn Backend>, inbox: Arc<Inbox>, chunk_size: usize) -> Self {
        inbox.attach(Arc::downgrade(&backend) as _);
        let chunk_size = chunk_size.min(backend.payload_limit());
        Self {
            backend,
            inbox,
            chunk_size,
            sequences: Mutex::default(),
            ended: AtomicBool::new(false),
        }
    }

    pub(crate) fn endpoint(&self) -> Option<String> {
        self.backend.endpoint()
    }

    pub(crate) fn start(&self, endpoints: &[String]) -> Result<(), Error> {
        self.backend.start(endpoints)
    }

    /// The largest message that other packs, and this one, accept.
    pub(crate) fn max_message(&self) -> usize {
        self.inbox.config().max_message as usize
    }

    /// Sends a message to one worker of another pack.
    pub(crate) fn send(
        &self,
        source: Source,
        destination: u32,
        class: Class,
        encoded: &Encoded<'_>,
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let slot = self.reserve(source, destination, encoded, budget.operation)?;
        self.send_at(slot, class, encoded, budget)
    }

    /// Reserves the next sequence number for messages to one worker of another pack. It must be
    /// used, or no later message is delivered.
    pub(crate) fn reserve(
        &self,
        source: Source,
        destination: u32,
        encoded: &Encoded<'_>,
        operation: Operation,
    ) -> Result<SequenceSlot, Error> {
        let Some(pack) = self.inbox.config().topology.pack_of(destination) else {
            return Err(Error::InvalidArgument {
                operation,
                reason: InvalidArgument::NoSuchWorker {
                    worker: destination,
                },
            });
        };
        self.check_size(encoded, operation)?;
        let key = StreamKey::new(source, Destination::Worker(destination));
        Ok(SequenceSlot {
            key,
            sequence: self.next(key),
            pack,
        })
    }

    /// Sends a message under its reserved sequence number.
    pub(crate) fn send_at(
        &self,
        slot: SequenceSlot,
        class: Class,
        encoded: &Encoded<'_>,
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let SequenceSlot {
            key,
            sequence,
            pack,
        } = slot;
        self.transfer((key, sequence), &[pack], class, encoded, budget)
    }

    /// Sends one message to each of these packs as a whole. Every call must list all packs of a
    /// group, since they count the same stream.
    pub(crate) fn broadcast(
        &self,
        source: Source,
        packs: &[PackId],
        class: Class,
        encoded: &Encoded<'_>,
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let key = StreamKey::new(source, Destination::Pack);
        self.check_size(encoded, budget.operation)?;
        let message = (key, self.next(key));
        self.transfer(message, packs, class, encoded, budget)
    }

    fn check_size(&self, encoded: &Encoded<'_>, operation: Operation) -> Result<(), Error> {
        let (length, limit) = (encoded.body.len(), self.inbox.config().max_message);
        if length as u64 > limit {
            return Err(Error::InvalidArgument {
                operation,
                reason: InvalidArgument::TooLong { length, limit },
            });
        }
        Ok(())
    }

    fn transfer(
        &self,
        (key, sequence): (StreamKey, u64),
        packs: &[PackId],
        class: Class,
        encoded: &Encoded<'_>,
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let config = self.inbox.config();
        let body = &*encoded.body;
        let layout = Layout::cut(body.len(), self.chunk_size);
        let header = Header {
            kind: Kind::Data,
            flare: config.flare,
            pack: config.pack,
            source: key.source,
            destination: key.destination,
            context: key.context,
            class,
            sequence,
            total: body.len() as u64,
            chunk: 0,
            chunks: layout.chunks(),
            encoding: encoded.encoding,
            fingerprint: encoded.fingerprint,
            checksum: 0,
        };
        if !self.inbox.flow.reserve(packs, cost(header.total)) {
            let is_gone = |pack| self.inbox.is_gone(pack);
            let offer = |budget: &mut WaitBudget<'_>| {
                let header = Header {
                    kind: Kind::Offer,
                    ..header
                };
                let payload = &[];
                let frame = Frame { header, payload };
                (packs.iter()).try_for_each(|&pack| self.backend.offer(pack, &frame, budget))
            };
            let message = (key, sequence);
            self.inbox.flow.wait_for_grant(
                message,
                packs,
                budget,
                &*self.backend,
                is_gone,
                offer,
            )?;
        }
        let frame = |chunk| Frame {
            header: Header { chunk, ..header },
            payload: &body[layout.range(chunk)],
        };
        if layout.chunks() == 1 {
            self.backend.send(packs, &[frame(0)], budget)?;
        } else {
            let frames: Vec<_> = (0..layout.chunks()).map(frame).collect();
            self.backend.send(packs, &frames, budget)?;
        }
        self.inbox.counters.sent(packs.len(), body.len());
        Ok(())
    }

    fn next(&self, key: StreamKey) -> u64 {
        let mut sequences = self.sequences.lock();
        let next = sequences.entry(key).or_default();
        let sequence = *next;
        *next += 1;
        sequence
    }

    /// Registers that a worker is about to wait for a message from this source.
    pub(crate) fn expect(&self, destination: Destination, source: Source) -> Option<Expectation> {
        self.inbox.expect(StreamKey::new(source, destination))
    }

    /// Reads whatever has arrived from the pack of `source`, for a worker that waits for its
    /// message.
    pub(crate) fn progress(&self, source: u32) -> bool {
        let pack = self.inbox.config().topology.pack_of(source);
        pack.is_some_and(|pack| self.backend.progress(pack))
    }

    /// Like [`Remote::progress`], for a message from whichever worker sends first.
    pub(crate) fn progress_any(&self) -> bool {
        let packs = self.inbox.config().topology.packs();
        packs.filter(|&pack| self.backend.progress(pack)).count() > 0
    }

    /// Whether workers can [`sleep`](Remote::sleep) here.
    pub(crate) fn sleeps(&self) -> bool {
        self.backend.sleeps()
    }

    /// Sleeps until something arrives from that worker's pack (or from any), and reads it.
    pub(crate) fn sleep(&self, source: Option<u32>, wait: &ConnectionWait<'_>) {
        let topology = &self.inbox.config().topology;
        let pack = source.and_then(|source| topology.pack_of(source));
        self.backend.sleep(pack, wait);
    }

    /// Called when a worker has waited long for this message. If the message belongs to a
    /// collective, the pack it should come from is notified: its worker may have called a different
    /// collective, and wait as well.
    pub(crate) fn waits(&self, worker: u32, spec: &MatchSpec) {
        let config = self.inbox.config();
        let (Class::Collective { .. }, Some(pack)) =
            (spec.class, config.topology.pack_of(spec.source))
        else {
            return;
        };
        let header = Header {
            source: worker,
            destination: Destination::Worker(spec.source),
            context: spec.context,
            class: spec.class,
            ..Header::notice(Kind::Waiting, config.flare, config.pack, 0)
        };
        let payload = &[];
        // If the notice cannot be sent, the timeout ends the wait.
        let _ = self.backend.control(pack, &Frame { header, payload });
    }

    /// Whether no more messages can come from a worker.
    pub(crate) fn departed(&self, worker: u32) -> bool {
        self.inbox.departed(worker)
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.inbox.counters.snapshot()
    }

    /// Announces a failure to the other packs.
    pub(crate) fn abort(&self, failure: &Failure) {
        self.inbox.tell_all(failure);
    }

    pub(crate) fn wake_all(&self) {
        self.inbox.flow.wake_all();
    }

    /// Says goodbye to the other packs. Returns the backend that the next flare can be
    /// [renewed](Backend::renew) from, the first time.
    pub(crate) fn leave(&self) -> Option<Arc<dyn Backend>> {
        self.end(|backend| backend.leave())
            .then(|| Arc::clone(&self.backend))
    }

    /// Like [`Remote::leave`], but also ends all connections.
    pub(crate) fn close(&self) {
        self.end(|backend| backend.close());
    }

    /// Returns `true` the first time; later calls do nothing and return `false`.
    fn end(&self, how: impl FnOnce(&dyn Backend)) -> bool {
        let first = !self.ended.swap(true, Ordering::AcqRel);
        if first {
            self.inbox.notify(Kind::Goodbye, &[]);
            how(&*self.backend);
            self.inbox.clear();
        }
        first
    }
}
