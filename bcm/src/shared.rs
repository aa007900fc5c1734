//! State that the workers of a pack share.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::address::{Class, Destination, Source};
use crate::cancellation::{Cancellation, WaitBudget};
use crate::error::{Error, Peer};
use crate::failure::Failure;
use crate::group::Group;
use crate::interruptions::Interruptions;
use crate::local::{ConnectionWait, Mailbox, MatchSpec, RemoteProgress};
use crate::mailboxes::Mailboxes;
use crate::message::Message;
use crate::operation::Operation;
use crate::pack_id::PackId;
use crate::payload::{self, Payload};
use crate::remote::Remote;
use crate::topology::Topology;
use crate::wire::WireError;

/// How long a worker waits before it notifies the other pack: longer than workers that make the same calls usually
/// drift apart.
const LONG: Duration = Duration::from_secs(1);

/// One pack: its mailboxes, and the connection to the other packs.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) flare_id: String,
    pub(crate) pack: PackId,
    pub(crate) topology: Topology,
    pub(crate) first_worker: u32,
    pub(crate) cancellation: Arc<Cancellation>,
    pub(crate) mailboxes: Arc<Mailboxes>,
    pub(crate) interruptions: Interruptions,
    /// The index at which the next search for a message from any worker starts.
    pub(crate) turn: AtomicUsize,
    /// Set by `start` when there are other packs.
    pub(crate) remote: OnceLock<Remote>,
}

impl Shared {
    pub(crate) fn is_local(&self, worker: u32) -> bool {
        self.mailboxes.of(worker).is_some()
    }

    /// Gives a value to one worker. Inside the pack this never blocks; to another pack it
    /// returns once the backend has taken the bytes.
    pub(crate) fn give<T: Payload>(
        &self,
        budget: &mut WaitBudget<'_>,
        source: Source,
        destination: u32,
        class: Class,
        value: T,
    ) -> Result<(), Error> {
        budget.check(Peer::Worker(destination))?;
        if let Some(mailbox) = self.mailboxes.of(destination) {
            mailbox.deliver(source, class, || Message::moved(value));
            return Ok(());
        }
        let encoded = payload::encode(budget.operation, &value)?;
        self.remote()?
            .send(source, destination, class, &encoded, budget)
    }

    /// Takes the wanted message if it has arrived.
    pub(crate) fn try_take(
        &self,
        destination: Destination,
        spec: &MatchSpec,
    ) -> Result<Option<Message>, Error> {
        self.mailbox(destination)?.try_take(spec)
    }

    fn mailbox(&self, destination: Destination) -> Result<&Mailbox, Error> {
        match destination {
            Destination::Worker(worker) => self.mailboxes.of(worker).ok_or(Error::Closed),
            Destination::Pack => Ok(self.mailboxes.of_pack()),
        }
    }

    /// Takes the wanted message; this worker waits for it if necessary.
    pub(crate) fn take(
        &self,
        budget: &mut WaitBudget<'_>,
        worker: u32,
        destination: Destination,
        spec: &MatchSpec,
    ) -> Result<Message, Error> {
        budget.check(Peer::Worker(spec.source))?;
        let mailbox = self.mailbox(destination)?;
        if self.is_local(spec.source) {
            return mailbox.take(spec, budget, None);
        }
        if let Some(message) = mailbox.try_take(spec)? {
            return Ok(message);
        }
        let remote = self.remote()?;
        let _expected = remote.expect(destination, spec.as_source());
        let progress = FromWorker {
            remote,
            worker,
            spec: *spec,
            operation: budget.operation,
            began: Cell::new(None),
            told_at: Cell::new(LONG),
        };
        mailbox.take(spec, budget, Some(&progress))
    }

    /// Takes a message from any member of the group, waiting for one if necessary. Returns the
    /// sender with it.
    pub(crate) fn take_any(
        &self,
        budget: &mut WaitBudget<'_>,
        group: &Group,
        spec: &MatchSpec,
    ) -> Result<(u32, Message), Error> {
        let me = spec.source;
        let mailbox = self.mailboxes.of(me).ok_or(Error::Closed)?;
        let mut turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut attempt = || {
            turn = turn.wrapping_add(1);
            mailbox.try_take_any(spec, turn)
        };
        if let Some(found) = attempt()? {
            return Ok(found);
        }
        let _expected: Vec<_> = match self.remote.get() {
            Some(remote) => group
                .members()
                .iter()
                .filter(|&&worker| !self.is_local(worker))
                .map(|&source| MatchSpec { source, ..*spec }.as_source())
                .filter_map(|source| remote.expect(Destination::Worker(me), source))
                .collect(),
            None => Vec::new(),
        };
        self.wait_for(budget, me, attempt)
    }

