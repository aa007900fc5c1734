//! Connections that threads take turns using.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::cancellation::WaitBudget;
use crate::error::{Error, Peer};

/// How often a thread waiting for a connection checks whether to continue.
const LOOK: Duration = Duration::from_millis(100);

/// Connections are taken for a few frames at a time and only ever wait for the network, never for a
/// worker; so waiting for a connection means waiting for a chunk to be written.
#[derive(Debug)]
pub(super) struct Pool<C> {
    limit: usize,
    state: Mutex<State<C>>,
    freed: Condvar,
}

#[derive(Debug)]
struct State<C> {
    idle: Vec<C>,
    open: usize,
    closed: bool,
}

impl<C> Pool<C> {
    /// A pool of at most this many connections, none of which is open yet.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::new(State {
                idle: Vec::new(),
                open: 0,
                closed: false,
            }),
            freed: Condvar::new(),
        }
    }

    /// Returns an idle connection, or a new one if none is idle and the limit allows it; otherwise
    /// waits.
    pub(super) fn acquire<E: From<Error>>(
        &self,
        peer: Peer,
        budget: &mut WaitBudget<'_>,
        dial: impl FnOnce(&mut WaitBudget<'_>) -> Result<C, E>,
    ) -> Result<C, E> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return Err(Error::Closed.into());
            }
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
            if state.open < self.limit {
                state.open += 1;
                break;
            }
            let left = budget.remaining(peer)?;
            self.freed.wait_for(&mut state, left.min(LOOK));
        }
        drop(state);
        dial(budget).inspect_err(|_| self.forget())
    }

    pub(super) fn put_back(&self, connection: C) {
        let mut state = self.state.lock();
        if !state.closed {
            state.idle.push(connection);
            self.freed.notify_one();
        }
    }

    /// Records that a connection that was taken will not come back.
    pub(super) fn forget(&self) {
        self.state.lock().open -= 1;
        self.freed.notify_one();
    }

    /// Calls `done` with every idle connection, and keeps those for which it returns `true`.
    pub(super) fn each_idle(&self, mut done: impl FnMut(&mut C) -> bool) {
        let idle = std::mem::take(&mut self.state.lock().idle);
        for mut connection in idle {
            match done(&mut connection) {
                true => self.put_back(connection),
                false => self.forget(),
            }
        }
    }

    /// Closes the pool and returns the idle connections; nobody can acquire one any more.
    pub(super) fn close(&self) -> Vec<C> {
        let mut state = self.state.lock();
        state.closed = true;
        self.freed.notify_all();
        std::mem::take(&mut state.idle)
    }
}
