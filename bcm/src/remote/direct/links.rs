//! What outlives a flare and is used by the next one of the same packs: the listening end, the
//! connections to and from the other packs, and the watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::connection::{CONNECTIONS, Connection, WriteError};
use super::connection_error::ConnectionError;
use super::control_sender::ControlSender;
use super::dialler::Dialler;
use super::handshake::{Credentials, Purpose};
use super::listener::Listener;
use super::peers::Peers;
use super::reader::Reader;
use super::watch::Watch;
use crate::config::PackConfig;
use crate::error::Error;
use crate::invalid::{InvalidBackend, InvalidConfiguration};
use crate::pack_id::PackId;
use crate::remote::Frame;
use crate::remote::inbox::Inbox;
use crate::remote::pool::Pool;

/// The URI that disables Unix sockets.
const TCP_ONLY: &str = "tcp:";

/// See the module's documentation. All threads and connections end with it.
#[derive(Debug)]
pub(super) struct Links {
    pack: PackId,
    packs: u32,
    dialler: Arc<Dialler>,
    pub(super) peers: Arc<Peers>,
    pub(super) watch: Arc<Watch>,
    pub(super) control_sender: ControlSender,
    reader: Arc<Reader>,
    listener: Listener,
    /// The connections for data to each other pack.
    routes: Vec<Pool<Connection>>,
    /// The number of threads that may still be started to help with large messages.
    helpers: AtomicUsize,
    /// Determined once, since that takes reading several files.
    pub(super) cores: usize,
}

impl Links {
    /// Listens. Everything that arrives is for this inbox until it is [renewed](Links::renew).
    pub(super) fn open(config: &PackConfig, inbox: &Arc<Inbox>) -> Result<Self, Error> {
        if config.secret.as_bytes().is_empty() {
            return Err(InvalidConfiguration::NoSecret.into());
        }
        let locally = match config.backend.uri.as_deref() {
            None => true,
            Some(TCP_ONLY) => false,
            Some(_) => {
                let form = "tcp:, or left out";
                let reason = InvalidBackend::Uri { form };
                let backend = super::NAME;
                return Err(InvalidConfiguration::OfBackend { backend, reason }.into());
            }
        };
        let (pack, packs) = (config.pack, config.topology.num_packs());
        let cores = inbox.config().cancellation.cores();
        let credentials = Credentials::new(&config.secret, inbox.config().flare);
        let dialler = Arc::new(Dialler::new(pack, credentials.clone(), locally));
        let peers = Arc::new(Peers::new(Arc::clone(inbox)));
        let watch = Arc::new(Watch::start(
            Arc::clone(inbox),
            Arc::clone(&peers.membership),
            Arc::clone(&dialler),
        )?);
        let control_sender = ControlSender::start(packs, Arc::clone(&dialler), Arc::clone(&watch))
            .inspect_err(|_| watch.close())?;
        let reader = Reader::start(Arc::clone(&peers), Arc::clone(&watch))
            .map(Arc::new)
            .inspect_err(|_| {
                watch.close();
                control_sender.close();
            })?;
        let listener = Listener::bind(
            (config, locally),
            (pack, packs),
            credentials,
            (Arc::clone(&peers), Arc::clone(&reader)),
            Arc::clone(&watch),
        )
        .inspect_err(|_| {
            watch.close();
            control_sender.close();
            reader.close();
        })?;
        let route = |_| Pool::new(cores.clamp(CONNECTIONS.0, CONNECTIONS.1));
        Ok(Self {
            pack,
            packs,
            dialler,
            peers,
            watch,
            control_sender,
            reader,
            listener,
            helpers: AtomicUsize::new(CONNECTIONS.1 - 1),
            routes: (0..packs).map(route).collect(),
            cores,
        })
    }

    pub(super) fn endpoint(&self) -> &str {
        self.listener.endpoint()
    }

    /// Starts the flare: in the first one the packs meet; in later ones they must still be where
    /// they were.
    pub(super) fn start(&self, endpoints: &[String]) -> Result<(), Error> {
        if endpoints.len() != self.packs as usize {
            return Err(InvalidConfiguration::Endpoints {
                endpoints: endpoints.len(),
                packs: self.packs,
            }
            .into());
        }
        if self.dialler.learn(endpoints)? {
            self.watch.join(&self.dialler, self.pack, self.packs)?;
            self.reader.open_gate();
        } else {
            self.watch.rejoin();
        }
        Ok(())
    }

    /// The next flare begins. All packs have left the last one.
    pub(super) fn renew(&self, inbox: &Arc<Inbox>) {
        self.peers.renew(inbox);
        self.watch.renew(Arc::clone(inbox));
    }

    pub(super) fn route(&self, pack: PackId) -> Result<&Pool<Connection>, Error> {
        self.routes
            .get(pack.index())
            .ok_or_else(|| ConnectionError::NoSuchPack.towards(pack))
    }

    pub(super) fn dial(&self, pack: PackId) -> Result<Connection, WriteError> {
        let stream = self.dialler.dial(pack, Purpose::Frames)?;
        Ok(Connection::new(stream).map_err(ConnectionError::from)?)
    }

    /// Takes at most `most` of the free helper threads for a message; the caller gives them back.
    pub(super) fn take_helpers(&self, most: usize) -> usize {
        let taken = |free: usize| Some(free - free.min(most));
        let (order, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        match self.helpers.fetch_update(order, fetch, taken) {
            Ok(free) | Err(free) => free.min(most),
        }
    }

    pub(super) fn give_back_helpers(&self, count: usize) {
        self.helpers.fetch_add(count, Ordering::Relaxed);
    }

    /// Writes frames on every connection that nobody has taken. A peer that no longer reads does
    /// not need them, and the connection is given up.
    pub(super) fn send_final_frames(&self, frames: &[Frame<'_>]) {
        for route in &self.routes {
            send_final_frames(route, frames);
        }
        self.control_sender.send_final_frames(frames);
    }

    /// Hangs up. Does nothing when called again.
    pub(super) fn close(&self) {
        for route in &self.routes {
            drop(route.close());
        }
        self.control_sender.close();
        self.watch.close();
        self.listener.close();
        self.reader.close();
    }
}

/// Like [`Links::send_final_frames`], only on the connections for data to one pack.
pub(super) fn send_final_frames(route: &Pool<Connection>, frames: &[Frame<'_>]) {
    route.each_idle(|connection| {
        // Does not wait.
        let mut say = |frame| connection.write(frame, || Err(Error::Closed)).is_ok();
        frames.iter().all(&mut say)
    });
}

impl Drop for Links {
    fn drop(&mut self) {
        self.close();
    }
}
