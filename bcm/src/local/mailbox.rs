//! The mailbox of one worker, where messages from its pack and from other packs end up.
//!
//! It has a [`Channel`] for each worker of the pack, created when that worker first sends or is waited for, and a
//! [`RemoteQueue`] for all other packs. A receiver that finds nothing keeps looking at the one it waits on: first
//! spinning, then yielding, then parked (see [`crate::cancellation`]).

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
    /// Creates a mailbox in a pack of these workers.
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

    /// Delivers a message and wakes the workers that wait for it. Never blocks. The message is built directly in
    /// its place.
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

    /// Delivers messages from other packs that arrived together.
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

    /// Wakes all threads, so that they notice that something ended.
    pub(crate) fn wake_all(&self) {
        for channel in self.channels.iter().filter_map(OnceLock::get) {
            channel.waiters.wake_all();
        }
        self.remote_queue.waiters.wake_all();
        self.watchers.wake_all();
    }

    /// Returns the wanted message if it has arrived.
    #[inline]
    pub(crate) fn try_take(&self, spec: &MatchSpec) -> Result<Option<Message>, Error> {
        match self.channel(spec.source) {
            Some(channel) => channel.try_take(spec, 1),
            None => self.remote_queue.try_take(spec),
        }
        .map_err(|error| *error)
    }

    /// Returns a message from any sender, with its sender. Which sender comes first changes with
    /// `turn`.
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

    /// Returns the wanted message, waiting for it while the operation's budget lasts.
    ///
    /// `progress` defines what to do while waiting for a message from another pack.
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

    /// Waits until `attempt`, which can look at everything that has arrived, finds something.
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

/// Looks in a row, with a processor pause between two: looking without one keeps taking the cache
/// line from the sender that is about to write to it, which costs more time than it saves.
const LOOKS: u32 = 16;

/// How thorough a look is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// The first look, and the last one before sleeping.
    Surely,
    /// The looks in between, of which there are many.
    IfReady,
}

/// Returns a look that, unless it must be sure, makes an attempt only after something has arrived,
/// as an attempt costs more than checking for that.
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
    /// Reads what is available without waiting; returns whether there was anything.
    fn poll(&self) -> bool;

    /// Called when the worker is about to sleep. An error ends its wait: nothing more can arrive.
    fn before_sleep(&self) -> Result<(), Error>;

    /// Whether [`RemoteProgress::sleep`] can be used; otherwise the worker sleeps on its own lock.
    fn sleeps(&self) -> bool;

    /// Sleeps until something is found, the waker wakes the thread or the time is up, and reads
    /// what arrived.
    fn sleep(&self, wait: &ConnectionWait<'_>);
}

/// Waits until a `look`, which itself lasts a moment, finds something. Arrivals wake the `waiters`.
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
            // Anything that ended or arrived before the announcement has woken nobody.
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
