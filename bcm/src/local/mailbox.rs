//! The mailbox of one worker, where messages from its pack and from other packs end up.
//!
//! There is a [`Channel`] for each worker of the pack, made when that one first sends or is waited
//! for, and a [`RemoteQueue`] for all other packs. A receiver that finds nothing looks at the one it
//! waits for: first spinning, then yielding, then parked (see [`crate::cancellation`]).

use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::channel::Channel;
use super::remote_queue::RemoteQueue;
use super::unexpected::{Envelope, MatchSpec, Stamp};
use super::waiters::Waiters;
use super::waker::{ConnectionWait, Waker};
use crate::address::{Class, Source};
use crate::cancellation::{Pause, WaitBudget};
use crate::error::{Error, Peer};
use crate::message::Message;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Mailbox {
    first_worker: u32,
    channels: Box<[OnceLock<Box<Channel>>]>,
    remote_queue: RemoteQueue,
    /// Threads that wait for more than one sender.
    watchers: Waiters,
}

impl Mailbox {
    /// A mailbox in a pack of these workers.
    pub(crate) fn new(first_worker: u32, workers: u32) -> Self {
        Self {
            first_worker,
            channels: (0..workers).map(|_| OnceLock::new()).collect(),
            remote_queue: RemoteQueue::default(),
            watchers: Waiters::default(),
        }
    }

    /// The channel of a worker of this pack; `None` for any other worker.
    #[inline]
    fn channel(&self, source: u32) -> Option<&Channel> {
        let index = source.wrapping_sub(self.first_worker) as usize;
        let channel = self.channels.get(index)?;
        Some(channel.get_or_init(|| Box::new(Channel::new())))
    }

    /// Puts a message into its place and wakes the workers that wait for it. Never blocks. The message is
    /// made where it is to lie.
    #[inline]
    pub(crate) fn deliver(
        &self,
        Source { context, worker }: Source,
        class: Class,
        message: impl FnOnce() -> Message,
    ) {
        let stamp = Stamp::new(context, class);
        let envelope = || Envelope {
            stamp,
            message: message(),
        };
        match self.channel(worker) {
            Some(channel) => channel.deliver(envelope),
            None => self
                .remote_queue
                .deliver([(worker, envelope())].into_iter()),
        }
        self.watchers.wake();
    }

    /// Puts messages from other packs, which came together, into their places.
    pub(crate) fn deliver_remote(
        &self,
        context: u32,
        class: Class,
        messages: impl Iterator<Item = (u32, Message)>,
    ) {
        let stamp = Stamp::new(context, class);
        let envelopes = messages.map(|(source, message)| (source, Envelope { stamp, message }));
        self.remote_queue.deliver(envelopes);
        self.watchers.wake();
    }

    /// Wakes everyone, so that they see that something ended.
    pub(crate) fn wake_all(&self) {
        for channel in self.channels.iter().filter_map(OnceLock::get) {
            channel.waiters.wake_all();
        }
        self.remote_queue.waiters.wake_all();
        self.watchers.wake_all();
    }

    /// The message wanted, if it is there.
    #[inline]
    pub(crate) fn try_take(&self, spec: &MatchSpec) -> Result<Option<Message>, Error> {
        match self.channel(spec.source) {
            Some(channel) => channel.try_take(spec, 1),
            None => self.remote_queue.try_take(spec),
        }
        .map_err(|error| *error)
    }

    /// A message of any sender, who is named. Which sender comes first changes with `turn`.
    pub(crate) fn try_take_any(
        &self,
        spec: &MatchSpec,
        turn: usize,
    ) -> Result<Option<(u32, Message)>, Error> {
        let count = self.channels.len();
        for index in (0..count).map(|step| (turn + step) % count) {
            if let Some(channel) = self.channels[index].get() {
                let source = self.first_worker + index as u32;
                if let Some(message) = channel
                    .try_take(&MatchSpec { source, ..*spec }, 1)
                    .map_err(|error| *error)?
                {
                    return Ok(Some((source, message)));
                }
            }
        }
        self.remote_queue.try_take_any(spec).map_err(|error| *error)
    }

    /// The message wanted; waits for it as long as the operation's budget lasts.
    ///
    /// `progress` says what to do meanwhile for a message from another pack.
    pub(crate) fn take(
        &self,
        spec: &MatchSpec,
        budget: &mut WaitBudget<'_>,
        progress: Option<&dyn RemoteProgress>,
    ) -> Result<Message, Error> {
        let peer = Peer::Worker(spec.source);
        let Some(channel) = self.channel(spec.source) else {
            let seen = Cell::new(0);
            let ready = || self.remote_queue.version() != seen.get();
            let attempt = || {
                seen.set(self.remote_queue.version());
                self.remote_queue.try_take(spec).map_err(|error| *error)
            };
            let look = when_ready(&ready, attempt);
            return wait(
                peer,
                budget,
                &self.remote_queue.waiters,
                &ready,
                look,
                progress,
            );
        };
        let ready = || channel.ready();
        let look = |_| channel.try_take(spec, LOOKS).map_err(|error| *error);
        wait(peer, budget, &channel.waiters, &ready, look, None)
    }

