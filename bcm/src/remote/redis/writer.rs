//! What a pack writes in one flare, on a pool of connections for messages and one more for control
//! frames.
//!
//! Commands are given as a function, because they are written again when the connection broke
//! before the server had confirmed them all.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::connections::{Connections, ControlConnection};
use super::resp::{Client, GoOn, Talk};
use super::resp_error::RespError;
use super::server::Server;
use super::{AGAIN, CONTROL_TIMEOUT, keys, within};
use crate::cancellation::WaitBudget;
use crate::error::{Error, Peer};

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Writer {
    connections: Arc<Connections>,
    deadline: Option<SystemTime>,
}

impl Writer {
    /// For a flare with this deadline.
    pub(super) fn new(connections: Arc<Connections>, deadline: Option<SystemTime>) -> Self {
        Self {
            connections,
            deadline,
        }
    }

    /// How many seconds a key written now may stay.
    pub(super) fn expiry(&self) -> u64 {
        keys::expiry(self.deadline)
    }

    /// Runs commands on a connection of the pool. `write` gives the number of replies to come.
    pub(super) fn run(
        &self,
        peer: Peer,
        budget: &mut WaitBudget<'_>,
        mut write: impl FnMut(&mut Talk<'_>) -> Result<usize, RespError>,
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
        write: &mut impl FnMut(&mut Talk<'_>) -> Result<usize, RespError>,
    ) -> Result<(), RespError> {
        let server = &self.connections.server;
        let in_time = &mut within(server, 3 * CONTROL_TIMEOUT);
        let connect = || Client::connect(server, in_time);
        let mut client = self.connections.pool.acquire(peer, budget, connect)?;
        let go_on: GoOn<'_> = &mut || budget.remaining(peer).map(drop);
        let talk = &mut client.talk(go_on);
        let result = write(talk).and_then(|replies| talk.expect(replies));
        match result {
            Ok(()) => self.connections.pool.put_back(client),
            Err(_) => self.connections.pool.forget(),
        }
        result
    }

    /// Runs commands for a control frame. `write` gives the number of replies to come.
    pub(super) fn control(
        &self,
        write: impl FnMut(&mut Talk<'_>) -> Result<usize, RespError>,
    ) -> Result<(), Error> {
        self.control_within(CONTROL_TIMEOUT, write)
    }

    /// As [`Writer::control`], for what somebody is missed without, and nobody waits for.
    pub(super) fn control_within(
        &self,
        limit: Duration,
        mut write: impl FnMut(&mut Talk<'_>) -> Result<usize, RespError>,
    ) -> Result<(), Error> {
        let server = &self.connections.server;
        let mut control = self.connections.control.lock();
        let go_on: GoOn<'_> = &mut within(server, limit.max(server.recovery()));
        let mut broken = Broken::of(server);
        loop {
            let result = match &mut *control {
                ControlConnection::Open(client) => {
                    let talk = &mut client.talk(go_on);
                    write(talk).and_then(|replies| talk.expect(replies))
                }
                ControlConnection::Broken => match Client::connect(server, go_on) {
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
            if !broken.may_try_again(&reason) {
                *control = ControlConnection::GivenUp;
                return Err(server.failed(reason));
            }
            *control = ControlConnection::Broken;
        }
    }

    /// Deletes what nobody will read any more. What cannot be deleted now expires.
    pub(super) fn delete(&self, leftovers: &[String]) {
        let _ = self.control(|talk| {
            for key in leftovers {
                talk.command(&[&[b"DEL"], &[key.as_bytes()]])?;
            }
            Ok(leftovers.len())
        });
    }
}

/// Since when nothing has gone through.
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

    /// Whether this failure may pass, after a little while, which this takes.
    pub(super) fn may_try_again(&mut self, reason: &RespError) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        if !reason.may_pass() || since.elapsed() > self.recovery {
            return false;
        }
        // The first attempt comes at once: a connection that was cut is made again like that.
        let waited = since.elapsed() > Duration::from_millis(1);
        thread::sleep(if waited { AGAIN } else { Duration::ZERO });
        true
    }

    pub(super) fn mended(&mut self) {
        self.since = None;
    }
}
