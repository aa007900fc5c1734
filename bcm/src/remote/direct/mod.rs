//! `direct`: connections between packs, without a server. They are TCP, or Unix sockets if packs
//! share a machine and its network namespace ([`socket`]); the URI `tcp:` asks for TCP only.
//!
//! Every pack listens. A connection is dialled when the first message or the first answer needs it;
//! those for data are kept in a pool per peer. A connection carries frames one way only, from the
//! pack that dialled it. News that a pack has left or failed travels separately ([`watch`]), and
//! also at the end of each connection. Both ends prove that they know the flare's secret before
//! anything else ([`handshake`]).
//!
//! A connection is read by the worker that waits for a message on it ([`connection_reader`]), or
//! otherwise by the one thread that reads for the whole pack ([`reader`]). Payloads go straight to
//! their place, and reading never waits for a worker or for another pack ([`control_sender`]); so a
//! writer waits at most for the network, and for its turn on a connection no longer than one chunk
//! takes. A pack has four threads here, however many other packs there are.
//!
//! A connection that ends before its `Goodbye` frame means that the pack is lost, unless its
//! goodbye arrived another way.
//!
//! All this outlives a flare if the packs run another one ([`links`]): a pack that leaves the flare
//! says goodbye on each connection and keeps it. The next flare's frames follow, and frames of
//! older flares are dropped. Connections belong to the packs: they are authenticated with the
//! secret of the first flare, in whichever flare they are dialled.

mod connection;
mod connection_error;
mod connection_reader;
mod control_sender;
mod dialler;
mod handshake;
#[cfg(test)]
mod hostile;
mod links;
mod listener;
mod membership;
mod outbox;
mod peers;
mod read_ahead;
mod reader;
mod reader_election;
mod reader_shared;
mod sleep;
mod socket;
mod unauthenticated;
mod watch;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::inbox::Inbox;
use super::kind::BackendKind;
use super::{Backend, Frame};
use crate::cancellation::WaitBudget;
use crate::config::PackConfig;
use crate::error::{Error, Peer};
use crate::local::ConnectionWait;
use crate::pack_id::PackId;
use crate::wire::{Header, Kind};
use connection::WriteError;
use connection_error::ConnectionError;
use links::Links;

const NAME: &str = "direct";
/// How often a wait for news about a pack checks whether that pack left long ago.
const LOOK: Duration = Duration::from_millis(250);

pub(super) const KIND: BackendKind = BackendKind::new(NAME);

/// One flare's use of the [`Links`].
#[derive(Debug)]
struct Direct {
    links: Arc<Links>,
    inbox: Arc<Inbox>,
    /// Set when nothing more is sent: the goodbye is the last frame on every connection.
    ended: AtomicBool,
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let links = Arc::new(Links::open(config, &inbox)?);
    Ok(Direct::new(links, inbox))
}

fn error(pack: Option<PackId>, reason: impl ToString) -> Error {
    Error::of_backend(NAME, pack, reason.to_string())
}

/// A thread that is joined when its owner is closed.
#[derive(Debug)]
struct Thread(Mutex<Option<JoinHandle<()>>>);

impl Thread {
    fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<Self, Error> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
        let failed = |reason: io::Error| error(None, format!("cannot start a thread: {reason}"));
        Ok(Self(Mutex::new(Some(thread.map_err(failed)?))))
    }

    /// Waits until the thread ends. Does nothing when called again.
    fn join(&self) {
        if let Some(thread) = self.0.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Direct {
    fn new(links: Arc<Links>, inbox: Arc<Inbox>) -> Arc<Self> {
        Arc::new(Self {
            links,
            inbox,
            ended: AtomicBool::new(false),
        })
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Says goodbye on every connection; on connections in use when they are given back.
    fn say_goodbye(&self) {
        self.ended.store(true, Ordering::Release);
        self.with_final_frames(|frames| self.links.send_final_frames(frames));
    }

    /// Calls `say` with the goodbye, preceded by the failure if the flare has failed: the watch may
    /// report that later.
    fn with_final_frames(&self, say: impl FnOnce(&[Frame<'_>])) {
        let config = self.inbox.config();
        let goodbye = Frame {
            header: Header::notice(Kind::Goodbye, config.flare, config.pack, 0),
            payload: &[],
        };
        match self.inbox.failure() {
            Some((header, payload)) => {
                let payload = &payload;
                say(&[Frame { header, payload }, goodbye]);
            }
            None => say(&[goodbye]),
        }
    }

    /// Writes one frame on a connection of the pool.
    fn write(
        &self,
        to: PackId,
        frame: &Frame<'_>,
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        if self.has_ended() {
            return Err(Error::Closed);
        }
        let route = self.links.route(to)?;
        let acquired = route.acquire(Peer::Pack(to), budget, |_| self.links.dial(to));
        let mut connection = match acquired {
            Ok(connection) => connection,
            Err(WriteError::Broken(reason)) => return Err(self.gone(to, reason, budget)),
            Err(WriteError::GivenUp(reason)) => return Err(reason),
        };
        let result = connection.write(frame, || budget.remaining(Peer::Pack(to)).map(drop));
        match result {
            Ok(()) => {
                route.put_back(connection);
                if self.has_ended() {
                    self.with_final_frames(|frames| links::send_final_frames(route, frames));
                }
                Ok(())
            }
            Err(WriteError::GivenUp(reason)) => {
                route.forget();
                Err(reason)
            }
            Err(WriteError::Broken(reason)) => {
                route.forget();
                Err(self.gone(to, reason, budget))
            }
        }
    }

    /// Finds out, through the watch, what has happened to a peer that cannot be written to.
    fn gone(&self, pack: PackId, reason: ConnectionError, budget: &mut WaitBudget<'_>) -> Error {
        self.links.watch.suspect(pack, reason);
        let cancellation = &self.inbox.config().cancellation;
        loop {
            if let Err(ended) = budget.check(Peer::Pack(pack)) {
                return ended;
            }
            if self.inbox.is_gone(pack) {
                return Error::Departed {
                    operation: budget.operation,
                    peer: Peer::Pack(pack),
                };
            }
            match budget.remaining(Peer::Pack(pack)) {
                Ok(left) => cancellation.wait_until(left.min(LOOK), || self.inbox.is_gone(pack)),
                Err(given_up) => return given_up,
            }
        }
    }

    /// Writes the frames of one message.
    fn send_to(
        &self,
        pack: PackId,
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let helpers = match self.helpers(frames.len()) {
            0 => 0,
            most => self.links.take_helpers(most),
        };
        let next = AtomicUsize::new(0);
        let run = |budget: &mut WaitBudget<'_>| -> Result<(), Error> {
            while let Some(frame) = frames.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.write(pack, frame, budget)?;
            }
            Ok(())
        };
        if helpers == 0 {
            return run(budget);
        }
        let sent = thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> = (0..helpers)
                .map(|_| {
                    let mut budget = budget.share();
                    scope.spawn(move || run(&mut budget))
                })
                .collect();
            let mut result = run(budget);
            for thread in threads {
                let other = thread
                    .join()
                    .unwrap_or_else(|_| Err(error(Some(pack), "a sending thread panicked")));
                result = result.and(other);
            }
            result
        });
        self.links.give_back_helpers(helpers);
        sent
    }

    /// The number of threads that help with a large message, if there are cores for them.
    fn helpers(&self, frames: usize) -> usize {
        (self.links.cores / 2)
            .min(connection::CONNECTIONS.1)
            .min(frames / 2)
            .saturating_sub(1)
    }
}

