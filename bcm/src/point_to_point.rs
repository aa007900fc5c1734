//! Messages from one worker to one other.

use crate::address::{Class, Destination, Source};
use crate::cancellation::WaitBudget;
use crate::communicator::Communicator;
use crate::error::{Error, Peer};
use crate::invalid::InvalidArgument;
use crate::local::MatchSpec;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::request::{RecvRequest, SendRequest};
use crate::tag::Tag;

/// The tag of messages that are sent without one.
const NO_TAG: Tag = Tag(0);

/// # Point to point
///
/// Workers are named by their [`rank`](Communicator::rank), which is the worker id in the group
/// of all workers. Messages from one worker to another with the same tag arrive in the order they
/// were sent; those with another tag, of another group, or of collectives are never taken for
/// them.
impl Communicator {
    /// Sends a value to one worker, itself included.
    ///
    /// To a worker of the same pack the value is moved, whatever its size, without waiting. To
    /// another pack this returns once the backend has taken the bytes. It waits for the receiver
    /// only while that pack holds more unreceived bytes than it may.
    ///
    /// Cost: locally one pointer; remotely one message of the value's size.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such worker; [`Error::Payload`] when the
    /// value cannot be encoded; and as every operation [`Error::Aborted`], [`Error::Timeout`],
    /// [`Error::Backend`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[1, 1], &BackendConfig::new("memory"), |worker| {
    ///     let peer = 1 - worker.worker_id();
    ///     worker.send(format!("hello from {}", worker.worker_id()), peer)?;
    ///     worker.recv::<String>(peer)
    /// });
    /// assert_eq!(results[0].as_deref(), Ok("hello from 1"));
    /// ```
    pub fn send<T: Payload>(&self, value: T, dest: u32) -> Result<(), Error> {
        self.send_tagged(value, dest, NO_TAG)
    }

    /// As [`Communicator::send`], for a receiver of this tag.
    ///
    /// # Errors
    /// As [`Communicator::send`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Tag, testing};
    /// let results = testing::run(&[2], &BackendConfig::new("memory"), |worker| {
    ///     if worker.worker_id() == 0 {
    ///         worker.send_tagged(2.5, 1, Tag(2))?;
    ///         worker.send_tagged(1.5, 1, Tag(1))?;
    ///         Ok((0.0, 0.0))
    ///     } else {
    ///         Ok((worker.recv_tagged(0, Tag(1))?, worker.recv_tagged(0, Tag(2))?))
    ///     }
    /// });
    /// assert_eq!(results[1], Ok((1.5, 2.5)));
    /// ```
    pub fn send_tagged<T: Payload>(&self, value: T, dest: u32, tag: Tag) -> Result<(), Error> {
        let operation = Operation::Send;
        let to = self.destination(operation, dest)?;
        let mut budget = WaitBudget::new(&self.shared.cancellation, operation);
        let from = self.source();
        let class = Class::Point { tag };
        self.noted(self.shared.give(&mut budget, from, to, class, value))
    }

    /// Receives the next value a worker has sent to this one; waits for it.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] when the sender sent another type (the message is then gone);
    /// [`Error::Departed`] when the sender's pack has ended without sending; and as
    /// [`Communicator::send`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[1], &BackendConfig::new("memory"), |worker| {
    ///     worker.send(7u8, 0)?;
    ///     worker.recv::<u8>(0)
    /// });
    /// assert_eq!(results, [Ok(7)]);
    /// ```
    pub fn recv<T: Payload>(&self, source: u32) -> Result<T, Error> {
        self.recv_tagged(source, NO_TAG)
    }

