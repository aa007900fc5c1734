//! The connections a pack writes with: a pool for messages, one more for control frames.
//!
//! Commands are given as a function, because they are written again when the connection broke
//! before the server had confirmed them all.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use super::resp::{Client, GoOn, Reply, RespError};
use super::server::Server;
use super::{AGAIN, CONTROL_TIMEOUT, RECOVERY, keys, within};
use crate::control::Patience;
use crate::error::{Error, Peer};
use crate::remote::pool::Pool;

/// Connections for sending, shared by the workers of a pack.
const CONNECTIONS: usize = 4;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Writer {
    server: Server,
    deadline: Option<SystemTime>,
    pool: Pool<Client>,
    control: Mutex<Control>,
}

#[derive(Debug)]
enum Control {
    Open(Client),
    /// The last one broke; the next frame needs a new one.
    Broken,
    /// Whoever reports a failure does not wait for a dead server twice.
    GivenUp,
}

impl Writer {
    pub(super) fn new(server: &Server, deadline: Option<SystemTime>) -> Result<Self, Error> {
        Ok(Self {
            server: server.clone(),
            deadline,
            pool: Pool::new(CONNECTIONS),
            control: Mutex::new(Control::Open(super::connect(server)?)),
        })
    }

    /// How many seconds a key written now may stay.
    pub(super) fn expiry(&self) -> u64 {
        keys::expiry(self.deadline)
    }

    /// Runs commands on a connection of the pool. `write` gives the number of replies to come.
    pub(super) fn run(
        &self,
        peer: Peer,
        patience: &mut Patience<'_>,
        mut write: impl FnMut(&mut Client, GoOn<'_>) -> Result<usize, RespError>,
    ) -> Result<(), Error> {
        let mut broken = Broken::default();
        loop {
            let result = self.attempt(peer, patience, &mut write);
            let Err(reason) = result else {
                return Ok(());
            };
            if !broken.may_try_again(&reason) {
                return Err(self.server.failed(reason));
            }
            patience.remaining(peer)?;
        }
    }

    fn attempt(
        &self,
        peer: Peer,
        patience: &mut Patience<'_>,
        write: &mut impl FnMut(&mut Client, GoOn<'_>) -> Result<usize, RespError>,
    ) -> Result<(), RespError> {
        let since = Instant::now();
        let mut client = self.pool.acquire(peer, patience, || {
            Client::connect(&self.server, &mut || {
                within(&self.server, since, 3 * CONTROL_TIMEOUT)
            })
        })?;
        let go_on: GoOn<'_> = &mut || patience.remaining(peer).map(drop);
        let result = write(&mut client, go_on).and_then(|replies| client.expect(replies, go_on));
        match result {
            Ok(()) => self.pool.put_back(client),
            Err(_) => self.pool.forget(),
        }
        result
    }

    /// Runs commands for a control frame. `write` gives the number of replies to come.
    pub(super) fn control(
        &self,
        mut write: impl FnMut(&mut Client, GoOn<'_>) -> Result<usize, RespError>,
    ) -> Result<(), Error> {
        let mut control = self.control.lock();
        let since = Instant::now();
        let go_on: GoOn<'_> = &mut || within(&self.server, since, CONTROL_TIMEOUT);
        let mut broken = Broken::default();
        loop {
            let result = match &mut *control {
                Control::Open(client) => {
                    write(client, go_on).and_then(|replies| client.expect(replies, go_on))
                }
                Control::Broken => match Client::connect(&self.server, go_on) {
                    Ok(client) => {
                        *control = Control::Open(client);
                        continue;
                    }
                    Err(reason) => Err(reason),
                },
                Control::GivenUp => return Err(self.server.error("the server does not answer")),
            };
            let Err(reason) = result else {
                return Ok(());
            };
            if !broken.may_try_again(&reason) {
                *control = Control::GivenUp;
                return Err(self.server.failed(reason));
            }
            *control = Control::Broken;
        }
    }

    /// Closes all connections, and deletes what nobody will read any more. What cannot be
    /// deleted now expires.
    pub(super) fn close(&self, leftovers: &[String]) {
        drop(self.pool.close());
        let control = std::mem::replace(&mut *self.control.lock(), Control::GivenUp);
        if let Control::Open(mut client) = control {
            let since = Instant::now();
            let go_on: GoOn<'_> = &mut || within(&self.server, since, CONTROL_TIMEOUT);
            for key in leftovers {
                if keys::delete(&mut client, key, go_on).is_err() {
                    return;
                }
            }
        }
    }
}

/// Since when nothing has gone through.
#[derive(Debug, Default)]
pub(super) struct Broken(Option<Instant>);

impl Broken {
    /// Whether this failure may pass, after a little while, which this takes.
    pub(super) fn may_try_again(&mut self, reason: &RespError) -> bool {
        let since = *self.0.get_or_insert_with(Instant::now);
        if !reason.may_pass() || since.elapsed() > RECOVERY {
            return false;
        }
        // The first attempt comes at once: a connection that was cut is made again like that.
        let waited = since.elapsed() > Duration::from_millis(1);
        thread::sleep(if waited { AGAIN } else { Duration::ZERO });
        true
    }

    pub(super) fn mended(&mut self) {
        self.0 = None;
    }
}

impl Client {
    /// Reads replies and fails on the first one that is an error.
    pub(super) fn expect(&mut self, replies: usize, go_on: GoOn<'_>) -> Result<(), RespError> {
        let mut result = Ok(());
        for _ in 0..replies {
            match self.reply(go_on) {
                Ok(Reply::Error(reason)) if result.is_ok() => {
                    result = Err(RespError::Refused(reason));
                }
                Ok(_) => {}
                Err(broken) => return Err(broken),
            }
        }
        result
    }
}