impl Backend for Direct {
    fn endpoint(&self) -> Option<String> {
        Some(self.links.endpoint().to_owned())
    }

    fn start(&self, endpoints: &[String]) -> Result<(), Error> {
        self.links.start(endpoints)
    }

    fn send(
        &self,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        to.iter()
            .try_for_each(|&pack| self.send_to(pack, frames, budget))
    }

    /// An unreachable peer becomes a suspect and is not an error: whoever waits for its answer gets
    /// the verdict of the watch.
    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        self.links
            .control_sender
            .send(to, frame, || self.has_ended())
    }

    /// Announces only failures, immediately: on the connections they are sent at the end, before
    /// the goodbye.
    fn announce(&self, _to: &[PackId], frame: &Frame<'_>) {
        if frame.header.kind == Kind::Abort {
            self.links.watch.announce(frame);
        }
    }

    fn progress(&self, pack: PackId) -> bool {
        self.links.peers.progress(pack)
    }

    fn hand_back(&self, pack: PackId) {
        self.links.peers.hand_back(pack);
    }

    fn sleeps(&self) -> bool {
        true
    }

    fn sleep(&self, pack: Option<PackId>, wait: &ConnectionWait<'_>) {
        self.links.peers.sleep(pack, wait);
    }

    fn leave(&self) {
        self.say_goodbye();
        self.links.watch.rest();
    }

    fn renew(&self, _config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
        self.links.renew(&inbox);
        Ok(Direct::new(Arc::clone(&self.links), inbox))
    }

    fn close(&self) {
        if !self.has_ended() {
            self.say_goodbye();
            self.links.watch.leave();
        }
        self.links.close();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use socket2::Socket;

    use super::*;
    use crate::failure::{Failure, FailureKind};
    use crate::topology::Topology;
    use crate::wire::HEADER_SIZE;

    /// The goodbye may reach the other pack before the watch has reported the failure to it.
    #[test]
    fn a_pack_that_leaves_a_failed_flare_sends_the_failure_before_the_goodbye() {
        let mut config = PackConfig::new("f", PackId(0), Topology::new(&[1, 1]).unwrap());
        config.secret = "secret".into();
        let inbox = Inbox::of_two_packs([7; 16]);
        let direct = Direct::new(
            Arc::new(Links::open(&config, &inbox).unwrap()),
            Arc::clone(&inbox),
        );
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let connection = connection::Connection::new(Socket::from(ours)).unwrap();
        direct.links.route(PackId(1)).unwrap().put_back(connection);
        let failure = Failure::new(FailureKind::Panic, "the first cause");
        (inbox.config().cancellation).end(Error::Aborted(failure.clone()));
        direct.say_goodbye();
        let mut heard = || {
            let mut header = [0; HEADER_SIZE];
            theirs.read_exact(&mut header).unwrap();
            let header = Header::decode(&header).unwrap();
            let mut payload = vec![0; header.payload_len().unwrap()];
            theirs.read_exact(&mut payload).unwrap();
            (header.kind, payload)
        };
        let (kind, why) = heard();
        assert_eq!(kind, Kind::Abort);
        assert_eq!(serde_json::from_slice::<Failure>(&why).unwrap(), failure);
        assert_eq!(heard().0, Kind::Goodbye);
        direct.close();
    }
}
