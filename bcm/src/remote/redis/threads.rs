//! The threads of a pack that wait for the server.
//!
//! Each has a connection of its own, so that no receive ever holds one that a send needs. Whether
//! a broken one is made again is for the thread's task to say. Threads end with their flare; what
//! they have connected waits for those of the next one.

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

/// How long a pack that leaves waits for its threads to end. One that takes longer loses its connection, which the next
/// flare makes anew.
const ENDING: Duration = Duration::from_secs(1);
/// How long a pack that closes waits for its heartbeat to say so.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// The threads of a pack in one flare.
#[derive(Debug)]
pub(super) struct Threads {
    connections: Arc<Connections>,
    inbox: Arc<Inbox>,
    finish: Arc<Finish>,
    running: Mutex<Vec<Running>>,
}

/// A thread, and what ends its wait.
#[derive(Debug)]
struct Running {
    hook: Arc<Mutex<Option<Hook>>>,
    thread: JoinHandle<()>,
}

/// How the threads are told to end.
#[derive(Debug, Default)]
struct Finish {
    state: Mutex<Finishing>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Finishing {
    /// After what they are doing.
    soon: bool,
    /// The others are told that the pack leaves: nothing has to show any more that it lives.
    told: bool,
    now: bool,
    /// How many have.
    ended: usize,
    /// One that goes on until the others are told has.
    last_ended: bool,
}

impl Finish {
    fn change(&self, what: impl FnOnce(&mut Finishing)) {
        what(&mut self.state.lock());
        self.changed.notify_all();
    }

    /// Whether a task ends that goes on until the others are told, or does not.
    fn is_due(&self, is_last: bool) -> bool {
        self.state.lock().is_due(is_last)
    }

    fn is_told(&self) -> bool {
        self.state.lock().told
    }

    fn is_now(&self) -> bool {
        self.state.lock().now
    }

    /// Waits until something is so, for so long at most.
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

/// What a thread does over and over.
pub(super) trait Task: Send + 'static {
    /// Waits at most a second or so. A task that is called again after its connection broke goes
    /// on from where it was.
    fn step(&mut self, line: &mut Line) -> Result<(), End>;

    /// Whether it can.
    fn resumes(&self) -> bool {
        true
    }

    /// Whether it goes on until the others are told that the pack leaves.
    fn is_last(&self) -> bool {
        false
    }

    /// What is to be done on a new connection, or one of the last flare, before anything else.
    fn prepare(&mut self, _line: &mut Line) -> Result<(), RespError> {
        Ok(())
    }

    /// What is left to do then, unless the flare has failed.
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

/// Why a task cannot go on.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum End {
    /// Something is wrong with the server or the connection.
    Server(#[from] RespError),
    /// Something arrived that cannot be right.
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

    /// Starts a thread, on a connection of the last flare or a new one.
    /// It is prepared when this returns.
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
            // One that was kept may have been closed since.
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

    /// Ends the threads. Does nothing the second time.
    pub(super) fn close(&self) {
        // A pack that is cut off before it has said that it leaves may be taken for dead.
        self.finish.change(|state| state.told = true);
        if !self.running.lock().is_empty() {
            self.finish.wait(LAST_WORDS, |state| state.last_ended);
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
    /// Also when not all of them could be started.
    fn drop(&mut self) {
        self.close();
    }
}

impl Line {
    fn run(&mut self, mut task: impl Task) {
        self.repeat(&mut task);
        // A pack that could not tell the others is missed.
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
                Ok(()) if self.client.is_some() => broken.mended(),
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

    /// Leaves the connection for the next flare, unless it is of no use.
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

    /// Says something on the connection, and hears what comes for the inbox.
    pub(super) fn exchange<T, E: From<RespError>>(
        &mut self,
        what: impl FnOnce(&mut Exchange<'_>, &Inbox) -> Result<T, E>,
    ) -> Result<T, E> {
        let client = self.client.as_mut().ok_or(RespError::HungUp)?;
        let interrupt = &mut attention(&self.connections.server, &self.finish);
        what(&mut client.exchange(interrupt), &self.inbox)
    }

    /// It is of no use any more.
    pub(super) fn drop_connection(&mut self) {
        self.client = None;
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.inbox.is_aborted()
    }

    /// Sleeps, unless it is time for a task to end that is last or not.
    pub(super) fn pause(&self, limit: Duration, is_last: bool) {
        self.finish.wait(limit, |state| state.is_due(is_last));
    }
}

/// What a wait asks for a server that says something from time to time: it ends when nothing has come for too long.
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
    fn a_time_in_which_this_process_stood_still_is_no_silence() {
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
