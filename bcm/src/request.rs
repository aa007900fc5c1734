//! Operations in progress, which have not been waited for yet.

use std::marker::PhantomData;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::address::{Class, Destination};
use crate::cancellation::WaitBudget;
use crate::communicator::Communicator;
use crate::error::{Error, Peer};
use crate::invalid::InvalidArgument;
use crate::local::MatchSpec;
use crate::operation::Operation;
use crate::payload::{self, Payload};
use crate::remote::Expectation;

/// A value being sent, from [`Communicator::isend`]. It is sent even if the request is dropped.
#[derive(Debug)]
#[must_use = "only the request tells whether the value was sent"]
pub struct SendRequest {
    /// The communicator and the sending thread, until the outcome is known.
    sending: Option<(Communicator, JoinHandle<Result<(), Error>>)>,
}

impl SendRequest {
    pub(crate) fn begin<T: Payload>(
        communicator: &Communicator,
        to: u32,
        class: Class,
        value: T,
    ) -> Result<Self, Error> {
        let operation = Operation::Send;
        let shared = &communicator.shared;
        let source = communicator.source();
        if shared.is_local(to) {
            let mut budget = WaitBudget::new(&shared.cancellation, operation);
            shared.give(&mut budget, source, to, class, value)?;
            return Ok(Self { sending: None });
        }
        shared.cancellation.check()?;
        // Any error in the value shows here. Once its place among the messages is reserved, it must
        // be sent.
        let encoded = payload::encode(operation, &value)?;
        let slot = shared.remote()?.reserve(source, to, &encoded, operation)?;
        // An encoded value is not encoded again; plain memory is sent from the value itself.
        let encoded = encoded.into_owned();
        let shared = Arc::clone(shared);
        let body = move || {
            let mut budget = WaitBudget::new(&shared.cancellation, operation);
            let encoded = match encoded {
                Some(encoded) => encoded,
                None => payload::encode(operation, &value)?,
            };
            shared.remote()?.send_at(slot, class, &encoded, &mut budget)
        };
        let sending = thread::Builder::new()
            .name("bcm-send".to_owned())
            .spawn(body);
        match sending {
            Ok(sending) => Ok(Self {
                sending: Some((communicator.clone(), sending)),
            }),
            Err(error) => Err(Error::Backend {
                backend: "threads",
                pack: None,
                reason: format!("cannot start a thread to send with: {error}"),
            }),
        }
    }

    /// Waits until the value is sent.
    ///
    /// # Errors
    /// Same as [`Communicator::send`].
    pub fn wait(mut self) -> Result<(), Error> {
        self.join()
    }

    /// Whether the value has been sent; never waits. Once `true`, it stays so.
    ///
    /// # Errors
    /// Same as [`Communicator::send`]; returned only once.
    pub fn test(&mut self) -> Result<bool, Error> {
        if self
            .sending
            .as_ref()
            .is_some_and(|(_, sending)| !sending.is_finished())
        {
            return Ok(false);
        }
        self.join().map(|()| true)
    }

    fn join(&mut self) -> Result<(), Error> {
        let Some((communicator, sending)) = self.sending.take() else {
            return Ok(());
        };
        // A panic in an encoder is passed on to the caller, whose code it is.
        let sent = sending
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        communicator.noted(sent)
    }
}

/// A value to be received, from [`Communicator::irecv`].
#[derive(Debug)]
#[must_use = "the value is received with the request"]
pub struct RecvRequest<T> {
    communicator: Communicator,
    spec: MatchSpec,
    done: bool,
    /// Allows the sender to send while the request exists.
    _expected: Option<Expectation>,
    value: PhantomData<fn() -> T>,
}

impl<T: Payload> RecvRequest<T> {
    pub(crate) fn begin(communicator: Communicator, spec: MatchSpec) -> Result<Self, Error> {
        let shared = &communicator.shared;
        let expected = match shared.is_local(spec.source) {
            true => None,
            false => {
                let mine = Destination::Worker(communicator.worker_id());
                shared.remote()?.expect(mine, spec.as_source())
            }
        };
        Ok(Self {
            communicator,
            spec,
            done: false,
            _expected: expected,
            value: PhantomData,
        })
    }

    /// Waits for the value.
    ///
    /// # Errors
    /// Same as [`Communicator::recv`]; also [`Error::InvalidArgument`] when
    /// [`test`](RecvRequest::test) has already returned the value.
    pub fn wait(self) -> Result<T, Error> {
        self.open()?;
        self.communicator.take(Operation::Recv, &self.spec)
    }

    /// Returns the value if it has arrived; never waits.
    ///
    /// # Errors
    /// Same as [`RecvRequest::wait`].
    pub fn test(&mut self) -> Result<Option<T>, Error> {
        self.open()?;
        let shared = &self.communicator.shared;
        self.communicator.check()?;
        if !shared.is_local(self.spec.source) {
            shared.remote()?.progress(self.spec.source);
        }
        let mailbox = shared.mailboxes.of(self.communicator.worker_id());
        let Some(message) = mailbox.ok_or(Error::Closed)?.try_take(&self.spec)? else {
            return Ok(None);
        };
        self.done = true;
        let peer = Peer::Worker(self.spec.source);
        message.open(Operation::Recv, peer).map(Some)
    }

    fn open(&self) -> Result<(), Error> {
        match self.done {
            true => Err(Error::InvalidArgument {
                operation: Operation::Recv,
                reason: InvalidArgument::RequestDone,
            }),
            false => Ok(()),
        }
    }
}

/// Waits until one of the requests, which must all be of one worker, has its value. Returns the
/// request's index and the value, and removes the request from the list.
///
/// # Errors
/// Same as [`RecvRequest::wait`]; also [`Error::InvalidArgument`] when there are no requests.
///
/// ```
/// # use burst_bcm::{BackendConfig, Tag, testing, wait_any};
/// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
///     if worker.worker_id() > 0 {
///         worker.send(worker.worker_id(), 0)?;
///         return Ok(0);
///     }
///     let mut requests = vec![worker.irecv::<u32>(1, Tag(0))?, worker.irecv(2, Tag(0))?];
///     let (_, first) = wait_any(&mut requests)?;
///     let (_, second) = wait_any(&mut requests)?;
///     Ok(first + second)
/// });
/// assert_eq!(results[0], Ok(3));
/// ```
pub fn wait_any<T: Payload>(requests: &mut Vec<RecvRequest<T>>) -> Result<(usize, T), Error> {
    let operation = Operation::Recv;
    let Some(communicator) = requests.first().map(|first| first.communicator.clone()) else {
        return Err(Error::InvalidArgument {
            operation,
            reason: InvalidArgument::NoRequest,
        });
    };
    let shared = &communicator.shared;
    let mut budget = WaitBudget::new(&shared.cancellation, operation);
    let attempt = || {
        for (index, request) in requests.iter_mut().enumerate() {
            if let Some(value) = request.test()? {
                return Ok(Some((index, value)));
            }
        }
        Ok(None)
    };
    let found = shared.wait_for(&mut budget, communicator.worker_id(), attempt);
    let found = communicator.noted(found)?;
    drop(requests.remove(found.0));
    Ok(found)
}
