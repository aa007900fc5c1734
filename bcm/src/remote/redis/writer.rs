//! Writes for a pack in one flare, on a pool of connections for messages and another connection for
//! control frames.
//!
//! Commands are passed as a function, because they are written again if the connection breaks
//! before the server has confirmed them all.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::connections::{Connections, ControlConnection};
use super::resp::{Client, Exchange, Interrupt};
use super::resp_error::RespError;
use super::server::Server;
use super::{AGAIN, SILENCE, SILENCE_AFTER_FAILURE, keys, within_or_recovery};
use crate::cancellation::WaitBudget;
use crate::error::{Error, Peer};
use crate::remote::inbox::Inbox;

/// How often a thread waiting for the connection for control frames checks whether to continue.
const LOOK: Duration = Duration::from_millis(100);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Writer {
    connections: Arc<Connections>,
    deadline: Option<SystemTime>,
    inbox: Arc<Inbox>,
}

impl Writer {
    /// A writer for a flare with this deadline.
    pub(super) fn new(
        connections: Arc<Connections>,
        deadline: Option<SystemTime>,
        inbox: Arc<Inbox>,
    ) -> Self {
        Self {
            connections,
            deadline,
            inbox,
        }
    }

    /// How long a key written now is kept.
    pub(super) fn expiry(&self) -> Duration {
        keys::expiry(self.deadline)
    }

    /// Runs commands on a connection of the pool. `write` returns the number of replies to expect.
    pub(super) fn run(
        &self,
        peer: Peer,
        budget: &mut WaitBudget<'_>,
        mut write: impl FnMut(&mut Exchange<'_>) -> Result<usize, RespError>,
    ) -> Result<(), Error> {
        let mut broken = Broken::of(&self.connections.server);
        loop {
            let result = self.attempt(peer, budget, &mut write);
            let Err(reason) = result else {
                return Ok(());
            };
            if !broken.may_try_again(&reason) {
                return Err(self.connections.server.failed(reason));
            }
            budget.remaining(peer)?;
        }
    }

    fn attempt(
        &self,
        peer: Peer,
        budget: &mut WaitBudget<'_>,
        write: &mut impl FnMut(&mut Exchange<'_>) -> Result<usize, RespError>,
    ) -> Result<(), RespError> {
        let server = &self.connections.server;
        let connect = |budget: &mut WaitBudget<'_>| {
            let mut in_time = within_or_recovery(server, SILENCE);
            Client::connect(server, &mut || {
                budget.remaining(peer)?;
                in_time()
            })
        };
        let mut client = self.connections.pool.acquire(peer, budget, connect)?;
        let interrupt: Interrupt<'_> = &mut || budget.remaining(peer).map(drop);
        let exchange = &mut client.exchange(interrupt);
        let result = write(exchange).and_then(|replies| exchange.expect(replies));
        match result {
            Ok(()) => self.connections.pool.put_back(client),
            Err(_) => self.connections.pool.forget(),
        }
        result
    }

    /// Runs commands for a control frame. `write` returns the number of replies to expect.
    pub(super) fn control(
        &self,
        write: impl FnMut(&mut Exchange<'_>) -> Result<usize, RespError>,
    ) -> Result<(), Error> {
        self.control_while(&mut || Ok(()), write)
    }

    /// Like [`Writer::control`], for a caller that may have to give up before the server has
    /// replied: `may_wait` fails then.
    pub(super) fn control_while(
        &self,
        may_wait: Interrupt<'_>,
        mut write: impl FnMut(&mut Exchange<'_>) -> Result<usize, RespError>,
    ) -> Result<(), Error> {
        let server = &self.connections.server;
        let mut control = loop {
            match self.connections.control.try_lock_for(LOOK) {
                Some(control) => break control,
                None => may_wait()?,
            }
        };
        let mut in_time = self.in_time();
        let mut broken = Broken::of(server);
        loop {
            let interrupt: Interrupt<'_> = &mut || {
                may_wait()?;
                in_time()
            };
            let result = match &mut *control {
                ControlConnection::Open(client) => {
                    let exchange = &mut client.exchange(interrupt);
                    write(exchange).and_then(|replies| exchange.expect(replies))
                }
                ControlConnection::Broken => match Client::connect(server, interrupt) {
                    Ok(client) => {
                        *control = ControlConnection::Open(client);
                        continue;
                    }
                    Err(reason) => Err(reason),
                },
                ControlConnection::GivenUp => {
                    return Err(server.error("the server does not answer"));
                }
            };
            let Err(reason) = result else {
                return Ok(());
            };
            let again = broken.may_try_again(&reason);
            let ended = may_wait();
            // A caller that gave up has not found out whether the server answers.
            *control = match again || ended.is_err() {
                true => ControlConnection::Broken,
                false => ControlConnection::GivenUp,
            };
            if !again {
                return Err(server.failed(reason));
            }
            ended?;
        }
    }

    /// Returns an interrupt for a wait on a control frame. A pack that is not heard because the
    /// server stands still is noticed when the server continues.
    fn in_time(&self) -> impl FnMut() -> Result<(), Error> {
        let server = &self.connections.server;
        let limit = |limit: Duration| within_or_recovery(server, limit);
        let (mut silence, mut after_failure) = (limit(SILENCE), limit(SILENCE_AFTER_FAILURE));
        move || {
            // Called every time, because it counts the time by its calls.
            let late = after_failure();
            match self.inbox.is_aborted() {
                true => late,
                false => silence(),
            }
        }
    }

    /// Deletes keys that nobody will read any more. Those that cannot be deleted will expire.
    pub(super) fn delete(&self, leftovers: &[String]) {
        let _ = self.control(|exchange| {
            for key in leftovers {
                exchange.command(&[&[b"DEL"], &[key.as_bytes()]])?;
            }
            Ok(leftovers.len())
        });
    }
}

/// The time since which nothing has succeeded, and how long that may last.
#[derive(Debug)]
pub(super) struct Broken {
    since: Option<Instant>,
    recovery: Duration,
}

impl Broken {
    pub(super) fn of(server: &Server) -> Self {
        Self {
            since: None,
            recovery: server.recovery(),
        }
    }

    /// Whether to try again after this failure. Sleeps briefly before it returns `true`.
    pub(super) fn may_try_again(&mut self, reason: &RespError) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        if !reason.may_pass() || since.elapsed() > self.recovery {
            return false;
        }
        // The first retry comes immediately, which is enough if a connection was merely cut.
        let waited = since.elapsed() > Duration::from_millis(1);
        thread::sleep(if waited { AGAIN } else { Duration::ZERO });
        true
    }

    pub(super) fn recovered(&mut self) {
        self.since = None;
    }
}
