//! The channel from one worker to another in its pack.
//!
//! Messages go through a ring. When it is full they go to an unbounded queue under a lock, and so
//! do all later ones until the receiver has emptied that queue, so that their order is kept and a
//! sender never waits.
//!
//! The receiver takes the first message of the class it wants, so a collective ignores a pending
//! point-to-point message. Messages that it passes over go to the unexpected queue.

use std::collections::VecDeque;

use super::claim::Claim;
use super::primitives::{AtomicBool, Mutex, Ordering, spin_loop, yield_now};
use super::ring::{CachePadded, Ring};
use super::unexpected::{Envelope, MatchSpec, UnexpectedQueue};
use super::waiters::Waiters;
use crate::error::Error;
use crate::message::Message;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Channel {
    ring: Ring<Envelope>,
    /// The receiving end: only its holder may pop the ring.
    unexpected: CachePadded<Claim<UnexpectedQueue>>,
    overflowing: AtomicBool,
    overflow: Mutex<VecDeque<Envelope>>,
    pub(super) waiters: Waiters,
}

impl Channel {
    pub(super) fn new() -> Self {
        Self {
            ring: Ring::new(),
            unexpected: CachePadded(Claim::new(UnexpectedQueue::default())),
            overflowing: AtomicBool::new(false),
            overflow: Mutex::default(),
            waiters: Waiters::default(),
        }
    }

    /// Appends a message and wakes the threads that wait for one. Never blocks. The envelope is
    /// built directly in its place.
    #[inline]
    pub(super) fn deliver(&self, envelope: impl FnOnce() -> Envelope) {
        let reservation = match self.overflowing.load(Ordering::Relaxed) {
            false => self.ring.reserve(),
            true => None,
        };
        match reservation {
            Some(reservation) => reservation.fill(envelope()),
            None => self.push_overflow(envelope()),
        }
        self.waiters.wake();
    }

    #[cold]
    fn push_overflow(&self, envelope: Envelope) {
        let mut overflow = self.overflow.lock();
        self.overflowing.store(true, Ordering::SeqCst);
        overflow.push_back(envelope);
    }

    /// Returns the wanted message if one of the given number of looks finds it. The receiving end
    /// is held for all of them: claiming it costs as much as a message, and this way it is already
    /// claimed when one arrives.
    #[inline]
    pub(super) fn try_take(
        &self,
        spec: &MatchSpec,
        looks: u32,
    ) -> Result<Option<Message>, Box<Error>> {
        let mut unexpected = self.unexpected.0.claim();
        if !unexpected.is_empty()
            && let Some(message) = unexpected.take(spec)?
        {
            return Ok(Some(message));
        }
        for look in 0..looks {
            if look > 0 {
                spin_loop();
            }
            // SAFETY: only the holder of `unexpected` pops, and the claim orders the holders one after another.
            while let Some(first) = unsafe { self.ring.first() } {
                match spec.matches(first.peek().stamp) {
                    Ok(true) => return Ok(Some(first.take().message)),
                    Ok(false) => unexpected.keep(first.take()),
                    Err(error) => {
                        unexpected.keep(first.take());
                        return Err(error);
                    }
                }
            }
        }
        if self.overflowing.load(Ordering::SeqCst) {
            self.drain_overflow(&mut unexpected);
            return unexpected.take(spec);
        }
        Ok(None)
    }

    /// Empties the overflow queue. Messages in the ring at this point were sent before those in the
    /// queue.
    #[cold]
    fn drain_overflow(&self, unexpected: &mut UnexpectedQueue) {
        let mut overflow = self.overflow.lock();
        while !self.ring.drained() {
            // SAFETY: as in `try_take`, whose claim this is.
            match unsafe { self.ring.first() } {
                Some(first) => unexpected.keep(first.take()),
                // Its sender has reserved the place and is about to fill it.
                None => yield_now(),
            }
        }
        for envelope in overflow.drain(..) {
            unexpected.keep(envelope);
        }
        self.overflowing.store(false, Ordering::Relaxed);
    }

    /// Whether something has arrived; possibly out of date as soon as it returns.
    #[inline]
    pub(super) fn ready(&self) -> bool {
        self.ring.ready() || self.overflowing.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(burst_loom)))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::address::Class;
    use crate::error::Peer;
    use crate::local::unexpected::Stamp;
    use crate::operation::Operation;
    use crate::tag::Tag;

    fn envelope(tag: Tag, value: u32) -> Envelope {
        Envelope {
            stamp: Stamp::new(0, Class::Point { tag }),
            message: Message::moved(value),
        }
    }

    fn take(channel: &Channel, tag: Tag) -> Option<u32> {
        let spec = MatchSpec {
            context: 0,
            source: 0,
            class: Class::Point { tag },
        };
        let message = channel.try_take(&spec, 1).unwrap()?;
        Some(message.open(Operation::Recv, Peer::Worker(0)).unwrap())
    }

    #[test]
    fn order_is_kept_when_the_ring_overflows() {
        let channel = Channel::new();
        for round in 0..3 {
            for i in 0..100 {
                channel.deliver(|| envelope(Tag(i % 2), round * 100 + i));
            }
            for i in (1..100).step_by(2) {
                assert_eq!(take(&channel, Tag(1)), Some(round * 100 + i));
            }
            channel.deliver(|| envelope(Tag(0), round * 100 + 100));
            for i in (0..=100).step_by(2) {
                assert_eq!(take(&channel, Tag(0)), Some(round * 100 + i));
            }
            assert_eq!(
                (take(&channel, Tag(0)), take(&channel, Tag(1))),
                (None, None)
            );
            assert!(!channel.ready());
        }
    }

    #[test]
    fn threads_of_one_worker_share_both_ends() {
        let count = if cfg!(miri) { 40 } else { 5_000 };
        let channel = Channel::new();
        std::thread::scope(|scope| {
            for tag in [Tag(0), Tag(1)] {
                let channel = &channel;
                scope.spawn(move || (0..count).for_each(|i| channel.deliver(|| envelope(tag, i))));
                scope.spawn(move || {
                    for i in 0..count {
                        loop {
                            match take(channel, tag) {
                                Some(value) => break assert_eq!(value, i),
                                None => std::thread::yield_now(),
                            }
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_message_fills_one_cache_line() {
        assert_eq!(size_of::<Envelope>() + size_of::<usize>(), 64);
    }
}
