//! The connections for data to one other pack.

use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::connection::Connection;
use crate::control::Patience;
use crate::error::{Error, Peer};

/// How often someone waiting for a connection looks whether to go on.
const LOOK: Duration = Duration::from_millis(100);

/// Connections per peer: two at least, so that a small message finds one while a chunk of a
/// large one is being written.
pub(super) fn limit() -> usize {
    thread::available_parallelism()
        .map_or(2, usize::from)
        .clamp(2, 4)
}

/// Connections are taken for one frame at a time and only ever wait for the network, never for a
/// worker; whoever waits for one waits for a chunk to be written.
#[derive(Debug, Default)]
pub(super) struct Pool {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
    closed: bool,
}

impl Pool {
    /// An idle connection; a new one if there is none and there may be more; else waits.
    pub(super) fn acquire(
        &self,
        peer: Peer,
        patience: &mut Patience<'_>,
        dial: impl FnOnce() -> Result<Connection, Error>,
    ) -> Result<Connection, Error> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return Err(Error::Closed);
            }
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
            if state.open < limit() {
                state.open += 1;
                break;
            }
            let left = patience.remaining(peer)?;
            self.freed.wait_for(&mut state, left.min(LOOK));
        }
        drop(state);
        dial().inspect_err(|_| self.forget())
    }

    pub(super) fn put_back(&self, connection: Connection) {
        let mut state = self.state.lock();
        if !state.closed {
            state.idle.push(connection);
            self.freed.notify_one();
        }
    }

    /// A connection that was taken will not come back.
    pub(super) fn forget(&self) {
        self.state.lock().open -= 1;
        self.freed.notify_one();
    }

    /// Gives the idle connections and lets nobody have one any more.
    pub(super) fn close(&self) -> Vec<Connection> {
        let mut state = self.state.lock();
        state.closed = true;
        self.freed.notify_all();
        std::mem::take(&mut state.idle)
    }
}