    /// Waits until `attempt`, which may look at all that has come, finds something.
    pub(crate) fn wait_for<R>(
        &self,
        peer: Peer,
        budget: &mut WaitBudget<'_>,
        mut attempt: impl FnMut() -> Result<Option<R>, Error>,
        progress: Option<&dyn RemoteProgress>,
    ) -> Result<R, Error> {
        let seen = Cell::new(0);
        let attempt = || {
            seen.set(self.remote_queue.version());
            attempt()
        };
        let ready = || {
            self.remote_queue.version() != seen.get()
                || (self.channels.iter())
                    .filter_map(OnceLock::get)
                    .any(|channel| channel.ready())
        };
        let look = when_ready(&ready, attempt);
        wait(peer, budget, &self.watchers, &ready, look, progress)
    }
}

/// Looks in a row, with a pause of the processor between two: looking without one keeps taking the
/// cache line from the sender that is about to write to it, and costs more than it finds sooner.
const LOOKS: u32 = 16;

/// How thorough a look is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// The first one, and the last one before sleeping.
    Surely,
    /// Those in between, of which there are many.
    IfReady,
}

/// Looks with an attempt that costs more than to see whether something has come.
fn when_ready<R>(
    ready: &impl Fn() -> bool,
    mut attempt: impl FnMut() -> Result<Option<R>, Error>,
) -> impl FnMut(Look) -> Result<Option<R>, Error> {
    let watched = move || {
        (0..LOOKS).any(|look| {
            if look > 0 {
                spin_loop();
            }
            ready()
        })
    };
    move |look| match look == Look::Surely || watched() {
        true => attempt(),
        false => Ok(None),
    }
}

/// What a worker does while it waits for something from other packs.
pub(crate) trait RemoteProgress {
    /// Gets what can be had at once; `true` when that was something.
    fn poll(&self) -> bool;

    /// The worker is about to sleep. An error ends its wait: nothing can come any more.
    fn before_sleep(&self) -> Result<(), Error>;

    /// Whether [`RemoteProgress::sleep`] is of use; else the worker sleeps on its own lock.
    fn sleeps(&self) -> bool;

    /// Sleeps until something is found, the waker wakes it or the time is up, and gets what came.
    fn sleep(&self, wait: &ConnectionWait<'_>);
}

/// Waits until a `look` finds something, which goes on for a moment by itself. Something that
/// comes wakes the `waiters`.
#[inline]
fn wait<R>(
    peer: Peer,
    budget: &mut WaitBudget<'_>,
    waiters: &Waiters,
    ready: &dyn Fn() -> bool,
    mut look: impl FnMut(Look) -> Result<Option<R>, Error>,
    progress: Option<&dyn RemoteProgress>,
) -> Result<R, Error> {
    budget.refresh();
    // Sleeping on a connection costs little more than looking at it.
    budget.prompt = progress.is_some_and(|progress| progress.sleeps());
    let mut waker = None;
    let mut next = Look::Surely;
    loop {
        budget.check(peer)?;
        if let Some(found) = look(next)? {
            budget.record_success();
            return Ok(found);
        }
        next = Look::IfReady;
        if let Pause::Park(limit) = budget.pause(peer)? {
            if let Some(progress) = progress {
                progress.before_sleep()?;
                waker = waker.or_else(|| progress.sleeps().then(Waker::mine).flatten());
            }
            waiters.announce(waker.clone());
            // What ended or came before the announcement woke nobody.
            let last = budget.check(peer).and_then(|()| look(Look::Surely));
            if matches!(last, Ok(None)) {
                sleep(budget, waker.as_ref(), progress, limit, ready);
            }
            waiters.withdraw();
            if let Some(found) = last? {
                return Ok(found);
            }
            next = Look::Surely;
        } else if progress.is_some_and(|progress| progress.poll()) {
            budget.refresh();
        }
    }
}

#[cold]
fn sleep(
    budget: &mut WaitBudget<'_>,
    waker: Option<&Arc<Waker>>,
    progress: Option<&dyn RemoteProgress>,
    limit: Duration,
    found: &dyn Fn() -> bool,
) {
    let (Some(waker), Some(progress)) = (waker, progress) else {
        return budget.cancellation.park(limit);
    };
    let found = &|| found() || budget.cancellation.ended().is_some();
    let wait = ConnectionWait {
        waker,
        limit,
        found,
    };
    budget.cancellation.sleep(|| progress.sleep(&wait));
}
