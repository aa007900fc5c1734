//! What a pack has sent to and received from other packs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Messages between packs and the bytes of their values, as counted by one pack. A broadcast counts
/// once for each pack it goes to, wherever it is stored in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent to other packs.
    pub messages_sent: u64,
    /// Bytes sent to other packs.
    pub bytes_sent: u64,
    /// Messages that arrived whole from other packs.
    pub messages_received: u64,
    /// Bytes of messages that arrived whole from other packs.
    pub bytes_received: u64,
    /// The most bytes that were at any time on their way to this pack, or had arrived without a
    /// worker having received them.
    pub most_bytes_in_flight: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    messages_sent: AtomicU64,
    bytes_sent: AtomicU64,
    messages_received: AtomicU64,
    bytes_received: AtomicU64,
    most_bytes_in_flight: AtomicU64,
}

impl Counters {
    pub(super) fn sent(&self, messages: usize, bytes: usize) {
        let bytes = messages as u64 * bytes as u64;
        self.messages_sent
            .fetch_add(messages as u64, Ordering::Relaxed);
        self.bytes_sent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.messages_received.fetch_add(1, Ordering::Relaxed);
        self.bytes_received
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records how many bytes are in flight now.
    pub(super) fn in_flight(&self, bytes: u64) {
        if bytes > self.most_bytes_in_flight.load(Ordering::Relaxed) {
            self.most_bytes_in_flight
                .fetch_max(bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn snapshot(&self) -> Traffic {
        Traffic {
            messages_sent: self.messages_sent.load(Ordering::Relaxed),
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            messages_received: self.messages_received.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            most_bytes_in_flight: self.most_bytes_in_flight.load(Ordering::Relaxed),
        }
    }
}
