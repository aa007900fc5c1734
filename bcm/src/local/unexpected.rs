//! Messages of one sender that arrived before anyone wanted them.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::address::{Class, Source};
use crate::error::Error;
use crate::message::Message;
use crate::operation::Operation;
use crate::rank::Rank;
use crate::tag::Tag;

/// Which message a receiver wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchSpec {
    pub(crate) context: u32,
    pub(crate) source: u32,
    pub(crate) class: Class,
}

/// A message and what it belongs to.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) stamp: Stamp,
    pub(super) message: Message,
}

/// What a message belongs to, as plain numbers: an enum is copied in overlapping pieces around its
/// discriminant, and waiting for those costs as much as the rest of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    number: u64,
    context: u32,
    /// A tag, or the root of a collective.
    detail: u32,
    /// The code of a collective's operation, or [`POINT`].
    operation: u32,
}

const POINT: u32 = u32::MAX;

impl Stamp {
    #[inline]
    pub(super) fn new(context: u32, class: Class) -> Self {
        let (number, detail, operation) = match class {
            Class::Point { tag } => (0, tag.0, POINT),
            Class::Collective {
                number,
                operation,
                root,
            } => (number, root.0, u32::from(operation.code())),
        };
        Self {
            number,
            context,
            detail,
            operation,
        }
    }

    fn class(self) -> Class {
        let operation = u8::try_from(self.operation).ok();
        match operation.and_then(Operation::from_code) {
            None => Class::Point {
                tag: Tag(self.detail),
            },
            Some(operation) => Class::Collective {
                number: self.number,
                operation,
                root: Rank(self.detail),
            },
        }
    }
}

/// The key of a queue. Messages that could be mistaken for one another share a queue: those of one
/// tag, and those of all collectives of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    context: u32,
    tag: Option<Tag>,
}

impl Key {
    fn of(stamp: Stamp) -> Self {
        Self {
            context: stamp.context,
            tag: (stamp.operation == POINT).then_some(Tag(stamp.detail)),
        }
    }
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct UnexpectedQueue {
    queues: FxHashMap<Key, VecDeque<Envelope>>,
}

impl UnexpectedQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    pub(super) fn keep(&mut self, envelope: Envelope) {
        let key = Key::of(envelope.stamp);
        self.queues.entry(key).or_default().push_back(envelope);
    }

    /// Takes the first wanted message.
    pub(super) fn take(&mut self, spec: &MatchSpec) -> Result<Option<Message>, Box<Error>> {
        let key = Key::of(spec.stamp());
        let Entry::Occupied(mut entry) = self.queues.entry(key) else {
            return Ok(None);
        };
        let queue = entry.get_mut();
        let mut wanted = None;
        for (index, envelope) in queue.iter().enumerate() {
            if spec.matches(envelope.stamp)? {
                wanted = Some(index);
                break;
            }
        }
        // Nearly always the first one, for which `remove` is a `pop_front`.
        let found = wanted.and_then(|index| queue.remove(index));
        if queue.is_empty() {
            entry.remove();
        }
        Ok(found.map(|envelope| envelope.message))
    }
}

impl MatchSpec {
    /// The source of the wanted message.
    pub(crate) fn as_source(&self) -> Source {
        Source {
            context: self.context,
            worker: self.source,
        }
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp::new(self.context, self.class)
    }

    /// Returns whether this is the wanted message, or an error if it shows that the workers called
    /// different collectives: its number is one that this worker has passed, or the same with
    /// another operation or root.
    #[inline]
    pub(super) fn matches(&self, found: Stamp) -> Result<bool, Box<Error>> {
        if found == self.stamp() {
            return Ok(true);
        }
        self.may_wait(found).map(|()| false)
    }

    /// Checks that a message that is not wanted now can be wanted later.
    #[cold]
    fn may_wait(&self, found: Stamp) -> Result<(), Box<Error>> {
        match (self.class, found.class()) {
            (
                Class::Collective { number, .. },
                found_class @ Class::Collective {
                    number: found_number,
                    ..
                },
            ) if found.context == self.context && found_number <= number => {
                Err(Box::new(self.mismatch(found_class)))
            }
            _ => Ok(()),
        }
    }

    fn mismatch(&self, found: Class) -> Error {
        let parts = |class| match class {
            Class::Collective {
                number,
                operation,
                root,
            } => (number, operation, root),
            Class::Point { .. } => (0, Operation::Recv, Rank(0)),
        };
        let (number, operation, own_root) = parts(self.class);
        let (found_number, found, root) = parts(found);
        Error::CollectiveMismatch {
            operation,
            number,
            called: operation.with_root(own_root),
            peer: self.source,
            found: found.with_root(root),
            found_number,
        }
    }
}
