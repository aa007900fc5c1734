//! The threads of a pack that wait for the server.
//!
//! Each has a connection of its own, so that no receive ever holds one that a send needs. Whether
//! a broken one is made again is for the thread's task to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::resp::{Client, RespError};
use super::server::{Hook, Server};
use super::writer::Broken;
use crate::error::Error;
use crate::remote::inbox::Inbox;
use crate::wire::WireError;

/// How long a server may say nothing at all to one who waits, which it does every second when it
/// is well.
const SILENCE: Duration = Duration::from_secs(6);

/// The threads of a pack.
#[derive(Debug)]
pub(super) struct Threads {
    server: Server,
    inbox: Arc<Inbox>,
    closing: Arc<AtomicBool>,
    running: Mutex<Vec<Running>>,
}

/// A thread, and what ends its wait.
#[derive(Debug)]
struct Running {
    hook: Arc<Mutex<Option<Hook>>>,
    thread: JoinHandle<()>,
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
}

/// A thread's connection.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) server: Server,
    pub(super) inbox: Arc<Inbox>,
    closing: Arc<AtomicBool>,
    hook: Arc<Mutex<Option<Hook>>>,
    client: Option<Client>,
}

/// Why a task cannot go on.
#[derive(Debug)]
pub(super) enum End {
    /// Something is wrong with the server or the connection.
    Server(RespError),
    /// Something arrived that cannot be right.
    Frame(WireError),
}

impl From<RespError> for End {
    fn from(error: RespError) -> Self {
        Self::Server(error)
    }
}

impl From<WireError> for End {
    fn from(error: WireError) -> Self {
        Self::Frame(error)
    }
}

impl Threads {
    pub(super) fn new(server: &Server, inbox: Arc<Inbox>) -> Self {
        Self {
            server: server.clone(),
            inbox,
            closing: Arc::new(AtomicBool::new(false)),
            running: Mutex::default(),
        }
    }

    /// Starts a thread, connected.
    pub(super) fn spawn(&self, task: impl Task) -> Result<(), Error> {
        let mut line = Line {
            server: self.server.clone(),
            inbox: Arc::clone(&self.inbox),
            closing: Arc::clone(&self.closing),
            hook: Arc::default(),
            client: None,
        };
        line.connect()
            .map_err(|reason| self.server.failed(reason))?;
        let hook = Arc::clone(&line.hook);
        let thread = thread::Builder::new()
            .name(format!("bcm-{}", self.server.name()))
            .spawn(move || line.run(task))
            .map_err(|reason| {
                let reason = format!("cannot start a thread: {reason}");
                self.server.error(reason)
            })?;
        self.running.lock().push(Running { hook, thread });
        Ok(())
    }

    /// Ends the threads. Does nothing the second time.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
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
    fn run(mut self, mut task: impl Task) {
        let mut broken = Broken::default();
        while !self.is_closing() {
            let result = match self.client {
                Some(_) => task.step(&mut self),
                None => self.connect().map_err(End::Server),
            };
            match result {
                Ok(()) if self.client.is_some() => broken.mended(),
                Ok(()) => {}
                Err(_) if self.is_closing() => return,
                Err(End::Server(reason)) if task.resumes() && broken.may_try_again(&reason) => {
                    self.client = None;
                }
                Err(End::Server(reason)) => {
                    return self.inbox.broken(&self.server.failed(reason));
                }
                Err(End::Frame(reason)) => return self.inbox.refused(None, &reason),
            }
        }
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    fn connect(&mut self) -> Result<(), RespError> {
        let attention = Attention::new(&self.server, &self.closing);
        let client = Client::connect(&self.server, &mut || attention.go_on())?;
        *self.hook.lock() = Some(client.hook()?);
        self.client = Some(client);
        Ok(())
    }

    /// The connection, and what decides whether to go on waiting on it.
    pub(super) fn parts(&mut self) -> Result<(&mut Client, &Inbox, Attention<'_>), RespError> {
        let client = self.client.as_mut().ok_or(RespError::HungUp)?;
        let attention = Attention::new(&self.server, &self.closing);
        Ok((client, &self.inbox, attention))
    }

    /// Sleeps, unless it is time to end.
    pub(super) fn pause(&self, limit: Duration) {
        let since = Instant::now();
        while !self.is_closing() && since.elapsed() < limit {
            thread::sleep(Duration::from_millis(10).min(limit));
        }
    }
}

/// Patience with a server that says something from time to time.
pub(super) struct Attention<'a> {
    server: &'a Server,
    closing: &'a AtomicBool,
    since: Instant,
}

impl<'a> Attention<'a> {
    fn new(server: &'a Server, closing: &'a AtomicBool) -> Self {
        Self {
            server,
            closing,
            since: Instant::now(),
        }
    }

    pub(super) fn go_on(&self) -> Result<(), Error> {
        if self.closing.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        match self.since.elapsed() < SILENCE {
            true => Ok(()),
            false => {
                let reason = format!("the server has said nothing for {SILENCE:?}");
                Err(self.server.error(reason))
            }
        }
    }
}