    /// Waits until `attempt` finds something in a worker's mailbox, whichever pack it comes from.
    pub(crate) fn wait_for<R>(
        &self,
        budget: &mut WaitBudget<'_>,
        worker: u32,
        attempt: impl FnMut() -> Result<Option<R>, Error>,
    ) -> Result<R, Error> {
        let mailbox = self.mailboxes.of(worker).ok_or(Error::Closed)?;
        let anyone = self.remote.get().map(|remote| FromAnyone { remote });
        let progress = anyone.as_ref().map(|anyone| anyone as &dyn RemoteProgress);
        mailbox.wait_for(Peer::AnyWorker, budget, attempt, progress)
    }

    pub(crate) fn remote(&self) -> Result<&Remote, Error> {
        self.remote.get().ok_or(Error::NotStarted)
    }

    /// Ends every operation of the pack's workers and notifies the other packs. Only the first
    /// failure counts.
    pub(crate) fn abort(&self, failure: Failure) {
        let failure = failure.unless_overdue(self.cancellation.is_overdue());
        if self.cancellation.end(Error::Aborted(failure.clone())) {
            self.wake_all();
            if let Some(remote) = self.remote.get() {
                remote.abort(&failure);
            }
        }
    }

    /// Handles a message to a group from a worker that is not a member, which only a lying pack can send: the flare
    /// fails, as for other messages that cannot be right.
    #[cold]
    pub(crate) fn refuse_source(&self, worker: u32) -> Error {
        let error = WireError::Invalid {
            field: "source",
            value: worker.into(),
        };
        let failure = error.to_failure(self.topology.pack_of(worker));
        self.abort(failure.clone());
        // The flare may already have ended for another reason.
        let ended = self.cancellation.ended().cloned();
        ended.unwrap_or(Error::Aborted(failure))
    }

    pub(crate) fn wake_all(&self) {
        self.mailboxes.wake_all();
        if let Some(remote) = self.remote.get() {
            remote.wake_all();
        }
    }
}

/// A wait for a worker of another pack.
struct FromWorker<'a> {
    remote: &'a Remote,
    worker: u32,
    spec: MatchSpec,
    operation: Operation,
    /// When the worker was first about to sleep.
    began: Cell<Option<Instant>>,
    /// How long the worker must have waited before it notifies the other pack again.
    told_at: Cell<Duration>,
}

impl RemoteProgress for FromWorker<'_> {
    fn poll(&self) -> bool {
        self.remote.progress(self.spec.source)
    }

    fn before_sleep(&self) -> Result<(), Error> {
        let source = self.spec.source;
        if self.remote.departed(source) {
            return Err(Error::Departed {
                operation: self.operation,
                peer: Peer::Worker(source),
            });
        }
        let began = self.began.get().unwrap_or_else(Instant::now);
        self.began.set(Some(began));
        if began.elapsed() >= self.told_at.get() {
            // It is notified again later, as it may not know the group yet.
            self.told_at.set(self.told_at.get() * 2);
            self.remote.waits(self.worker, &self.spec);
        }
        Ok(())
    }

    fn sleeps(&self) -> bool {
        self.remote.sleeps()
    }

    fn sleep(&self, wait: &ConnectionWait<'_>) {
        self.remote.sleep(Some(self.spec.source), wait);
    }
}

/// A wait for the first message from any worker.
struct FromAnyone<'a> {
    remote: &'a Remote,
}

impl RemoteProgress for FromAnyone<'_> {
    fn poll(&self) -> bool {
        self.remote.progress_any()
    }

    fn before_sleep(&self) -> Result<(), Error> {
        Ok(())
    }

    fn sleeps(&self) -> bool {
        self.remote.sleeps()
    }

    fn sleep(&self, wait: &ConnectionWait<'_>) {
        self.remote.sleep(None, wait);
    }
}
