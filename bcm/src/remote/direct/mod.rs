//! `direct`: connections between packs, no server. They are TCP, or Unix sockets where packs
//! share a machine and its network namespace ([`socket`]); the URI `tcp:` asks for TCP only.
//!
//! Every pack listens. Connections are dialled when the first message or the first answer needs
//! them, those for data are kept in a pool per peer. A connection carries frames one way only,
//! from the one who dialled; that a pack has left or failed is told another way ([`watch`]).
//! Both ends prove that they know the flare's secret before anything else ([`handshake`]).
//!
//! Each incoming connection is read by the worker that waits for what comes on it, or else by a
//! thread of its own ([`intake`]). Payloads go straight to their place, and reading never waits
//! for a worker; so a writer waits for the network at most, and for its turn on
//! a connection no longer than one chunk takes.
//!
//! A connection that ends before its `Goodbye` frame means that the pack is lost, unless it has
//! said goodbye otherwise.

mod attendance;
mod connection;
mod dialler;
mod handshake;
mod intake;
mod listener;
mod peers;
mod socket;
mod watch;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::inbox::Inbox;
use super::pool::Pool;
use super::{Backend, Frame};
use crate::config::PackConfig;
use crate::control::Patience;
use crate::error::{Error, Peer};
use crate::local::Sleeper;
use crate::wire::{Header, Kind};
use connection::{Connection, WriteError};
use dialler::Dialler;
use handshake::{Credentials, Purpose};
use listener::Listener;
use peers::Peers;
use watch::Watch;

pub(super) const NAME: &str = "direct";

/// The URI that forgoes Unix sockets.
const TCP_ONLY: &str = "tcp:";

/// How long a control frame may take: the peer's reader takes them as they come.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(1);

/// See the module's documentation.
#[derive(Debug)]
struct Direct {
    pack: u32,
    packs: u32,
    inbox: Arc<Inbox>,
    dialler: Arc<Dialler>,
    peers: Arc<Peers>,
    watch: Arc<Watch>,
    listener: Listener,
    routes: Vec<Route>,
    /// Asked once: the answer takes reading several files.
    cores: usize,
}

/// The connections to one other pack.
#[derive(Debug)]
struct Route {
    control: Mutex<Option<Connection>>,
    data: Pool<Connection>,
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    if config.secret.as_bytes().is_empty() {
        return Err(Error::InvalidConfiguration {
            reason: "direct connections need the flare's secret".to_owned(),
        });
    }
    let locally = match config.backend.uri.as_deref() {
        None => true,
        Some(TCP_ONLY) => false,
        Some(_) => {
            return Err(Error::InvalidConfiguration {
                reason: format!("the URI of {NAME} can only be {TCP_ONLY:?}, or none"),
            });
        }
    };
    let (pack, packs) = (config.pack, config.topology.num_packs());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let credentials = Credentials::new(&config.secret, inbox.config().flare);
    let dialler = Arc::new(Dialler::new(pack, credentials.clone(), locally));
    let peers = Arc::new(Peers::new(Arc::clone(&inbox)));
    let watch = Arc::new(Watch::start(
        Arc::clone(&inbox),
        Arc::clone(&peers),
        Arc::clone(&dialler),
    )?);
    let listener = Listener::bind(
        (&config.advertise, locally),
        (pack, packs),
        credentials,
        Arc::clone(&peers),
        Arc::clone(&watch),
    )
    .inspect_err(|_| watch.close())?;
    let route = |_| Route {
        control: Mutex::default(),
        data: Pool::new(cores.clamp(CONNECTIONS.0, CONNECTIONS.1)),
    };
    Ok(Arc::new(Direct {
        pack,
        packs,
        inbox,
        dialler,
        peers,
        watch,
        listener,
        routes: (0..packs).map(route).collect(),
        cores,
    }))
}

/// Fewest and most connections per peer: two at least, so that a small message finds one while a
/// chunk of a large one is being written.
const CONNECTIONS: (usize, usize) = (2, 4);

fn error(pack: Option<u32>, reason: impl ToString) -> Error {
    Error::Backend {
        backend: NAME,
        pack,
        reason: reason.to_string(),
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|reason| error(None, format!("cannot start a thread: {reason}")))
}

impl Direct {
    fn route(&self, pack: u32) -> Result<&Route, Error> {
        self.routes
            .get(pack as usize)
            .ok_or_else(|| error(Some(pack), "there is no such pack"))
    }

    fn dial(&self, pack: u32) -> Result<Connection, Error> {
        let stream = self.dialler.dial(pack, Purpose::Frames)?;
        Connection::new(stream).map_err(|reason| error(Some(pack), reason))
    }

    /// Writes one frame on a connection of the pool.
    fn write(&self, to: u32, frame: &Frame<'_>, patience: &mut Patience<'_>) -> Result<(), Error> {
        let route = self.route(to)?;
        let acquired = route
            .data
            .acquire(Peer::Pack(to), patience, || self.dial(to));
        let mut connection = match acquired {
            Ok(connection) => connection,
            Err(Error::Backend { reason, .. }) => return Err(self.gone(to, reason, patience)),
            Err(given_up) => return Err(given_up),
        };
        let result = connection.write(frame, || patience.remaining(Peer::Pack(to)).map(drop));
        match result {
            Ok(()) => {
                route.data.put_back(connection);
                Ok(())
            }
            Err(WriteError::GivenUp(reason)) => {
                route.data.forget();
                Err(reason)
            }
            Err(WriteError::Broken(reason)) => {
                route.data.forget();
                Err(self.gone(to, reason, patience))
            }
        }
    }

