//! Messages between packs: the layer between an operation and a backend.
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
//! **Memory.** Each pack has a window towards each other one: the bytes it may have sent there that
//! no worker has received yet. A message that does not fit is offered first and sent when it is
//! granted: when there is room, or when a worker is waiting for it. So nothing ever waits inside a
//! backend, a reader of frames never blocks, and the memory of a pack is bounded.

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
    /// Splits frames into batches of about `bytes` bytes, which a sender writes one at a time.
    pub(crate) fn batches(frames: &[Self], bytes: usize) -> slice::Chunks<'_, Self> {
        let largest = frames.first().map_or(1, |frame| frame.payload.len().max(1));
        frames.chunks((bytes / largest).max(1))
    }

    /// Returns the frame with its checksum, for backends that keep frames where nothing else
    /// protects them. The checksum is computed just before the payload is written, so the write
    /// finds the payload in the cache. The receiver checks it with [`Header::verify`].
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

    /// Returns the encoded header of the sealed frame.
    pub(crate) fn seal(&self) -> [u8; HEADER_SIZE] {
        self.sealed().header.encode()
    }
}

/// Carries frames between packs.
///
/// # Contract
/// - It receives the pack's [`Inbox`] when it is opened and hands it every frame that arrives, from
///   threads of its own, any number of times and in any order, until `close` returns.
/// - Handing a frame to the inbox never blocks, so the backend's reading threads never stop
///   reading.
/// - `send` returns once the frames are in safe hands: written to a connection or confirmed by a
///   server. Many threads may call it concurrently; they never hold each other up for longer than
///   one frame takes, and never wait for a worker of another pack.
/// - Every wait inside is bounded by the given budget, or by six seconds, the longest a server may
///   stay silent; by one second once the flare has failed.
/// - A peer that disappears without a goodbye is reported with [`Inbox::lost`], if the backend can
///   detect it.
/// - No error and no `Debug` output shows a credential.
/// - Everything it stores is stored under the flare's id, sealed ([`Frame::sealed`]), and removed
///   by its kind's `clean`, or by the server soon after the pack is gone; if the server supports
///   it, it also expires on its own.
pub(crate) trait Backend: fmt::Debug + Send + Sync {
    /// The address at which other packs reach this one, if they need it.
    fn endpoint(&self) -> Option<String> {
        None
    }

    /// Called when all packs have been opened; `_endpoints` holds their endpoints by pack id, if
    /// they have any.
    fn start(&self, _endpoints: &[String]) -> Result<(), Error> {
        Ok(())
    }

    /// Sends the frames of one message to each of these packs, possibly concurrently. Backends with
    /// a server store a message for several packs once, and each of them reads it.
    fn send(
        &self,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error>;

    /// Sends one small frame, which overtakes whatever `send` is busy with. Reading threads call it
    /// too, so its progress must not depend on this pack's reading. A departed peer is not an error
    /// here if the backend reports it elsewhere.
    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error>;

    /// Like `control`, for a worker that asks another pack for something: it need not wait longer
    /// for the sending than for the answer.
    fn offer(
        &self,
        to: PackId,
        frame: &Frame<'_>,
        _budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        self.control(to, frame)
    }

    /// Sends one small frame to all of these packs, which are all that have not left. Best effort:
    /// a pack that cannot be reached is gone, and that is noticed anyway.
    fn announce(&self, to: &[PackId], frame: &Frame<'_>) {
        for &pack in to {
            let _ = self.control(pack, frame);
        }
    }

    /// The largest payload of a frame; longer messages are cut into more chunks.
    fn payload_limit(&self) -> usize {
        usize::MAX
    }

    /// Called while a worker waits for a message from this pack: reads whatever has arrived from
    /// it, without blocking. Returns `true` if something has arrived. Backends whose own threads do
    /// all the reading keep this default.
    fn progress(&self, _pack: PackId) -> bool {
        false
    }

    /// A worker that called `progress` goes to sleep elsewhere: the backend's own threads read
    /// again.
    fn hand_back(&self, _pack: PackId) {}

    /// Whether workers may [`sleep`](Backend::sleep) here.
    fn sleeps(&self) -> bool {
        false
    }

    /// Sleeps until the awaited message arrives from this pack (or from any), the waker wakes the
    /// caller, or the time is up. Messages for other workers that arrive in the meantime are read
    /// too.
    fn sleep(&self, _pack: Option<PackId>, _wait: &ConnectionWait<'_>) {}

    /// Leaves the flare, and keeps what the next flare of the same packs can use.
    fn leave(&self) {
        self.close();
    }

    /// Returns the backend for the next flare, which takes over what [`leave`](Backend::leave)
    /// kept. Called when all packs have left the last flare.
    fn renew(&self, config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
        open(config, inbox)
    }

    /// Leaves the flare if that has not been done, ends all threads and connections, and returns
    /// when they have ended.
    fn close(&self);
}
