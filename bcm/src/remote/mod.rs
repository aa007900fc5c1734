//! Messages between packs: what stands between an operation and a backend.
//!
//! ```text
//! operation ─▶ Remote ─ sequence, window ─▶ Backend::send ─▶ … ─▶ Inbox ─ assemble, order ─▶ Mailbox
//!                 ▲                                               │
//!                 └────────── Backend::control ◀── grants, credits┘
//! ```
//!
//! **Delivery.** Messages of one (source, destination, context) are a stream, numbered from 0.
//! A backend may deliver frames late, in any order and more than once; the inbox delivers each
//! message once and in order.
//!
//! **Memory.** Each pack may have a window of bytes on the way to each other one that were not
//! received by a worker yet. What does not fit is offered first and sent when it is granted: when
//! there is room, or when a worker is waiting for it. So nothing ever waits inside a backend, a
//! reader of frames never blocks, and the memory of a pack is bounded.

mod arrived;
mod assembly;
mod bundle;
mod counters;
mod credentials;
mod direct;
#[cfg(feature = "faults")]
mod faults;
mod flow;
mod inbox;
mod kind;
mod link;
mod memory;
mod patience;
mod permit;
mod pool;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
mod redis;
mod registry;
#[cfg(any(feature = "rabbitmq", feature = "s3"))]
mod runtime;
#[cfg(feature = "s3")]
mod s3;
mod stream;

use std::fmt;
use std::slice;
use std::sync::Arc;

pub(crate) use arrived::Arrived;
pub(crate) use bundle::{Bundle, ENTRY as BUNDLE_ENTRY};
pub use counters::Traffic;
pub(crate) use inbox::{Expectation, Inbox, InboxConfig};
pub use kind::ServerAddress;
pub(crate) use link::Remote;
#[cfg(feature = "fuzzing")]
pub(crate) use redis::read_all as redis_replies;
pub use registry::{backends, default_chunk_size, issue_credentials, servers};
pub(crate) use registry::{clean, open};

use crate::cancellation::WaitBudget;
use crate::config::PackConfig;
use crate::error::Error;
use crate::local::ConnectionWait;
use crate::pack_id::PackId;
use crate::wire::{HEADER_SIZE, Header};

/// A header and the bytes that follow it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) header: Header,
    pub(crate) payload: &'a [u8],
}

impl Frame<'_> {
    /// Splits frames into batches of about this many bytes, which a sender writes one at a time.
    pub(crate) fn batches(frames: &[Self], bytes: usize) -> slice::Chunks<'_, Self> {
        let largest = frames.first().map_or(1, |frame| frame.payload.len().max(1));
        frames.chunks((bytes / largest).max(1))
    }

    /// The same frame with its checksum, for a backend that keeps frames where nothing else
    /// guards them; it is made just before the payload is written, which then is in the cache.
    /// The receiver checks it with [`Header::verify`].
    pub(crate) fn sealed(&self) -> Self {
        let checksum = match self.header.checksum {
            0 => self.header.checksum_with(self.payload),
            sealed => sealed,
        };
        Self {
            header: Header {
                checksum,
                ..self.header
            },
            payload: self.payload,
        }
    }

    /// The header of the sealed frame as it is written.
    pub(crate) fn seal(&self) -> [u8; HEADER_SIZE] {
        self.sealed().header.encode()
    }
}

/// What carries frames between packs.
///
/// # Contract
/// - It is given the pack's [`Inbox`] when it is opened and hands it every frame that arrives,
///   from threads of its own, any number of times and in any order, until `close` returns.
/// - Handing a frame to the inbox never blocks, so its reading threads never stop reading.
/// - `send` returns once the frames are in safe hands: written to a connection or confirmed by a
///   server. Many threads may call it at once; they never hold up each other for longer than one
///   frame takes, and never wait for a worker of another pack.
/// - Every wait inside is bounded by the budget it is given, or by six seconds, for as long as a server may be silent;
///   by one second when the flare has failed.
/// - A peer that is gone without a goodbye is reported with [`Inbox::lost`], where the backend
///   can tell.
/// - No error and no `Debug` output shows a credential.
/// - What it stores anywhere is under the flare's id, sealed ([`Frame::sealed`]) and removed by its kind's `clean`,
///   or by the server soon after its pack is gone; where the server can, it also expires by itself.
pub(crate) trait Backend: fmt::Debug + Send + Sync {
    /// Where other packs reach this one, if they need to know.
    fn endpoint(&self) -> Option<String> {
        None
    }

    /// All packs have been opened; these are their endpoints by pack id, where they have any.
    fn start(&self, _endpoints: &[String]) -> Result<(), Error> {
        Ok(())
    }

    /// To each of these packs the frames of one message, which may be sent concurrently. Backends
    /// with a server store what is for many once, and it is read many times.
    fn send(
        &self,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error>;

    /// One small frame that overtakes what `send` is busy with. It is called by reading threads
    /// too, so it must not depend on this pack's reading to go on. That a peer is gone is not
    /// an error here where the backend reports it otherwise.
    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error>;

    /// As `control`, for a worker that asks another pack for something: it need not wait for longer than it waits for
    /// the answer.
    fn offer(
        &self,
        to: PackId,
        frame: &Frame<'_>,
        _budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        self.control(to, frame)
    }

    /// One small frame to all of these packs, which are all that have not left. Best effort: who
    /// cannot be told is gone, and that is noticed anyway.
    fn announce(&self, to: &[PackId], frame: &Frame<'_>) {
        for &pack in to {
            let _ = self.control(pack, frame);
        }
    }

    /// Largest payload a frame may have; longer messages are cut into more chunks.
    fn payload_limit(&self) -> usize {
        usize::MAX
    }

    /// A worker waits for a message from this pack: reads what has come from it, without waiting.
    /// `true` when something has come. A backend whose own threads do all the reading leaves this out.
    fn progress(&self, _pack: PackId) -> bool {
        false
    }

    /// A worker that made progress goes to sleep elsewhere: the backend's own threads read again.
    fn hand_back(&self, _pack: PackId) {}

    /// Whether workers may [`sleep`](Backend::sleep) here.
    fn sleeps(&self) -> bool {
        false
    }

    /// Sleeps until what is waited for comes from this pack (or from any), the waker wakes it or the
    /// time is up. What comes for others meanwhile is read too.
    fn sleep(&self, _pack: Option<PackId>, _wait: &ConnectionWait<'_>) {}

    /// Takes leave of the flare, and keeps what the next flare of the same packs can use.
    fn leave(&self) {
        self.close();
    }

    /// After [`leave`](Backend::leave) the backend for the next flare, which takes over what was
    /// kept. Called when all packs have left the last one.
    fn renew(&self, config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
        open(config, inbox)
    }

    /// Takes leave unless that is done, ends all threads and connections and returns when they
    /// have ended.
    fn close(&self);
}
