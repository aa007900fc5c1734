//! The threads of a pack that wait for the server.
//!
//! Each has its own connection, so that no receive ever holds one that a send needs. The thread's
//! task decides whether a broken one is replaced. Threads end with their flare; their connections
//! wait for the threads of the next one.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::connections::Connections;
use super::resp::{Client, Exchange};
use super::resp_error::RespError;
use super::server::{Hook, Server};
use super::writer::Broken;
use super::{SILENCE, within_or_recovery};
use crate::error::Error;
use crate::remote::inbox::Inbox;
use crate::wire::WireError;

/// How long a pack that leaves waits for its threads to end. A thread that takes longer loses its
/// connection, and the next flare opens a new one.
const ENDING: Duration = Duration::from_secs(1);
/// How long a pack that closes waits for its heartbeat to record that.
const GOODBYE: Duration = Duration::from_millis(250);

/// The threads of a pack in one flare.
#[derive(Debug)]
pub(super) struct Threads {
    connections: Arc<Connections>,
    inbox: Arc<Inbox>,
    finish: Arc<Finish>,
    running: Mutex<Vec<Running>>,
}

/// A thread, and the hook that ends its wait.
#[derive(Debug)]
struct Running {
    hook: Arc<Mutex<Option<Hook>>>,
    thread: JoinHandle<()>,
}

/// The state that tells the threads when to end.
#[derive(Debug, Default)]
struct Finish {
    state: Mutex<Finishing>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Finishing {
    /// The threads must end after their current step.
    soon: bool,
    /// The other packs know that this one leaves: nothing has to show any more that it is alive.
    told: bool,
    now: bool,
    /// The number of threads that have ended.
    ended: usize,
    /// Whether the thread of the last task, which runs until the other packs know, has ended.
    last_ended: bool,
}

impl Finish {
    fn change(&self, what: impl FnOnce(&mut Finishing)) {
        what(&mut self.state.lock());
        self.changed.notify_all();
    }

    /// Whether a task must end; `is_last` if it runs until the other packs know that this one
    /// leaves.
    fn is_due(&self, is_last: bool) -> bool {
        self.state.lock().is_due(is_last)
    }

    fn is_told(&self) -> bool {
        self.state.lock().told
    }

    fn is_now(&self) -> bool {
        self.state.lock().now
    }

    /// Waits until `what` is true, for at most `limit`.
    fn wait(&self, limit: Duration, what: impl Fn(&Finishing) -> bool) {
        let mut state = self.state.lock();
        let unless = |state: &mut Finishing| !what(state);
        self.changed.wait_while_for(&mut state, unless, limit);
    }
}

impl Finishing {
    fn is_due(&self, is_last: bool) -> bool {
        self.now || if is_last { self.told } else { self.soon }
    }
}

/// The work of a thread, done repeatedly.
pub(super) trait Task: Send + 'static {
    /// Does one step, which waits at most about a second. A task that is called again after its
    /// connection broke continues where it was.
    fn step(&mut self, line: &mut Line) -> Result<(), End>;

    /// Whether it can continue on a new connection.
    fn resumes(&self) -> bool {
        true
    }

    /// Whether it runs until the other packs know that this one leaves.
    fn is_last(&self) -> bool {
        false
    }

    /// Prepares a new connection, or one kept from the last flare, before anything else.
    fn prepare(&mut self, _line: &mut Line) -> Result<(), RespError> {
        Ok(())
    }

    /// Does what is left to do when the task ends, unless the flare has failed.
    fn finish(&mut self, _line: &mut Line) {}
}

/// A thread's connection.
#[derive(Debug)]
pub(super) struct Line {
    connections: Arc<Connections>,
    inbox: Arc<Inbox>,
    finish: Arc<Finish>,
    hook: Arc<Mutex<Option<Hook>>>,
    client: Option<Client>,
}

