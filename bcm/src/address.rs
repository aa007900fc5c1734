//! Whom a message is from and for, and what it belongs to.

use crate::operation::Operation;
use crate::rank::Rank;
use crate::tag::Tag;

/// Who sends a message, and in which group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    /// The group's; see [`crate::context`].
    pub(crate) context: u32,
    pub(crate) worker: u32,
}

/// Which mailbox a message is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Destination {
    /// A worker's own.
    Worker(u32),
    /// The pack's, for messages to it as a whole.
    Pack,
}

/// What a message belongs to. Point-to-point messages and collectives can never be taken for
/// one another, and every collective has a number.
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
