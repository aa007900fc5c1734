//! Ends every wait of a pack: when it is aborted or closed, and at deadlines.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Peer};
use crate::failure::Failure;
use crate::operation::Operation;

/// The size of the last pack and the number of processors this process had for it. Counting processors reads files,
/// while a pack may last only milliseconds. A container can get a different number of processors for a pack of
/// another size.
static CORES: Mutex<(usize, usize)> = Mutex::new((0, 0));

fn cores(workers: usize) -> usize {
    let mut known = CORES.lock();
    if known.0 != workers {
        let now = thread::available_parallelism().map_or(1, usize::from);
        *known = (workers, now);
    }
    known.1
}

/// State shared by all threads that can wait in a pack.
#[derive(Debug)]
pub(crate) struct Cancellation {
    /// Whether operations must end. Every operation reads it, so it is apart from the reason, which
    /// is read once.
    ended: AtomicBool,
    reason: OnceLock<Error>,
    /// For threads that wait for something other than a message.
    changes: Mutex<()>,
    changed: Condvar,
    deadline: Option<Instant>,
    operation_timeout: Duration,
    /// Workers that are not parked: when they outnumber the cores, spinning only takes time from
    /// the worker that is waited for.
    awake: AtomicUsize,
    cores: usize,
}

impl Cancellation {
    pub(crate) fn new(
        workers: usize,
        deadline: Option<Instant>,
        operation_timeout: Duration,
    ) -> Self {
        Self {
            ended: AtomicBool::new(false),
            reason: OnceLock::new(),
            changes: Mutex::new(()),
            changed: Condvar::new(),
            deadline,
            operation_timeout,
            awake: AtomicUsize::new(workers),
            cores: cores(workers),
        }
    }

    /// Ends all operations with this error. Only the first reason counts; returns `false` for later
    /// ones.
    pub(crate) fn end(&self, reason: Error) -> bool {
        let first = self.reason.set(reason).is_ok();
        self.ended.store(true, Ordering::Release);
        self.announce_change();
        first
    }

    /// Makes the threads in [`Cancellation::wait_until`] check their conditions again.
    pub(crate) fn announce_change(&self) {
        let _order = self.changes.lock();
        self.changed.notify_all();
    }

    /// Waits until a condition holds or operations must end, but no longer than `limit`.
    pub(crate) fn wait_until(&self, limit: Duration, condition: impl Fn() -> bool) {
        let until = Instant::now() + limit;
        let mut changes = self.changes.lock();
        while !condition() && self.ended().is_none() {
            if self.changed.wait_until(&mut changes, until).timed_out() {
                return;
            }
        }
    }

    /// Whether the flare's deadline has passed.
    pub(crate) fn is_overdue(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Returns why operations must end, once they must.
    #[inline]
    pub(crate) fn ended(&self) -> Option<&Error> {
        if self.ended.load(Ordering::Acquire) {
            self.reason.get()
        } else {
            None
        }
    }

    /// Returns an error once operations must end.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        #[cold]
        fn refuse(reason: &Error) -> Result<(), Error> {
            Err(reason.clone())
        }
        self.ended().map_or(Ok(()), refuse)
    }

    /// Sleeps until woken, but no longer than `limit`. May return early.
    pub(crate) fn park(&self, limit: Duration) {
        self.sleep(|| thread::park_timeout(limit));
    }

    /// Like [`Cancellation::park`], for other ways of sleeping.
    pub(crate) fn sleep(&self, sleep: impl FnOnce()) {
        self.awake.fetch_sub(1, Ordering::Relaxed);
        sleep();
        self.awake.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn cores(&self) -> usize {
        self.cores
    }

    fn crowded(&self) -> bool {
        self.awake.load(Ordering::Relaxed) > self.cores
    }
}

/// The most rounds of spinning, each of several looks: a few microseconds.
const MOST_SPINS: u32 = 10;
/// The fewest rounds: long enough for a message that is just being delivered.
const FEWEST_SPINS: u32 = 1;
/// After this many waits the maximum is tried again.
const PROBE: u32 = 64;
/// How long a thread yields its core to others before it sleeps. A wake-up costs the waker a system
/// call and the sleeper some 20 µs, so it pays to stay awake a little longer than that.
const YIELDING: Duration = Duration::from_micros(60);
/// The longest sleep: a lost wake-up can cost time, but never causes a hang.
const LONGEST_PARK: Duration = Duration::from_millis(250);

/// How long it pays for a thread to spin. Spinning finds a message sooner only while its sender
/// runs on another core; when both share one, it just keeps the sender from running. Which case
/// applies changes as the system moves threads, so each thread learns from its own waits.
#[derive(Debug, Clone, Copy)]
struct SpinEstimate {
    spins: u32,
    waits: u32,
}

thread_local! {
    static SPIN_ESTIMATE: Cell<SpinEstimate> = const { Cell::new(SpinEstimate { spins: MOST_SPINS, waits: 0 }) };
}

/// What a waiting thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Some time has passed: look again.
    Look,
    /// Announce the sleep, look again, then sleep for at most this long.
    Park(Duration),
}

