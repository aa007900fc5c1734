//! Streams: the messages of one (source, destination, context), delivered once and in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arrived::Arrived;
use super::assembly::Assembly;
use super::bundle::Bundled;
use crate::address::{Class, Destination, Source};
use crate::wire::Header;

/// Identifies a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct StreamKey {
    pub(super) source: u32,
    pub(super) destination: Destination,
    pub(super) context: u32,
}

impl StreamKey {
    pub(super) fn new(source: Source, destination: Destination) -> Self {
        Self {
            source: source.worker,
            destination,
            context: source.context,
        }
    }

    pub(super) fn of(header: &Header) -> Self {
        Self {
            source: header.source,
            destination: header.destination,
            context: header.context,
        }
    }
}

/// The content of a message.
#[derive(Debug)]
pub(super) enum Arrival {
    One(Arrived),
    Several(Vec<Bundled>),
}

/// The receiving end of a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The sequence number of the message that is due.
    due: u64,
    /// Messages that are due or not yet due.
    pending: BTreeMap<u64, Pending>,
}

#[derive(Debug)]
enum Pending {
    Assembling(Arc<Assembly>),
    Whole(Class, Arrival),
}

/// What a stream knows about a message.
pub(super) enum Known {
    /// Delivered, or complete and waiting for its turn.
    Done,
    /// Some of its chunks are missing.
    Partly(Arc<Assembly>),
    /// Nothing of it has arrived.
    New,
}

impl Stream {
    pub(super) fn due(&self) -> u64 {
        self.due
    }

    pub(super) fn known(&self, sequence: u64) -> Known {
        if sequence < self.due {
            return Known::Done;
        }
        match self.pending.get(&sequence) {
            None => Known::New,
            Some(Pending::Assembling(assembly)) => Known::Partly(Arc::clone(assembly)),
            Some(Pending::Whole(..)) => Known::Done,
        }
    }

    pub(super) fn begin(&mut self, sequence: u64, assembly: Arc<Assembly>) {
        self.pending.insert(sequence, Pending::Assembling(assembly));
    }

    /// Records that a message is complete, and gives every message that is now due to `deliver`, in
    /// order.
    pub(super) fn complete(
        &mut self,
        sequence: u64,
        class: Class,
        arrival: Arrival,
        mut deliver: impl FnMut(Class, Arrival),
    ) {
        if sequence == self.due {
            // The common case touches the tree as little as possible.
            self.pending.remove(&sequence);
            self.due += 1;
            deliver(class, arrival);
        } else {
            self.pending
                .insert(sequence, Pending::Whole(class, arrival));
        }
        while let Some(entry) = self.pending.first_entry() {
            if *entry.key() != self.due || matches!(entry.get(), Pending::Assembling(_)) {
                break;
            }
            if let Pending::Whole(class, arrival) = entry.remove() {
                self.due += 1;
                deliver(class, arrival);
            }
        }
    }
}
