//! The mailbox of one worker, where messages from its pack and from other packs end up.
//!
//! A sender takes the lock for as long as it takes to move a pointer, and wakes the receiver
//! only when it is asleep and waits for this very source. A receiver that finds nothing watches
//! a version number, not the lock: first spinning, then yielding, then parked
//! (see [`crate::control`]).
//!
//! Messages of one source lie in one lane in the order they were sent. A receiver takes the
//! first in its lane that is of the class it wants: a pending point-to-point message is simply
//! not looked at by a collective.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::control::{Patience, Pause};
use crate::error::{Error, Peer};
use crate::message::{Class, Parcel};
use crate::operation::Operation;

/// Which message a receiver wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Want {
    pub(crate) context: u32,
    pub(crate) source: u32,
    pub(crate) class: Class,
}

#[derive(Debug)]
struct Envelope {
    class: Class,
    parcel: Parcel,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    context: u32,
    source: u32,
    thread: Thread,
}

#[derive(Debug, Default)]
struct State {
    lanes: FxHashMap<(u32, u32), VecDeque<Envelope>>,
    waiters: Vec<Waiter>,
    tickets: u64,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    /// Raised with every delivery, under the lock.
    version: AtomicU64,
    state: Mutex<State>,
}

impl Mailbox {
    /// Puts a message into its lane and wakes whoever waits for it. Never blocks.
    pub(crate) fn deliver(&self, context: u32, source: u32, class: Class, parcel: Parcel) {
        let mut woken = Vec::new();
        {
            let mut state = self.state.lock();
            let lane = state.lanes.entry((context, source)).or_default();
            lane.push_back(Envelope { class, parcel });
            self.version.fetch_add(1, Ordering::Release);
            if !state.waiters.is_empty() {
                state.waiters.retain(|waiter| {
                    let mine = waiter.context == context && waiter.source == source;
                    if mine {
                        woken.push(waiter.thread.clone());
                    }
                    !mine
                });
            }
        }
        for thread in woken {
            thread.unpark();
        }
    }

    /// Wakes everyone, so that they see that something ended.
    pub(crate) fn wake_all(&self) {
        let waiters = {
            let mut state = self.state.lock();
            self.version.fetch_add(1, Ordering::Release);
            std::mem::take(&mut state.waiters)
        };
        for waiter in waiters {
            waiter.thread.unpark();
        }
    }

    /// The message wanted, if it is there.
    pub(crate) fn try_take(&self, want: &Want) -> Result<Option<Parcel>, Error> {
        self.state.lock().take(want)
    }

    /// The message wanted; waits for it as long as the operation's patience lasts.
    ///
    /// `gone` is asked whenever the thread is about to sleep, and ends the wait when the source
    /// can no longer send.
    pub(crate) fn take(
        &self,
        want: &Want,
        patience: &mut Patience<'_>,
        gone: impl Fn(&Patience<'_>) -> Result<(), Error>,
    ) -> Result<Parcel, Error> {
        let peer = Peer::Worker(want.source);
        patience.refresh();
        loop {
            patience.control.check()?;
            let seen = self.version.load(Ordering::Acquire);
            if let Some(parcel) = self.try_take(want)? {
                patience.rewarded();
                return Ok(parcel);
            }
            while self.version.load(Ordering::Acquire) == seen {
                if let Pause::Park(limit) = patience.pause(peer)? {
                    gone(patience)?;
                    let Some(ticket) = self.announce(want, seen) else {
                        break;
                    };
                    patience.control.park(limit);
                    self.withdraw(ticket);
                    break;
                }
            }
        }
    }

    /// Puts the thread among those to wake, unless something arrived since `seen`.
    fn announce(&self, want: &Want, seen: u64) -> Option<u64> {
        let mut state = self.state.lock();
        if self.version.load(Ordering::Relaxed) != seen {
            return None;
        }
        state.tickets += 1;
        let ticket = state.tickets;
        state.waiters.push(Waiter {
            ticket,
            context: want.context,
            source: want.source,
            thread: thread::current(),
        });
        Some(ticket)
    }

    fn withdraw(&self, ticket: u64) {
        let mut state = self.state.lock();
        if let Some(place) = state
            .waiters
            .iter()
            .position(|waiter| waiter.ticket == ticket)
        {
            state.waiters.swap_remove(place);
        }
    }
}

impl State {
    fn take(&mut self, want: &Want) -> Result<Option<Parcel>, Error> {
        let Some(lane) = self.lanes.get_mut(&(want.context, want.source)) else {
            return Ok(None);
        };
        let mut place = None;
        for (index, envelope) in lane.iter().enumerate() {
            if matches(want, envelope.class)? {
                place = Some(index);
                break;
            }
        }
        // The first one nearly always; `remove` is then a `pop_front`.
        Ok(place
            .and_then(|index| lane.remove(index))
            .map(|envelope| envelope.parcel))
    }
}

/// Whether this is the message wanted; an error when it shows that the workers called different
/// collectives: one of a number this worker has passed, or of this number and another kind.
fn matches(want: &Want, found: Class) -> Result<bool, Error> {
    match (want.class, found) {
        (Class::Point { tag }, Class::Point { tag: found }) => Ok(tag == found),
        (
            Class::Collective {
                number,
                operation,
                root,
            },
            Class::Collective {
                number: found_number,
                operation: found_operation,
                root: found_root,
            },
        ) => {
            if found_number > number {
                return Ok(false);
            }
            if (found_number, found_operation, found_root) == (number, operation, root) {
                return Ok(true);
            }
            Err(Error::CollectiveMismatch {
                operation,
                number,
                peer: want.source,
                found: describe(found_operation, found_root),
                found_number,
            })
        }
        _ => Ok(false),
    }
}

fn describe(operation: Operation, root: u32) -> String {
    match operation {
        Operation::Broadcast | Operation::Reduce | Operation::Gather | Operation::Scatter => {
            format!("{operation} with root {root}")
        }
        _ => operation.to_string(),
    }
}
