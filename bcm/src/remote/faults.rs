//! `faults`: another backend with everything a network or a server can do to frames, for tests.
//!
//! Its URI is a [`Plan`] in JSON. A thread hands frames to the inner backend later than they were
//! sent: some more than once, some after having been lost for a while, and, if the plan asks for
//! it, some truncated or with a bit flipped. Everything follows from the plan's seed and the order
//! in which frames are sent.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Deserialize;

use super::inbox::Inbox;
use super::kind::Open;
use super::{Backend, Frame};
use crate::cancellation::{Cancellation, WaitBudget};
use crate::config::{BackendConfig, PackConfig};
use crate::error::{Error, Peer};
use crate::operation::Operation;
use crate::pack_id::PackId;
use crate::wire::{Header, Kind};

pub(super) const NAME: &str = "faults";

/// For each fault, how many of a thousand frames it affects.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Plan {
    inner: String,
    seed: u64,
    /// Delivered a second time, now or later.
    duplicated: u64,
    /// Delivered up to a few milliseconds late, and so out of order.
    delayed: u64,
    /// Lost, and sent again after some tens of milliseconds.
    lost: u64,
    /// One bit of header or payload flipped.
    corrupted: u64,
    /// The end of the payload cut off.
    truncated: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            inner: "memory".to_owned(),
            seed: 0,
            duplicated: 100,
            delayed: 300,
            lost: 20,
            corrupted: 0,
            truncated: 0,
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
struct Faults {
    plan: Plan,
    inner: Arc<dyn Backend>,
    random: Mutex<u64>,
    carrier: Mutex<Option<(Sender<Held>, JoinHandle<()>)>>,
}

/// When a frame is due, and a number that tells it apart from others due at the same time.
type Due = (Instant, u64);

/// A frame on its way.
#[derive(Debug)]
struct Held {
    due: Due,
    to: PackId,
    header: Header,
    payload: Arc<[u8]>,
}

/// Opens the inner backend with `open`, and wraps it.
pub(super) fn open(
    config: &PackConfig,
    inbox: Arc<Inbox>,
    open: Open,
) -> Result<Arc<dyn Backend>, Error> {
    let plan = config.backend.uri.as_deref().unwrap_or("{}");
    let plan: Plan = serde_json::from_str(plan)
        .map_err(|error| Error::of_backend(NAME, None, error.to_string()))?;
    let mut config = config.clone();
    config.backend = BackendConfig {
        kind: plan.inner.clone(),
        uri: None,
        ..config.backend
    };
    let inner = open(&config, inbox)?;
    let (frames, held) = mpsc::channel();
    let carried = Arc::downgrade(&inner);
    let thread = thread::Builder::new()
        .name("bcm-faults".to_owned())
        .spawn(move || carry(&held, &carried))
        .map_err(|error| Error::of_backend(NAME, None, error.to_string()))?;
    Ok(Arc::new(Faults {
        random: Mutex::new(plan.seed ^ (u64::from(config.pack.0) << 32)),
        plan,
        inner,
        carrier: Mutex::new(Some((frames, thread))),
    }))
}

/// Hands frames to the inner backend when they are due, and all that are left at the end.
fn carry(frames: &mpsc::Receiver<Held>, inner: &Weak<dyn Backend>) {
    let cancellation = Cancellation::new(1, None, Duration::from_secs(20));
    let mut waiting: BTreeMap<Due, Held> = BTreeMap::new();
    let mut ended = false;
    while !(ended && waiting.is_empty()) {
        let now = Instant::now();
        let left = match waiting.first_key_value() {
            Some(((due, _), _)) => due.saturating_duration_since(now),
            None => Duration::from_secs(1),
        };
        if !ended {
            match frames.recv_timeout(left) {
                Ok(held) => drop(waiting.insert(held.due, held)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => ended = true,
            }
        }
        while let Some(next) = waiting.first_entry()
            && (ended || next.key().0 <= Instant::now())
        {
            let held = next.remove();
            let Some(inner) = inner.upgrade() else {
                return;
            };
            let frame = Frame {
                header: held.header,
                payload: &held.payload,
            };
            let mut budget = WaitBudget::new(&cancellation, Operation::Send);
            // A pack that has left in the meantime does not miss this frame.
            let _ = match frame.header.kind {
                Kind::Data => inner.send(&[held.to], &[frame], &mut budget),
                _ => inner.control(held.to, &frame),
            };
        }
    }
}

impl Faults {
    /// The next random number below a limit.
    fn random(&self, below: u64) -> u64 {
        let mut state = self.random.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = *state;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % below.max(1)
    }

    fn happens(&self, of_thousand: u64) -> bool {
        self.random(1000) < of_thousand
    }

    fn hold(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        // The sender computes the checksum before anything happens to the frame.
        let sealed = frame.sealed();
        let copies = 1 + usize::from(self.happens(self.plan.duplicated));
        let payload: Arc<[u8]> = frame.payload.into();
        for _ in 0..copies {
            let delay = match () {
                () if self.happens(self.plan.lost) => 20_000 + self.random(30_000),
                () if self.happens(self.plan.delayed) => self.random(4000),
                () => 0,
            };
            let (header, payload) = self.damage(sealed.header, &payload);
            let due = Instant::now() + Duration::from_micros(delay);
            let held = Held {
                due: (due, self.random(u64::MAX)),
                to,
                header,
                payload,
            };
            let carrier = self.carrier.lock();
            let Some((frames, _)) = &*carrier else {
                return Err(Error::Closed);
            };
            frames.send(held).map_err(|_| Error::Closed)?;
        }
        Ok(())
    }

    /// Returns the frame as it arrives.
    fn damage(&self, header: Header, payload: &Arc<[u8]>) -> (Header, Arc<[u8]>) {
        // Frames that end a flare are left alone: all other packs must receive them.
        if matches!(header.kind, Kind::Abort | Kind::Goodbye) {
            return (header, Arc::clone(payload));
        }
        if !payload.is_empty() && self.happens(self.plan.truncated) {
            let length = self.random(payload.len() as u64) as usize;
            return (header, payload.get(..length).unwrap_or_default().into());
        }
        if self.happens(self.plan.corrupted) {
            let mut bytes = header.encode().to_vec();
            bytes.extend_from_slice(payload);
            let bit = self.random(8 * bytes.len() as u64) as usize;
            if let Some(byte) = bytes.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
            // Bytes that are no longer a header cannot be given to a backend. Its readers are
            // tested with such bytes elsewhere.
            if let Ok(header) = Header::decode(&bytes) {
                return (header, bytes.split_off(header.encode().len()).into());
            }
        }
        (header, Arc::clone(payload))
    }
}

impl Backend for Faults {
    fn endpoint(&self) -> Option<String> {
        self.inner.endpoint()
    }

    fn start(&self, endpoints: &[String]) -> Result<(), Error> {
        self.inner.start(endpoints)
    }

    fn send(
        &self,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        to.iter().try_for_each(|&pack| {
            budget.remaining(Peer::Pack(pack))?;
            frames.iter().try_for_each(|frame| self.hold(pack, frame))
        })
    }

    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        self.hold(to, frame)
    }

    fn payload_limit(&self) -> usize {
        self.inner.payload_limit()
    }

    fn close(&self) {
        if let Some((frames, thread)) = self.carrier.lock().take() {
            drop(frames);
            let _ = thread.join();
        }
        self.inner.close();
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        self.close();
    }
}
