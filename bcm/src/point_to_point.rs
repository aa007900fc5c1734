//! Messages from one worker to another.

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
/// Workers are named by their [`rank`](Communicator::rank), which is the worker id in the group of
/// all workers. Messages from one worker to another with the same tag arrive in the order they were
/// sent; messages with another tag, of another group, or of collectives are never mistaken for
/// them.
impl Communicator {
    /// Sends a value to one worker, which can be this one.
    ///
    /// To a worker of the same pack the value is moved, whatever its size, without waiting. To
    /// another pack this returns once the backend has taken the bytes. It waits for the receiver
    /// only while that pack holds more unreceived bytes than its limit allows.
    ///
    /// Cost: locally one pointer; remotely one message of the value's size.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the worker does not exist; [`Error::Payload`] when the value
    /// cannot be encoded; and, as for every operation, [`Error::Aborted`], [`Error::Timeout`],
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

    /// Like [`Communicator::send`], with a tag: only a receive with the same tag takes the value.
    ///
    /// # Errors
    /// Same as [`Communicator::send`].
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

    /// Receives the next value that a worker sends to this one, waiting for it if necessary.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] when the sender sent another type (the message is then lost);
    /// [`Error::Departed`] when the sender's pack has ended without sending; also those of
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

    /// Like [`Communicator::recv`], for values sent with this tag.
    ///
    /// # Errors
    /// Same as [`Communicator::recv`].
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

    /// Receives a value with this tag from any worker, waiting for one if necessary. Returns the
    /// sender's rank with it.
    ///
    /// Values of one sender are received in the order they were sent; senders take turns.
    ///
    /// Cost: as for [`Communicator::recv`], and a look at each worker's channel.
    ///
    /// # Errors
    /// Same as [`Communicator::recv`], except [`Error::Departed`]: if no worker is left to send, it waits until its
    /// timeout.
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

    /// Sends a value to one worker and receives one from another or the same. Two workers that do
    /// this with each other never deadlock, however large the values.
    ///
    /// # Errors
    /// Those of [`Communicator::send`] and [`Communicator::recv`].
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

    /// Starts to send a value and returns immediately.
    ///
    /// A value to a worker of the same pack has then already been delivered. To another pack a
    /// separate thread sends it, which pays off only for large values. Messages arrive in the order
    /// of the calls.
    ///
    /// # Errors
    /// Those of [`Communicator::send`] that are detected immediately; the request returns the
    /// others.
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

    /// Starts to receive a value: its sender can now send it, however large it is, and the request
    /// returns it. If there are several requests for one source and tag, the first one to be waited
    /// for or tested gets the first value.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the worker does not exist; the request returns the others.
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

    /// Returns the worker of a destination's rank.
    #[inline]
    fn destination(&self, operation: Operation, rank: u32) -> Result<u32, Error> {
        self.worker_of(rank).ok_or_else(|| {
            let last = self.size() - 1;
            let reason = InvalidArgument::NoSuchDestination { rank, last };
            Error::InvalidArgument { operation, reason }
        })
    }
}
