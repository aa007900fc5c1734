//! The mailbox of one worker, where messages from its pack and from other packs end up.
//!
//! There is a [`Lane`] for each worker of the pack, made when that one first sends or is waited
//! for, and a [`Tray`] for all other packs. A receiver that finds nothing looks at the one it
//! waits for: first spinning, then yielding, then parked (see [`crate::control`]).

use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::bell::{Bell, Sleeper};
use super::kept::{Envelope, Stamp, Want};
use super::lane::Lane;
use super::sleepers::Sleepers;
use super::tray::Tray;
use crate::address::Class;
use crate::control::{Patience, Pause};
use crate::error::{Error, Peer};
use crate::message::Parcel;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Mailbox {
    first_worker: u32,
    lanes: Box<[OnceLock<Box<Lane>>]>,
    tray: Tray,
    /// Threads that wait for more than one sender.
    watchers: Sleepers,
}

impl Mailbox {
    /// A mailbox in a pack of these workers.
    pub(crate) fn new(first_worker: u32, workers: u32) -> Self {
        Self {
            first_worker,
            lanes: (0..workers).map(|_| OnceLock::new()).collect(),
            tray: Tray::default(),
            watchers: Sleepers::default(),
        }
    }

    /// The lane of a worker of this pack; `None` for any other worker.
    #[inline]
    fn lane(&self, source: u32) -> Option<&Lane> {
        let index = source.wrapping_sub(self.first_worker) as usize;
        let lane = self.lanes.get(index)?;
        Some(lane.get_or_init(|| Box::new(Lane::new())))
    }

    /// Puts a message into its place and wakes whoever waits for it. Never blocks. The parcel is
    /// made where it is to lie.
    #[inline]
    pub(crate) fn deliver(
        &self,
        context: u32,
        source: u32,
        class: Class,
        parcel: impl FnOnce() -> Parcel,
    ) {
        let stamp = Stamp::new(context, class);
        let envelope = || Envelope {
            stamp,
            parcel: parcel(),
        };
        match self.lane(source) {
            Some(lane) => lane.deliver(envelope),
            None => self.tray.deliver([(source, envelope())].into_iter()),
        }
        self.watchers.wake();
    }

    /// Puts messages from other packs, which came together, into their places.
    pub(crate) fn deliver_from_afar(
        &self,
        context: u32,
        class: Class,
        parcels: impl Iterator<Item = (u32, Parcel)>,
    ) {
        let stamp = Stamp::new(context, class);
        let envelopes = parcels.map(|(source, parcel)| (source, Envelope { stamp, parcel }));
        self.tray.deliver(envelopes);
        self.watchers.wake();
    }

    /// Wakes everyone, so that they see that something ended.
    pub(crate) fn wake_all(&self) {
        for lane in self.lanes.iter().filter_map(OnceLock::get) {
            lane.sleepers.wake_all();
        }
        self.tray.sleepers.wake_all();
        self.watchers.wake_all();
    }

    /// The message wanted, if it is there.
    #[inline]
    pub(crate) fn try_take(&self, want: &Want) -> Result<Option<Parcel>, Error> {
        match self.lane(want.source) {
            Some(lane) => lane.try_take(want, 1),
            None => self.tray.try_take(want),
        }
        .map_err(|error| *error)
    }

    /// A message of any sender, who is named. Which sender comes first changes with `turn`.
    pub(crate) fn try_take_any(
        &self,
        want: &Want,
        turn: usize,
    ) -> Result<Option<(u32, Parcel)>, Error> {
        let count = self.lanes.len();
        for place in (0..count).map(|step| (turn + step) % count) {
            if let Some(lane) = self.lanes[place].get() {
                let source = self.first_worker + place as u32;
                if let Some(parcel) = lane
                    .try_take(&Want { source, ..*want }, 1)
                    .map_err(|error| *error)?
                {
                    return Ok(Some((source, parcel)));
                }
            }
        }
        self.tray.try_take_any(want).map_err(|error| *error)
    }