/// Why a task cannot continue.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum End {
    /// The server or the connection failed.
    Server(#[from] RespError),
    /// An invalid frame arrived.
    Frame(#[from] WireError),
}

impl Threads {
    pub(super) fn new(connections: &Arc<Connections>, inbox: Arc<Inbox>) -> Self {
        Self {
            connections: Arc::clone(connections),
            inbox,
            finish: Arc::default(),
            running: Mutex::default(),
        }
    }

    /// Starts a thread, on a connection of the last flare or a new one. The connection is prepared
    /// when this returns.
    pub(super) fn spawn(&self, mut task: impl Task) -> Result<(), Error> {
        let server = &self.connections.server;
        let mut line = Line {
            connections: Arc::clone(&self.connections),
            inbox: Arc::clone(&self.inbox),
            finish: Arc::clone(&self.finish),
            hook: Arc::default(),
            client: None,
        };
        let kept = self.connections.reading.lock().pop();
        let was_kept = kept.is_some();
        let kept = kept.map(|client| line.take(client).and_then(|()| task.prepare(&mut line)));
        if !matches!(kept, Some(Ok(()))) {
            // A kept connection may have been closed since then.
            let connected = line.connect().and_then(|()| task.prepare(&mut line));
            connected.map_err(|reason| server.failed(reason))?;
        }
        let hook = Arc::clone(&line.hook);
        let thread = thread::Builder::new()
            .name(format!("bcm-{}", server.name()))
            .spawn(move || {
                if was_kept {
                    line.check();
                }
                let is_last = task.is_last();
                line.run(task);
                line.end(is_last);
            })
            .map_err(|reason| {
                let reason = format!("cannot start a thread: {reason}");
                server.error(reason)
            })?;
        self.running.lock().push(Running { hook, thread });
        Ok(())
    }

    /// Ends the threads, which `wake` wakes, and keeps their connections for the next flare.
    pub(super) fn leave(&self, wake: impl FnOnce() -> Result<(), Error>) {
        self.finish.change(|state| state.soon = true);
        if wake().is_ok() {
            self.finish.change(|state| state.told = true);
            let all = self.running.lock().len();
            (self.finish).wait(ENDING, |state| state.ended == all);
        }
        self.close();
    }

    /// Ends the threads. Does nothing when called again.
    pub(super) fn close(&self) {
        // A pack that is cut off before it has recorded that it leaves may be taken for dead.
        self.finish.change(|state| state.told = true);
        if !self.running.lock().is_empty() {
            self.finish.wait(GOODBYE, |state| state.last_ended);
        }
        self.finish.change(|state| state.now = true);
        let running = std::mem::take(&mut *self.running.lock());
        for Running { hook, .. } in &running {
            if let Some(hook) = &*hook.lock() {
                hook.cut();
            }
        }
        for Running { thread, .. } in running {
            let _ = thread.join();
        }
    }
}

impl Drop for Threads {
    /// Also needed when not all threads could be started.
    fn drop(&mut self) {
        self.close();
    }
}

impl Line {
    fn run(&mut self, mut task: impl Task) {
        self.repeat(&mut task);
        // A pack that could not inform the others must be noticed.
        if task.is_last() && self.finish.is_told() && !self.is_aborted() {
            task.finish(self);
        }
    }

    fn repeat(&mut self, task: &mut impl Task) {
        let mut broken = Broken::of(&self.connections.server);
        while !self.finish.is_due(task.is_last()) {
            let result = match self.client {
                Some(_) => task.step(self),
                None => (self.connect().and_then(|()| task.prepare(self))).map_err(End::Server),
            };
            if result.is_err() && self.finish.is_due(task.is_last()) {
                self.client = None;
                return;
            }
            match result {
                Ok(()) if self.client.is_some() => broken.recovered(),
                Ok(()) => {}
                Err(End::Server(reason)) if task.resumes() && broken.may_try_again(&reason) => {
                    self.client = None;
                }
                Err(End::Server(reason)) => {
                    self.client = None;
                    return self.inbox.broken(&self.connections.server.failed(reason));
                }
                Err(End::Frame(reason)) => {
                    self.client = None;
                    return self.inbox.refused(None, &reason);
                }
            }
        }
    }

    /// Keeps the connection for the next flare, unless it is unusable.
    fn end(mut self, is_last: bool) {
        // Nobody cuts it any more.
        *self.hook.lock() = None;
        if let Some(client) = self.client.take()
            && !client.listens
            && !self.finish.is_now()
        {
            self.connections.reading.lock().push(client);
        }
        self.finish.change(|state| {
            state.ended += 1;
            state.last_ended |= is_last;
        });
    }

    fn connect(&mut self) -> Result<(), RespError> {
        let server = &self.connections.server;
        let client = Client::connect(server, &mut attention(server, &self.finish))?;
        self.take(client)
    }

    fn take(&mut self, client: Client) -> Result<(), RespError> {
        *self.hook.lock() = Some(client.hook()?);
        self.client = Some(client);
        Ok(())
    }

    /// Drops a connection that the server has closed since the last flare.
    fn check(&mut self) {
        if self
            .exchange(|exchange, _| exchange.request(&[&[b"PING"]]))
            .is_err()
        {
            self.client = None;
        }
    }

    /// Exchanges commands and replies on the connection.
    pub(super) fn exchange<T, E: From<RespError>>(
        &mut self,
        what: impl FnOnce(&mut Exchange<'_>, &Inbox) -> Result<T, E>,
    ) -> Result<T, E> {
        let client = self.client.as_mut().ok_or(RespError::HungUp)?;
        let interrupt = &mut attention(&self.connections.server, &self.finish);
        what(&mut client.exchange(interrupt), &self.inbox)
    }

    /// Drops the connection, which is unusable.
    pub(super) fn drop_connection(&mut self) {
        self.client = None;
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.inbox.is_aborted()
    }

    /// Sleeps, or returns early when the task must end; `is_last` if it runs until the other packs
    /// know that this one leaves.
    pub(super) fn pause(&self, limit: Duration, is_last: bool) {
        self.finish.wait(limit, |state| state.is_due(is_last));
    }
}

/// Returns an interrupt for waits on a server that sends something from time to time: it fails when
/// nothing has arrived for too long.
fn attention(server: &Server, finish: &Finish) -> impl FnMut() -> Result<(), Error> {
    let mut silence = within_or_recovery(server, SILENCE);
    move || match finish.is_now() {
        true => Err(Error::Closed),
        false => silence(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::BackendConfig;

    #[test]
    fn a_pause_of_this_process_does_not_count_as_silence() {
        let config = BackendConfig::new("redis-list").with_uri("redis://localhost");
        let server = Server::new("redis-list", &config).unwrap();
        let finish = Finish::default();
        let mut interrupt = attention(&server, &finish);
        thread::sleep(SILENCE + Duration::from_millis(500));
        assert_eq!(interrupt(), Ok(()));
        finish.change(|state| state.now = true);
        assert_eq!(interrupt(), Err(Error::Closed));
    }
}