/// The waits of one operation, all under one deadline.
#[derive(Debug)]
pub(crate) struct WaitBudget<'a> {
    pub(crate) cancellation: &'a Cancellation,
    pub(crate) operation: Operation,
    /// When the first wait outlasted spinning. Not set before, as reading the clock costs as much
    /// as a message.
    started: Option<Instant>,
    round: u32,
    /// Rounds to spin in this wait.
    spins: u32,
    yielding_since: Option<Instant>,
    /// Whether to sleep right after spinning, because the thread will be woken without delay.
    pub(crate) prompt: bool,
}

impl<'a> WaitBudget<'a> {
    #[inline]
    pub(crate) fn new(cancellation: &'a Cancellation, operation: Operation) -> Self {
        Self {
            cancellation,
            operation,
            started: None,
            round: 0,
            spins: FEWEST_SPINS,
            yielding_since: None,
            prompt: false,
        }
    }

    /// Begins another wait of the same operation: spins again, under the same deadline.
    pub(crate) fn refresh(&mut self) {
        self.round = 0;
        self.yielding_since = None;
        let estimate = SPIN_ESTIMATE.get();
        self.spins = if self.cancellation.crowded() {
            FEWEST_SPINS
        } else if estimate.waits.is_multiple_of(PROBE) {
            MOST_SPINS
        } else {
            estimate.spins
        };
    }

    /// Records that the wait has found what it waited for.
    pub(crate) fn record_success(&self) {
        if self.round == 0 || self.cancellation.crowded() {
            return;
        }
        let estimate = SPIN_ESTIMATE.get();
        let spins = match self.yielding_since {
            None => MOST_SPINS,
            Some(_) => (estimate.spins / 2).max(FEWEST_SPINS),
        };
        SPIN_ESTIMATE.set(SpinEstimate {
            spins,
            waits: estimate.waits.wrapping_add(1),
        });
    }

    /// Lets a little time pass. Returns an error once the operation must end.
    pub(crate) fn pause(&mut self, peer: Peer) -> Result<Pause, Error> {
        self.check(peer)?;
        // If wake-ups are prompt, even the fewest spins take longer than falling asleep.
        let spins = match self.prompt && self.spins == FEWEST_SPINS {
            true => 0,
            false => self.spins,
        };
        if self.round < spins {
            self.round += 1;
            std::hint::spin_loop();
            return Ok(Pause::Look);
        }
        let now = Instant::now();
        let left = self.remaining_at(now, peer)?;
        let since = *self.yielding_since.get_or_insert(now);
        if !self.prompt && now.duration_since(since) < YIELDING {
            thread::yield_now();
            return Ok(Pause::Look);
        }
        Ok(Pause::Park(left.min(LONGEST_PARK)))
    }

    /// Returns an error once the operation must end. At the flare's timeout the error names the peer that this
    /// operation waits for, even if another thread was first to notice the timeout, unless the operation has not
    /// begun to wait.
    #[inline]
    pub(crate) fn check(&self, peer: Peer) -> Result<(), Error> {
        match (self.cancellation.ended(), self.started) {
            (None, _) => Ok(()),
            (Some(Error::Aborted(failure)), Some(started)) if failure.is_overdue() => {
                Err(self.timed_out(peer, started.elapsed()))
            }
            (Some(reason), _) => Err(reason.clone()),
        }
    }

    /// Returns the time left for the operation; an error if none is left or the operation must end.
    pub(crate) fn remaining(&mut self, peer: Peer) -> Result<Duration, Error> {
        self.check(peer)?;
        self.remaining_at(Instant::now(), peer)
    }

    /// The same budget for a thread that helps with the operation.
    pub(crate) fn share(&self) -> Self {
        Self {
            cancellation: self.cancellation,
            operation: self.operation,
            started: self.started,
            round: 0,
            spins: FEWEST_SPINS,
            yielding_since: None,
            prompt: false,
        }
    }

    fn remaining_at(&mut self, now: Instant, peer: Peer) -> Result<Duration, Error> {
        let until_deadline = self
            .cancellation
            .deadline
            .map_or(Duration::MAX, |deadline| {
                deadline.saturating_duration_since(now)
            });
        let started = match self.started {
            None if until_deadline.is_zero() => return Err(Error::Aborted(Failure::overdue())),
            started => started.unwrap_or(now),
        };
        self.started = Some(started);
        let waited = now.duration_since(started);
        let left = self.cancellation.operation_timeout.saturating_sub(waited);
        match left.min(until_deadline) {
            Duration::ZERO => Err(self.timed_out(peer, waited)),
            left => Ok(left),
        }
    }

    #[cold]
    fn timed_out(&self, peer: Peer, after: Duration) -> Error {
        Error::Timeout {
            operation: self.operation,
            peer,
            after,
        }
    }
}