    /// The message wanted; waits for it as long as the operation's patience lasts.
    ///
    /// `afar` says what to do meanwhile for a message from another pack.
    pub(crate) fn take(
        &self,
        want: &Want,
        patience: &mut Patience<'_>,
        afar: Option<&dyn Afar>,
    ) -> Result<Parcel, Error> {
        let peer = Peer::Worker(want.source);
        let Some(lane) = self.lane(want.source) else {
            let seen = Cell::new(0);
            let ready = || self.tray.version() != seen.get();
            let attempt = || {
                seen.set(self.tray.version());
                self.tray.try_take(want).map_err(|error| *error)
            };
            let look = when_ready(&ready, attempt);
            return wait(peer, patience, &self.tray.sleepers, &ready, look, afar);
        };
        let ready = || lane.ready();
        let look = |_| lane.try_take(want, LOOKS).map_err(|error| *error);
        wait(peer, patience, &lane.sleepers, &ready, look, None)
    }

    /// Waits until `attempt`, which may look at all that has come, finds something.
    pub(crate) fn watch<R>(
        &self,
        peer: Peer,
        patience: &mut Patience<'_>,
        mut attempt: impl FnMut() -> Result<Option<R>, Error>,
        afar: Option<&dyn Afar>,
    ) -> Result<R, Error> {
        let seen = Cell::new(0);
        let attempt = || {
            seen.set(self.tray.version());
            attempt()
        };
        let ready = || {
            self.tray.version() != seen.get()
                || (self.lanes.iter())
                    .filter_map(OnceLock::get)
                    .any(|lane| lane.ready())
        };
        let look = when_ready(&ready, attempt);
        wait(peer, patience, &self.watchers, &ready, look, afar)
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
pub(crate) trait Afar {
    /// Gets what can be had at once; `true` when that was something.
    fn help(&self) -> bool;

    /// The worker is about to sleep. An error ends its wait: nothing can come any more.
    fn tire(&self) -> Result<(), Error>;

    /// Whether [`Afar::sleep`] is of use; else the worker sleeps on its own lock.
    fn sleeps(&self) -> bool;

    /// Sleeps until something is found, the bell rings or the time is up, and gets what came.
    fn sleep(&self, sleeper: &Sleeper<'_>);
}

/// Waits until a `look` finds something, which goes on for a moment by itself. Something that
/// comes wakes the `sleepers`.
#[inline]
fn wait<R>(
    peer: Peer,
    patience: &mut Patience<'_>,
    sleepers: &Sleepers,
    ready: &dyn Fn() -> bool,
    mut look: impl FnMut(Look) -> Result<Option<R>, Error>,
    afar: Option<&dyn Afar>,
) -> Result<R, Error> {
    patience.refresh();
    // Sleeping on a connection costs little more than looking at it.
    patience.prompt = afar.is_some_and(|afar| afar.sleeps());
    let mut bell = None;
    let mut next = Look::Surely;
    loop {
        patience.check(peer)?;
        if let Some(found) = look(next)? {
            patience.rewarded();
            return Ok(found);
        }
        next = Look::IfReady;
        if let Pause::Park(limit) = patience.pause(peer)? {
            if let Some(afar) = afar {
                afar.tire()?;
                bell = bell.or_else(|| afar.sleeps().then(Bell::mine).flatten());
            }
            sleepers.announce(bell.clone());
            // What ended or came before the announcement woke nobody.
            let last = patience.check(peer).and_then(|()| look(Look::Surely));
            if matches!(last, Ok(None)) {
                sleep(patience, bell.as_ref(), afar, limit, ready);
            }
            sleepers.withdraw();
            if let Some(found) = last? {
                return Ok(found);
            }
            next = Look::Surely;
        } else if afar.is_some_and(|afar| afar.help()) {
            patience.refresh();
        }
    }
}

#[cold]
fn sleep(
    patience: &mut Patience<'_>,
    bell: Option<&Arc<Bell>>,
    afar: Option<&dyn Afar>,
    limit: Duration,
    found: &dyn Fn() -> bool,
) {
    let (Some(bell), Some(afar)) = (bell, afar) else {
        return patience.control.park(limit);
    };
    let found = &|| found() || patience.control.ended().is_some();
    let sleeper = Sleeper { bell, limit, found };
    patience.control.sleep(|| afar.sleep(&sleeper));
}
