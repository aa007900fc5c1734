//! The collectives that the members of a group have called. A worker that calls a different one gets an error
//! immediately; otherwise it would wait for a message that never comes, or carry on without noticing.
//!
//! The members in this pack record their calls. The calls of workers in other packs are known from their messages,
//! and are compared with this pack's calls while those are remembered.

use std::any::{TypeId, type_name};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};

use crate::address::Class;
use crate::error::{Error, Peer};
use crate::operation::Operation;
use crate::rank::Rank;

/// How many calls that all members in this pack have made are still remembered, for late messages.
const PAST: usize = 64;
/// How many of the latest calls can be compared without the lock.
const RECENT: usize = 64;
/// How many calls are kept, per group, that workers of other packs make before those of this pack.
const AHEAD: usize = 1024;

/// The call histories of a pack's groups, by context.
#[derive(Debug, Default)]
pub(crate) struct CallHistories {
    /// The history of the group of all workers. It always exists, as messages from other packs can
    /// refer to it before any worker here calls a collective.
    world: Arc<CallHistory>,
    others: Mutex<FxHashMap<u32, Weak<CallHistory>>>,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct CallHistory {
    calls: Mutex<Calls>,
    /// The latest calls, at the index of their number modulo [`RECENT`]. Written under the lock.
    recent: [Recent; RECENT],
    /// How many calls each member in this pack has made.
    made: OnceLock<Box<[CallCount]>>,
}

/// A call that a worker has made. Others that make the same call see from it, without the lock, that the calls
/// match.
#[derive(Debug, Default)]
struct Recent {
    /// The call's fingerprint.
    called: AtomicU64,
    /// The call's outline: a hash of its number, operation and root.
    told: AtomicU64,
}

/// The number of calls a member has made. The member writes it at each call, so it has a cache line
/// of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct CallCount(AtomicU64);

/// A worker that makes a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) worker: u32,
    /// Its index among the members in this pack.
    pub(crate) index: usize,
    /// The number of members in this pack.
    pub(crate) members: usize,
}

/// A call by a worker. It is small, as a worker that runs ahead of the others leaves one for each
/// call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Called {
    operation: Operation,
    root: Rank,
    /// The type of the values exchanged. Known only for calls by workers of this pack.
    kind: Option<Kind>,
}

/// A function that returns a type's id and its name.
type Kind = fn() -> (TypeId, &'static str);

fn kind<T: ?Sized + 'static>() -> (TypeId, &'static str) {
    (TypeId::of::<T>(), type_name::<T>())
}

#[derive(Debug, Default)]
struct Calls {
    /// The number of the first of `entries`.
    first: u64,
    entries: VecDeque<Option<Entry>>,
    /// Calls by workers of other packs that no worker here has made yet, by number, each with its
    /// caller.
    ahead: FxHashMap<u64, (Called, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    called: Called,
    by: u32,
}

impl Default for CallHistory {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            recent: std::array::from_fn(|_| Recent::default()),
            made: OnceLock::new(),
        }
    }
}

impl CallHistories {
    /// Returns the history of a group, which exists while one of its members in this pack holds it.
    pub(crate) fn of(&self, context: u32) -> Arc<CallHistory> {
        if context == 0 {
            return Arc::clone(&self.world);
        }
        let mut histories = self.others.lock();
        if let Some(history) = histories.get(&context).and_then(Weak::upgrade) {
            return history;
        }
        // Programs can create groups continually, so histories that nobody holds are removed from
        // time to time.
        if histories.len() >= 64 && histories.len().is_power_of_two() {
            histories.retain(|_, history| history.strong_count() > 0);
        }
        let history = Arc::new(CallHistory::default());
        histories.insert(context, Arc::downgrade(&history));
        history
    }

