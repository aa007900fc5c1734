//! Operations that all members of a group call together, in the same order: one file each, with the
//! methods of [`Communicator`] and how they work.
//!
//! They are written in terms of the ranks of a group. Every call of a collective has a number, the
//! same on every worker because all call the same collectives in the same order; it is part of
//! every message, together with the operation and the root. Within one call no worker sends another
//! more than one message (or a fixed sequence of them, which stay in order), so
//! `(number, source, destination)` identifies a message; one that arrived in a bundle with others
//! is taken like any other.

mod all_to_all;
mod barrier;
mod broadcast;
mod bundles;
mod elements;
mod gather;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
mod split;

use std::sync::Arc;

use crate::address::{Class, Destination, Source};
use crate::call_history::Called;
use crate::cancellation::WaitBudget;
use crate::communicator::Communicator;
use crate::error::{Error, Peer};
use crate::group::Group;
use crate::invalid::InvalidArgument;
use crate::local::{ErasedValue, MatchSpec};
use crate::message::Message;
use crate::operation::Operation;
use crate::pack_id::PackId;
use crate::payload::{self, Encoded, Payload};
use crate::rank::Rank;
use crate::remote::Expectation;
use crate::shared::Shared;

/// Stands for the root in collectives that have none.
const NO_ROOT: Rank = Rank(0);

/// One call of a collective by one worker.
pub(crate) struct Call<'a> {
    shared: &'a Shared,
    pub(crate) group: &'a Group,
    class: Class,
    /// This call and its number, until they have been compared with the calls of other workers.
    unverified: Option<(u64, Called)>,
    budget: WaitBudget<'a>,
}

