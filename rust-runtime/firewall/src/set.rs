//! The sets that list who may reach whom, and their elements.

use crate::kernel::{BRIDGE, INET};
use crate::members::Entry;

/// A set, as the kernel identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) family: u8,
    pub(crate) name: &'static str,
    /// The id by which rules of the same transaction refer to it.
    pub(crate) id: u32,
    /// The length of a key in bytes.
    pub(crate) key_length: u32,
}

pub(crate) const PAIRS: Set = Set {
    family: BRIDGE,
    name: "pairs",
    id: 1,
    key_length: 8,
};
pub(crate) const REACH: Set = Set {
    family: INET,
    name: "reach",
    id: 2,
    key_length: 16,
};
pub(crate) const EGRESS: Set = Set {
    family: INET,
    name: "egress",
    id: 3,
    key_length: 4,
};
pub(crate) const SETS: [Set; 3] = [PAIRS, REACH, EGRESS];

impl Set {
    /// Returns the key of the element for this entry, if it belongs in this set. Each part of a key
    /// takes whole words.
    pub(crate) fn key(&self, entry: &Entry) -> Option<Vec<u8>> {
        match *entry {
            Entry::Pair(from, to) if *self == PAIRS => Some([from.octets(), to.octets()].concat()),
            Entry::Egress(from) if *self == EGRESS => Some(from.octets().to_vec()),
            Entry::Reach(from, to) if *self == REACH => {
                let port = to.port.to_be_bytes();
                let protocol = [to.protocol.number(), 0, 0, 0];
                let port = [port[0], port[1], 0, 0];
                Some([from.octets(), to.address.octets(), protocol, port].concat())
            }
            _ => None,
        }
    }
}