    /// What has become of a peer that cannot be written to: the watch finds out.
    fn gone(&self, pack: u32, reason: String, patience: &mut Patience<'_>) -> Error {
        self.watch.suspect(pack, reason);
        let control = &self.inbox.config().control;
        loop {
            if let Some(ended) = control.ended() {
                return ended.clone();
            }
            if self.inbox.has_left(pack) {
                return Error::Departed {
                    operation: patience.operation,
                    peer: Peer::Pack(pack),
                };
            }
            match patience.remaining(Peer::Pack(pack)) {
                Ok(left) => control.wait_until(left, || self.inbox.has_left(pack)),
                Err(given_up) => return given_up,
            }
        }
    }

    /// Several threads share the frames of a large message when there are cores for it.
    fn helpers(&self, frames: usize) -> usize {
        (self.cores / 2)
            .min(CONNECTIONS.1)
            .min(frames / 2)
            .saturating_sub(1)
    }
}

impl Backend for Direct {
    fn endpoint(&self) -> Option<String> {
        Some(self.listener.endpoint().to_owned())
    }

    fn start(&self, endpoints: &[String]) -> Result<(), Error> {
        if endpoints.len() != self.packs as usize {
            return Err(Error::InvalidConfiguration {
                reason: format!("{} endpoints for {} packs", endpoints.len(), self.packs),
            });
        }
        self.dialler.learn(endpoints.to_vec());
        self.watch.join(&self.dialler, self.pack, self.packs)?;
        self.listener.open_gate();
        Ok(())
    }

    fn send(
        &self,
        to: u32,
        frames: &[Frame<'_>],
        patience: &mut Patience<'_>,
    ) -> Result<(), Error> {
        let helpers = self.helpers(frames.len());
        if helpers == 0 {
            return frames
                .iter()
                .try_for_each(|frame| self.write(to, frame, patience));
        }
        let next = AtomicUsize::new(0);
        let run = |patience: &mut Patience<'_>| -> Result<(), Error> {
            while let Some(frame) = frames.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.write(to, frame, patience)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> = (0..helpers)
                .map(|_| {
                    let mut patience = patience.share();
                    scope.spawn(move || run(&mut patience))
                })
                .collect();
            let mut result = run(patience);
            for thread in threads {
                let other = thread
                    .join()
                    .unwrap_or_else(|_| Err(error(Some(to), "a sending thread panicked")));
                result = result.and(other);
            }
            result
        })
    }

    fn broadcast(
        &self,
        to: &[u32],
        frames: &[Frame<'_>],
        patience: &mut Patience<'_>,
    ) -> Result<(), Error> {
        to.iter()
            .try_for_each(|&pack| self.send(pack, frames, patience))
    }

    /// A peer that cannot be reached is suspected and no error: whoever waits for its answer
    /// hears what the watch finds out.
    fn control(&self, to: u32, frame: &Frame<'_>) -> Result<(), Error> {
        let mut control = self.route(to)?.control.lock();
        if control.is_none() {
            match self.dial(to) {
                Ok(connection) => *control = Some(connection),
                Err(Error::Backend { reason, .. }) => {
                    self.watch.suspect(to, reason);
                    return Ok(());
                }
                Err(other) => return Err(other),
            }
        }
        let Some(connection) = control.as_mut() else {
            return Ok(());
        };
        let since = Instant::now();
        let result = connection.write(frame, || match since.elapsed() < CONTROL_TIMEOUT {
            true => Ok(()),
            false => Err(error(Some(to), "it does not read")),
        });
        match result {
            Ok(()) => Ok(()),
            Err(WriteError::GivenUp(reason)) => {
                *control = None;
                Err(reason)
            }
            Err(WriteError::Broken(reason)) => {
                *control = None;
                self.watch.suspect(to, reason);
                Ok(())
            }
        }
    }

    /// Only failures: a goodbye is said by [`Direct::close`], when everything else is.
    fn announce(&self, _to: &[u32], frame: &Frame<'_>) {
        if frame.header.kind == Kind::Abort {
            self.watch.announce(frame);
        }
    }

    fn help(&self, pack: u32) -> bool {
        self.peers.help(pack)
    }

    fn relieve(&self, pack: u32) {
        self.peers.relieve(pack);
    }

    fn sleeps(&self) -> bool {
        true
    }

    fn sleep(&self, packs: Range<u32>, sleeper: &Sleeper<'_>) {
        self.peers.sleep(packs, sleeper);
    }

    fn close(&self) {
        let config = self.inbox.config();
        let goodbye = Frame {
            header: Header::notice(Kind::Goodbye, config.flare, config.pack, 0),
            payload: &[],
        };
        for route in &self.routes {
            let control = route.control.lock().take();
            for mut connection in route.data.close().into_iter().chain(control) {
                // Whoever does not read any more needs no goodbye.
                let _ = connection.write(&goodbye, || Err(Error::Closed));
            }
        }
        self.watch.leave();
        self.watch.close();
        self.listener.close();
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.watch.close();
        self.listener.close();
    }
}