    /// Handles the class of a message from a worker of another pack. Returns an error if a worker of this pack has
    /// called a different collective.
    pub(crate) fn heard(&self, context: u32, class: Class, worker: u32) -> Result<(), Error> {
        let Class::Collective {
            number,
            operation,
            root,
        } = class
        else {
            return Ok(());
        };
        let called = Called {
            operation,
            root,
            kind: None,
        };
        if context == 0 {
            return self.world.heard(number, called, worker);
        }
        let history = self.others.lock().get(&context).and_then(Weak::upgrade);
        history.map_or(Ok(()), |history| history.heard(number, called, worker))
    }
}

impl CallHistory {
    /// Records a worker's call of this number. The error names a worker that has called something
    /// else.
    pub(crate) fn enter(&self, number: u64, called: Called, caller: Caller) -> Result<(), Error> {
        self.pass(number, caller);
        let fingerprint = called.fingerprint(number);
        let recent = &self.recent[number as usize % RECENT];
        if recent.called.load(Ordering::Acquire) == fingerprint {
            return Ok(());
        }
        let mut calls = self.calls.lock();
        let Some(index) = calls.index_of(number, || self.made_by_all()) else {
            return Ok(());
        };
        if let Some(entry) = calls.entries[index] {
            return called.compare(number, entry.called, entry.by);
        }
        let by = caller.worker;
        calls.entries[index] = Some(Entry { called, by });
        // Skipped if a worker that is ahead may have recorded a later call in the same place.
        if calls.entries.len() - index <= RECENT {
            recent.told.store(called.outline(number), Ordering::Release);
            recent.called.store(fingerprint, Ordering::Release);
        }
        let heard = calls.ahead.remove(&number);
        heard.map_or(Ok(()), |(other, by)| called.compare(number, other, by))
    }

    /// Counts a worker's call of this number, which is known to match.
    pub(crate) fn pass(&self, number: u64, caller: Caller) {
        let made = self
            .made
            .get_or_init(|| (0..caller.members).map(|_| CallCount::default()).collect());
        if let Some(mine) = made.get(caller.index) {
            mine.0.store(number + 1, Ordering::Relaxed);
        }
    }

    fn heard(&self, number: u64, other: Called, by: u32) -> Result<(), Error> {
        let told = &self.recent[number as usize % RECENT].told;
        if told.load(Ordering::Acquire) == other.outline(number) {
            return Ok(());
        }
        let mut calls = self.calls.lock();
        let Some(index) = number.checked_sub(calls.first) else {
            return Ok(());
        };
        match calls.entries.get(index as usize).copied().flatten() {
            Some(entry) => entry.called.compare(number, other, by),
            None => {
                if calls.ahead.len() >= AHEAD {
                    calls.forget(self.made_by_all());
                }
                if calls.ahead.len() < AHEAD {
                    calls.ahead.insert(number, (other, by));
                }
                Ok(())
            }
        }
    }

    /// Returns how many calls every member in this pack has made.
    fn made_by_all(&self) -> u64 {
        let made = self.made.get().into_iter().flatten();
        let made = made.map(|made| made.0.load(Ordering::Relaxed));
        made.min().unwrap_or_default()
    }
}

impl Calls {
    /// Returns the index of a call's entry, making room for it; `None` if the call is long past.
    fn index_of(&mut self, number: u64, made_by_all: impl FnOnce() -> u64) -> Option<usize> {
        let index = number.checked_sub(self.first)? as usize;
        let new = (index + 1).saturating_sub(self.entries.len());
        // From time to time, and after a series of calls that needed no entry.
        if index > PAST && (new > PAST || new > 0 && index.is_multiple_of(PAST)) {
            self.forget(made_by_all());
        }
        let index = number.checked_sub(self.first)? as usize;
        if index >= self.entries.len() {
            self.entries.resize(index + 1, None);
        }
        Some(index)
    }

    /// Forgets long-past calls, given how many all members in this pack have made.
    fn forget(&mut self, made: u64) {
        let first = made.saturating_sub(PAST as u64);
        if first > self.first {
            let past = (first - self.first) as usize;
            self.entries.drain(..past.min(self.entries.len()));
            self.first = first;
            self.ahead.retain(|&number, _| number >= first);
        }
    }
}