impl<'a> Call<'a> {
    /// Begins a collective that exchanges values of type `T`, checking the root first so that a refused call leaves
    /// no trace. Also returns an error if another worker has called something else instead.
    pub(crate) fn begin<T: ?Sized + 'static>(
        communicator: &'a Communicator,
        operation: Operation,
        root: Rank,
    ) -> Result<Self, Error> {
        let mut call = Self::begin_unverified::<T>(communicator, operation, root)?;
        call.verify()?;
        Ok(call)
    }

    /// Like [`Call::begin`], for a call in which every message is a `T` from the root: it is compared with others'
    /// calls only before it publishes or waits. A message that is already there shows that the calls are the same.
    fn begin_unverified<T: ?Sized + 'static>(
        communicator: &'a Communicator,
        operation: Operation,
        root: Rank,
    ) -> Result<Self, Error> {
        let shared = &*communicator.shared;
        let group = &*communicator.group;
        if root.0 >= group.size() {
            let (root, last) = (root.0, group.size() - 1);
            return Err(invalid(
                operation,
                InvalidArgument::NoSuchRoot { root, last },
            ));
        }
        shared.cancellation.check()?;
        let number = group.number();
        let called = Called::new::<T>(operation, root);
        Ok(Self {
            shared,
            group,
            class: Class::Collective {
                number,
                operation,
                root,
            },
            unverified: Some((number, called)),
            budget: WaitBudget::new(&shared.cancellation, operation),
        })
    }

    /// Compares this call with the calls of the same number by the others in this pack.
    fn verify(&mut self) -> Result<(), Error> {
        let Some((number, called)) = self.unverified.take() else {
            return Ok(());
        };
        let history = self.group.history(&self.shared.mailboxes.histories);
        history.enter(number, called, self.group.caller())
    }

    fn operation(&self) -> Operation {
        self.budget.operation
    }

    /// How many workers of this pack can run at the same time.
    fn processors(&self) -> usize {
        self.shared.cancellation.cores()
    }

    fn source(&self) -> Source {
        self.source_of(self.group.rank)
    }

    fn source_of(&self, rank: Rank) -> Source {
        Source {
            context: self.group.context,
            worker: self.group.worker(rank),
        }
    }

    fn spec(&self, from: Rank) -> MatchSpec {
        MatchSpec {
            context: self.group.context,
            source: self.group.worker(from),
            class: self.class,
        }
    }

    /// Gives a value to one member.
    pub(crate) fn give<T: Payload>(&mut self, to: Rank, value: T) -> Result<(), Error> {
        let (source, worker) = (self.source(), self.group.worker(to));
        self.shared
            .give(&mut self.budget, source, worker, self.class, value)
    }

    /// Sends an encoded value to a member of another pack.
    pub(crate) fn send(&mut self, to: Rank, encoded: &Encoded<'_>) -> Result<(), Error> {
        let (source, worker) = (self.source(), self.group.worker(to));
        self.budget.check(Peer::Worker(worker))?;
        let remote = self.shared.remote()?;
        remote.send(source, worker, self.class, encoded, &mut self.budget)
    }

    /// Shares a value with the other members in this pack.
    pub(crate) fn share<T: Payload>(&mut self, value: &Arc<T>) -> Result<(), Error> {
        self.verify()?;
        self.budget.check(Peer::AnyWorker)?;
        let source = self.source();
        for &rank in &self.group.own_pack().ranks {
            if rank == self.group.rank {
                continue;
            }
            if let Some(mailbox) = self.shared.mailboxes.of(self.group.worker(rank)) {
                let message = Message::shared(Arc::clone(value));
                mailbox.deliver(source, self.class, || message);
            }
        }
        Ok(())
    }

    /// Sends a value once to each other pack of the group, whose leaders take it with
    /// [`Call::take_published`].
    pub(crate) fn publish<T: Payload>(&mut self, value: &T) -> Result<(), Error> {
        if self.group.packs().len() < 2 {
            return Ok(());
        }
        let encoded = payload::encode(self.operation(), value)?;
        self.publish_encoded(&encoded)
    }

    /// Like [`Call::publish`], for an encoded value; there must be other packs.
    pub(crate) fn publish_encoded(&mut self, encoded: &Encoded<'_>) -> Result<(), Error> {
        self.verify()?;
        let packs: Vec<PackId> = self
            .group
            .packs()
            .iter()
            .map(|pack| pack.pack)
            .filter(|&pack| pack != self.shared.pack)
            .collect();
        let source = self.source();
        self.shared
            .remote()?
            .broadcast(source, &packs, self.class, encoded, &mut self.budget)
    }

    /// Moves a value of any type to a member of this pack.
    pub(crate) fn give_local<T: Send + 'static>(
        &mut self,
        to: Rank,
        value: T,
    ) -> Result<(), Error> {
        self.give_local_as(self.group.rank, to, value)
    }

    /// Like [`Call::give_local`], in the name of another member of this pack: for a value that the
    /// receiver gets once, from whichever member has it.
    pub(crate) fn give_local_as<T: Send + 'static>(
        &mut self,
        from: Rank,
        to: Rank,
        value: T,
    ) -> Result<(), Error> {
        let worker = self.group.worker(to);
        self.budget.check(Peer::Worker(worker))?;
        let source = self.source_of(from);
        let mailbox = self.shared.mailboxes.of(worker);
        let message = Message::Local(ErasedValue::new(value));
        mailbox
            .ok_or(Error::Closed)?
            .deliver(source, self.class, || message);
        Ok(())
    }

    /// Takes the value that a member of this pack moved here with [`Call::give_local`].
    pub(crate) fn take_local<T: Send + 'static>(&mut self, from: Rank) -> Result<T, Error> {
        let message = self.message(self.mine(), from)?;
        message.open_local(self.operation(), self.peer(from))
    }

    /// Takes the value that a member gave to this one.
    pub(crate) fn take<T: Payload>(&mut self, from: Rank) -> Result<T, Error> {
        let message = self.message(self.mine(), from)?;
        message.open(self.operation(), self.peer(from))
    }

    /// Takes the value that a member of this pack shared.
    pub(crate) fn take_shared<T: Payload>(&mut self, from: Rank) -> Result<Arc<T>, Error> {
        let message = self.message(self.mine(), from)?;
        message.open_shared(self.operation(), self.peer(from))
    }

    /// Takes the value that a member of another pack published. One member of each pack calls this.
    pub(crate) fn take_published<T: Payload>(&mut self, from: Rank) -> Result<T, Error> {
        let message = self.message(Destination::Pack, from)?;
        message.open(self.operation(), self.peer(from))
    }

    fn message(&mut self, destination: Destination, from: Rank) -> Result<Message, Error> {
        let spec = self.spec(from);
        if let Some((number, _)) = self.unverified {
            if let Some(message) = self.shared.try_take(destination, &spec)? {
                self.unverified = None;
                let history = self.group.history(&self.shared.mailboxes.histories);
                history.pass(number, self.group.caller());
                return Ok(message);
            }
            self.verify()?;
        }
        let me = self.group.worker(self.group.rank);
        self.shared.take(&mut self.budget, me, destination, &spec)
    }

    /// Announces that this member will take the values that all members of other packs publish, so
    /// that none of them has to wait for room here while this one waits for room there.
    pub(crate) fn expect_published(&self) -> Result<Vec<Expectation>, Error> {
        if self.group.packs().len() < 2 {
            return Ok(Vec::new());
        }
        let remote = self.shared.remote()?;
        Ok(Rank::all(self.group.size())
            .filter(|&rank| !self.group.is_local(rank))
            .filter_map(|rank| remote.expect(Destination::Pack, self.source_of(rank)))
            .collect())
    }

    /// Announces that a message from a member of another pack to one of this pack will be taken.
    pub(crate) fn expect(&self, to: Rank, from: Rank) -> Result<Option<Expectation>, Error> {
        let destination = Destination::Worker(self.group.worker(to));
        let remote = self.shared.remote()?;
        Ok(remote.expect(destination, self.source_of(from)))
    }

    fn peer(&self, rank: Rank) -> Peer {
        Peer::Worker(self.group.worker(rank))
    }

    fn mine(&self) -> Destination {
        Destination::Worker(self.group.worker(self.group.rank))
    }

    /// Sends a value to one member and receives one from another. A receive from another pack is
    /// announced before anything is sent, so that two workers that send to each other never
    /// deadlock.
    pub(crate) fn exchange<T: Payload>(
        &mut self,
        to: Option<(Rank, T)>,
        from: Option<Rank>,
    ) -> Result<Option<T>, Error> {
        let remote = from.filter(|&rank| !self.group.is_local(rank));
        let _expected = match remote {
            Some(from) => self.expect(self.group.rank, from)?,
            None => None,
        };
        if let Some((rank, value)) = to {
            self.give(rank, value)?;
        }
        from.map(|rank| self.take(rank)).transpose()
    }
}

/// Checks that there is one value for each worker.
fn check_one_each<T>(operation: Operation, workers: u32, values: &[T]) -> Result<(), Error> {
    let values = values.len();
    match values == workers as usize {
        true => Ok(()),
        false => Err(invalid(
            operation,
            InvalidArgument::NotOnePerWorker { workers, values },
        )),
    }
}

/// Returns the error for an argument that only the call itself can check.
fn invalid(operation: Operation, reason: InvalidArgument) -> Error {
    Error::InvalidArgument { operation, reason }
}
