//! The source, the destination and the class of a message.

use crate::operation::Operation;
use crate::rank::Rank;
use crate::tag::Tag;

/// The sender of a message and the group it sends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    /// The group's context; see [`crate::context`].
    pub(crate) context: u32,
    pub(crate) worker: u32,
}

/// The mailbox that a message is delivered to and taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Destination {
    /// A worker's mailbox.
    Worker(u32),
    /// The pack's mailbox, for messages to the pack as a whole.
    Pack,
}

/// What a message belongs to: a tag, or one call of a collective, which has a number.
/// Point-to-point messages and those of collectives are never mistaken for one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Point {
        tag: Tag,
    },
    Collective {
        number: u64,
        operation: Operation,
        root: Rank,
    },
}