impl Called {
    /// Returns a call that exchanges values of type `T`.
    pub(crate) fn new<T: ?Sized + 'static>(operation: Operation, root: Rank) -> Self {
        Self {
            operation,
            root,
            kind: Some(kind::<T>),
        }
    }

    /// Hashes everything that members of a pack compare. Never zero, which stands for no call.
    fn fingerprint(&self, number: u64) -> u64 {
        let mut hasher = FxHasher::default();
        self.outline(number).hash(&mut hasher);
        self.kind.map(|kind| kind().0).hash(&mut hasher);
        hasher.finish() | 1
    }

    /// Hashes what is known of calls by workers of other packs. Never zero, which stands for no
    /// call.
    fn outline(&self, number: u64) -> u64 {
        let mut hasher = FxHasher::default();
        (number, self.operation.code(), self.root).hash(&mut hasher);
        hasher.finish() | 1
    }

    /// Returns an error if another worker's call of the same number is a different one.
    fn compare(&self, number: u64, other: Self, by: u32) -> Result<(), Error> {
        let operation = self.operation;
        if operation != other.operation || (operation.has_root() && self.root != other.root) {
            return Err(Error::CollectiveMismatch {
                operation,
                number,
                called: operation.with_root(self.root),
                peer: by,
                found: other.operation.with_root(other.root),
                found_number: number,
            });
        }
        match (self.kind.map(|kind| kind()), other.kind.map(|kind| kind())) {
            (Some((mine, expected)), Some((theirs, found))) if mine != theirs => {
                Err(Error::TypeMismatch {
                    operation,
                    peer: Peer::Worker(by),
                    expected: expected.to_owned(),
                    found: found.to_owned(),
                })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn broadcast(root: u32) -> Called {
        Called::new::<u32>(Operation::Broadcast, Rank(root))
    }

    /// A caller in a pack with this many members.
    fn by(worker: u32, members: usize) -> Caller {
        Caller {
            worker,
            index: worker as usize % members,
            members,
        }
    }

    fn of(operation: Operation, root: u32, number: u64) -> Class {
        Class::Collective {
            number,
            operation,
            root: Rank(root),
        }
    }

    #[test]
    fn a_mismatch_names_both_calls_and_the_other_worker() {
        let history = CallHistory::default();
        history.enter(0, broadcast(1), by(4, 3)).unwrap();
        history.enter(0, broadcast(1), by(5, 3)).unwrap();
        let error = history
            .enter(0, broadcast(2), by(6, 3))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(
                "broadcast with root 2 (collective 0) does not match: worker 4 called broadcast with root 1 as its \
                 collective 0"
            ),
            "{error}"
        );
        let barrier = Called::new::<()>(Operation::Barrier, Rank(0));
        history.enter(1, barrier, by(4, 3)).unwrap();
        assert!(history.enter(1, broadcast(0), by(5, 3)).is_err());
        history.enter(2, broadcast(0), by(4, 3)).unwrap();
        let other = Called::new::<u64>(Operation::Broadcast, Rank(0));
        let error = history.enter(2, other, by(5, 3)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "broadcast: expected u64 from worker 4, which sent u32"
        );
    }

    #[test]
    fn only_calls_that_all_workers_made_are_forgotten() {
        let history = CallHistory::default();
        for number in 0..1000 {
            history.enter(number, broadcast(0), by(0, 2)).unwrap();
        }
        assert_eq!(history.calls.lock().entries.len(), 1000);
        for number in 0..1000 {
            history.enter(number, broadcast(0), by(1, 2)).unwrap();
        }
        assert_eq!(history.calls.lock().entries.len(), 1000);
        for worker in [0, 1] {
            for number in 1000..1000 + PAST as u64 {
                history.enter(number, broadcast(0), by(worker, 2)).unwrap();
            }
        }
        assert!(history.calls.lock().entries.len() <= 3 * PAST);
    }

    #[test]
    fn concurrent_calls_are_all_counted() {
        const WORKERS: u32 = 4;
        let history = CallHistory::default();
        std::thread::scope(|scope| {
            for worker in 0..WORKERS {
                let history = &history;
                scope.spawn(move || {
                    for number in 0..20_000 {
                        history
                            .enter(number, broadcast(0), by(worker, WORKERS as usize))
                            .unwrap();
                        history.heard(number, broadcast(0), 9).unwrap();
                    }
                });
            }
        });
        // Past calls are forgotten when a later call is made.
        for number in 20_000..20_000 + PAST as u64 {
            for worker in 0..WORKERS {
                let caller = by(worker, WORKERS as usize);
                history.enter(number, broadcast(0), caller).unwrap();
            }
        }
        let calls = history.calls.lock();
        assert!(calls.entries.len() <= 3 * PAST, "{}", calls.entries.len());
        assert!(calls.ahead.is_empty());
    }

    #[test]
    fn recent_calls_are_compared_by_type_and_root_too() {
        for number in [0, 1, RECENT as u64, 3 * RECENT as u64 + 1] {
            let history = CallHistory::default();
            for before in 0..=number {
                history.enter(before, broadcast(1), by(0, 3)).unwrap();
            }
            let other = Called::new::<u64>(Operation::Broadcast, Rank(1));
            assert!(history.enter(number, other, by(1, 3)).is_err(), "{number}");
            assert!(history.enter(number, broadcast(2), by(1, 3)).is_err());
            assert!(history.heard(number, broadcast(2), 9).is_err());
            history.enter(number, broadcast(1), by(1, 3)).unwrap();
            history.heard(number, broadcast(1), 9).unwrap();
        }
    }

    #[test]
    fn calls_of_other_packs_are_compared_in_either_order() {
        let histories = CallHistories::default();
        let history = histories.of(7);
        history.enter(0, broadcast(0), by(0, 1)).unwrap();
        histories
            .heard(7, of(Operation::Broadcast, 0, 0), 5)
            .unwrap();
        assert!(
            histories
                .heard(7, of(Operation::Broadcast, 5, 0), 5)
                .is_err()
        );
        histories.heard(7, of(Operation::Gather, 5, 1), 5).unwrap();
        let gather = Called::new::<u32>(Operation::Gather, Rank(0));
        assert!(history.enter(1, gather, by(0, 1)).is_err());
        // No worker here is in that group, or not yet.
        histories.heard(8, of(Operation::Gather, 5, 1), 5).unwrap();
        for number in 0..10_000 {
            histories
                .heard(7, of(Operation::Scan, 0, 1000 + number), 5)
                .unwrap();
        }
        assert_eq!(history.calls.lock().ahead.len(), AHEAD);
    }

    #[test]
    fn calls_that_messages_confirm_are_forgotten() {
        let history = CallHistory::default();
        let last = 1_000_000;
        for number in 0..last {
            history.heard(number, broadcast(0), 9).unwrap();
            for worker in [0, 1] {
                history.pass(number, by(worker, 2));
            }
        }
        // There is still room for calls that other packs make first, and they are compared.
        history.heard(last, broadcast(1), 9).unwrap();
        assert!(history.enter(last, broadcast(0), by(0, 2)).is_err());
        let calls = history.calls.lock();
        assert!(calls.entries.len() <= 3 * PAST, "{}", calls.entries.len());
        assert!(calls.ahead.len() <= AHEAD);
    }

    #[test]
    fn an_entry_is_small() {
        assert!(size_of::<Option<Entry>>() <= 24);
    }

    #[test]
    fn histories_of_dropped_groups_are_removed() {
        let histories = CallHistories::default();
        for context in 1..10_000 {
            histories.of(context);
        }
        assert!(histories.others.lock().len() <= 128);
        let kept = histories.of(1);
        assert!(Arc::ptr_eq(&kept, &histories.of(1)));
    }
}