    /// As [`Communicator::recv`], of the values sent with this tag.
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Tag, testing};
    /// let results = testing::run(&[1], &BackendConfig::new("memory"), |worker| {
    ///     worker.send_tagged('x', 0, Tag(9))?;
    ///     worker.recv_tagged::<char>(0, Tag(9))
    /// });
    /// assert_eq!(results, [Ok('x')]);
    /// ```
    pub fn recv_tagged<T: Payload>(&self, source: u32, tag: Tag) -> Result<T, Error> {
        let operation = Operation::Recv;
        let spec = self.spec(operation, source, tag)?;
        self.take(operation, &spec)
    }

    /// Receives a value from whichever worker has sent one with this tag; waits for it. Gives the
    /// sender's rank with it.
    ///
    /// Values of one sender come in the order they were sent; senders take turns.
    ///
    /// Cost: as [`Communicator::recv`], and a look at each worker.
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Tag, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     if worker.worker_id() > 0 {
    ///         worker.send_tagged(worker.worker_id() * 10, 0, Tag(5))?;
    ///         return Ok(0);
    ///     }
    ///     let (first, a): (u32, u32) = worker.recv_any(Tag(5))?;
    ///     let (second, b): (u32, u32) = worker.recv_any(Tag(5))?;
    ///     assert_eq!((a, b), (first * 10, second * 10));
    ///     Ok(a + b)
    /// });
    /// assert_eq!(results[0], Ok(30));
    /// ```
    pub fn recv_any<T: Payload>(&self, tag: Tag) -> Result<(u32, T), Error> {
        let operation = Operation::Recv;
        let mut budget = WaitBudget::new(&self.shared.cancellation, operation);
        let spec = MatchSpec {
            context: self.group.context,
            source: self.worker_id(),
            class: Class::Point { tag },
        };
        self.check()?;
        let taken = self.shared.take_any(&mut budget, &self.group, &spec);
        let (worker, message) = self.noted(taken)?;
        let Some(rank) = self.group.rank_of(worker) else {
            return self.noted(Err(self.shared.refuse_source(worker)));
        };
        let value = message.open(operation, Peer::Worker(worker))?;
        Ok((rank.0, value))
    }

    /// Sends a value to one worker and receives one from another, or the same. Two workers that
    /// do this with each other never wait for each other in vain, however large the values.
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::recv`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[1, 2], &BackendConfig::new("memory"), |worker| {
    ///     let (me, n) = (worker.worker_id(), worker.burst_size());
    ///     worker.send_recv(me, (me + 1) % n, (me + n - 1) % n)
    /// });
    /// assert_eq!(results, [Ok(2), Ok(0), Ok(1)]);
    /// ```
    pub fn send_recv<T: Payload>(&self, value: T, dest: u32, source: u32) -> Result<T, Error> {
        let request = self.irecv(source, NO_TAG)?;
        self.send(value, dest)?;
        request.wait()
    }

    /// Begins to send a value and returns at once.
    ///
    /// To a worker of the same pack the value is then delivered. To another pack a separate thread
    /// sends it, which pays off for large values only. Messages arrive in the order of the calls.
    ///
    /// # Errors
    /// As [`Communicator::send`], as far as they show at once; the others come from the request.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Tag, testing};
    /// let results = testing::run(&[1, 1], &BackendConfig::new("memory"), |worker| {
    ///     let peer = 1 - worker.worker_id();
    ///     let sending = worker.isend(vec![1u8; 1000], peer, Tag(3))?;
    ///     let receiving = worker.irecv::<Vec<u8>>(peer, Tag(3))?;
    ///     // Something useful is done here.
    ///     sending.wait()?;
    ///     Ok(receiving.wait()?.len())
    /// });
    /// assert_eq!(results, [Ok(1000), Ok(1000)]);
    /// ```
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Tag, testing};
    /// let results = testing::run(&[1, 2], &BackendConfig::new("memory"), |worker| {
    ///     let (me, n) = (worker.worker_id(), worker.burst_size());
    ///     let sending = worker.isend(vec![me; 1000], (me + 1) % n, Tag::default())?;
    ///     let got: Vec<u32> = worker.recv((me + n - 1) % n)?;
    ///     sending.wait()?;
    ///     Ok(got[0])
    /// });
    /// assert_eq!(results, [Ok(2), Ok(0), Ok(1)]);
    /// ```
    pub fn isend<T: Payload>(&self, value: T, dest: u32, tag: Tag) -> Result<SendRequest, Error> {
        let operation = Operation::Send;
        let to = self.destination(operation, dest)?;
        self.noted(SendRequest::begin(self, to, Class::Point { tag }, value))
    }

    /// Begins to receive a value: its sender may send it now, however large it is, and it is
    /// taken with the request. Of several requests for one source and tag the one that is asked
    /// first gets the first value.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such worker; the others come from the request.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, Tag, testing};
    /// let results = testing::run(&[1, 1], &BackendConfig::new("memory"), |worker| {
    ///     if worker.worker_id() == 0 {
    ///         worker.send_tagged(5u64, 1, Tag(3))?;
    ///         return Ok(0);
    ///     }
    ///     let mut coming = worker.irecv::<u64>(0, Tag(3))?;
    ///     loop {
    ///         match coming.test()? {
    ///             Some(value) => return Ok(value),
    ///             None => std::thread::yield_now(), // or something useful
    ///         }
    ///     }
    /// });
    /// assert_eq!(results[1], Ok(5));
    /// ```
    pub fn irecv<T: Payload>(&self, source: u32, tag: Tag) -> Result<RecvRequest<T>, Error> {
        let spec = self.spec(Operation::Recv, source, tag)?;
        self.check()?;
        RecvRequest::begin(self.clone(), spec)
    }

    pub(crate) fn take<T: Payload>(
        &self,
        operation: Operation,
        spec: &MatchSpec,
    ) -> Result<T, Error> {
        let mut budget = WaitBudget::new(&self.shared.cancellation, operation);
        let me = self.worker_id();
        let mine = Destination::Worker(me);
        let message = self.noted(self.shared.take(&mut budget, me, mine, spec))?;
        message.open(operation, Peer::Worker(spec.source))
    }

    #[inline]
    fn spec(&self, operation: Operation, source: u32, tag: Tag) -> Result<MatchSpec, Error> {
        Ok(MatchSpec {
            context: self.group.context,
            source: self.worker_of(source).ok_or_else(|| {
                let (rank, last) = (source, self.size() - 1);
                let reason = InvalidArgument::NoSuchSource { rank, last };
                Error::InvalidArgument { operation, reason }
            })?,
            class: Class::Point { tag },
        })
    }

    #[inline]
    pub(crate) fn source(&self) -> Source {
        Source {
            context: self.group.context,
            worker: self.worker_id(),
        }
    }

    /// The worker of the rank that something goes to.
    #[inline]
    fn destination(&self, operation: Operation, rank: u32) -> Result<u32, Error> {
        self.worker_of(rank).ok_or_else(|| {
            let last = self.size() - 1;
            let reason = InvalidArgument::NoSuchDestination { rank, last };
            Error::InvalidArgument { operation, reason }
        })
    }
}
