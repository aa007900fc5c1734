//! Messages of one sender that came before anyone wanted them.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::message::{Class, Parcel};
use crate::operation::Operation;

/// Which message a receiver wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Want {
    pub(crate) context: u32,
    pub(crate) source: u32,
    pub(crate) class: Class,
}

/// A message with what it belongs to.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) context: u32,
    pub(super) class: Class,
    pub(super) parcel: Parcel,
}

/// Messages that may be taken for one another lie in one queue: those of a tag, and those of all
/// collectives of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    context: u32,
    tag: Option<u32>,
}

impl Key {
    fn of(context: u32, class: Class) -> Self {
        let tag = match class {
            Class::Point { tag } => Some(tag),
            Class::Collective { .. } => None,
        };
        Self { context, tag }
    }
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Kept {
    queues: FxHashMap<Key, VecDeque<Envelope>>,
}

impl Kept {
    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    pub(super) fn keep(&mut self, envelope: Envelope) {
        let key = Key::of(envelope.context, envelope.class);
        self.queues.entry(key).or_default().push_back(envelope);
    }

    /// The first message wanted.
    pub(super) fn take(&mut self, want: &Want) -> Result<Option<Parcel>, Error> {
        let key = Key::of(want.context, want.class);
        let Entry::Occupied(mut entry) = self.queues.entry(key) else {
            return Ok(None);
        };
        let queue = entry.get_mut();
        let mut place = None;
        for (index, envelope) in queue.iter().enumerate() {
            if want.matches(envelope)? {
                place = Some(index);
                break;
            }
        }
        // The first one nearly always; `remove` is then a `pop_front`.
        let found = place.and_then(|index| queue.remove(index));
        if queue.is_empty() {
            entry.remove();
        }
        Ok(found.map(|envelope| envelope.parcel))
    }
}

impl Want {
    /// Whether this is the message wanted; an error when it shows that the workers called
    /// different collectives: one of a number this worker has passed, or of this number and
    /// another kind.
    #[inline]
    pub(super) fn matches(&self, found: &Envelope) -> Result<bool, Error> {
        if found.context != self.context {
            return Ok(false);
        }
        match (self.class, found.class) {
            (Class::Point { tag }, Class::Point { tag: found }) => Ok(tag == found),
            (
                Class::Collective { number, .. },
                Class::Collective {
                    number: found_number,
                    ..
                },
            ) => {
                if found_number > number {
                    return Ok(false);
                }
                if found.class == self.class {
                    return Ok(true);
                }
                Err(self.mismatch(found.class))
            }
            _ => Ok(false),
        }
    }

    #[cold]
    fn mismatch(&self, found: Class) -> Error {
        let parts = |class| match class {
            Class::Collective {
                number,
                operation,
                root,
            } => (number, operation, root),
            Class::Point { .. } => (0, Operation::Recv, 0),
        };
        let (number, operation, _) = parts(self.class);
        let (found_number, found, root) = parts(found);
        Error::CollectiveMismatch {
            operation,
            number,
            peer: self.source,
            found: match found.has_root() {
                true => format!("{found} with root {root}"),
                false => found.to_string(),
            },
            found_number,
        }
    }
}
