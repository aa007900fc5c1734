//! Everything in the backends except how frames are laid out on the server, the only thing in which
//! they differ.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::connections::Connections;
use super::resp::{Exchange, Interrupt};
use super::resp_error::RespError;
use super::server::{self, Server};
use super::session::Session;
use super::threads::Task;
use super::{LARGEST, platform};
use crate::cancellation::WaitBudget;
use crate::config::PackConfig;
use crate::error::{Error, Peer};
use crate::pack_id::PackId;
use crate::remote::inbox::Inbox;
use crate::remote::kind::BackendKind;
use crate::remote::{Backend, Frame};

/// How one flare's frames are laid out on the server, as seen by one of its packs.
pub(super) trait Layout: fmt::Debug + Send + Sync + Sized + 'static {
    /// The backend's name.
    const NAME: &'static str;
    type Reader: Task;

    fn new(config: &PackConfig) -> Self;

    /// The keys that the pack reads, with a thread for each.
    fn read(&self) -> Vec<String>;

    /// The task that reads one of them.
    fn reader(&self, key: String, config: &PackConfig) -> Self::Reader;

    /// The keys that no other pack reads.
    fn own(&self) -> Vec<String>;

    /// The key that a control frame for a pack goes to.
    fn control(&self, to: PackId, frame: &Frame<'_>) -> String;

    /// Appends a frame to a key. Two replies.
    fn add(
        exchange: &mut Exchange<'_>,
        key: &str,
        frame: &Frame<'_>,
        expiry: Duration,
    ) -> Result<(), RespError>;

    /// See [`Backend::send`].
    fn send(
        &self,
        session: &Session,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error>;
}

pub(super) const fn kind<L: Layout>() -> BackendKind {
    BackendKind {
        issue_credentials: |flare, config| platform::issue_credentials(L::NAME, flare, config),
        clean: |flare_id, config| platform::clean(L::NAME, flare_id, config),
        servers: |config| server::addresses(L::NAME, config),
        ..BackendKind::new(L::NAME)
    }
}

pub(super) fn open<L: Layout>(
    config: &PackConfig,
    inbox: Arc<Inbox>,
) -> Result<Arc<dyn Backend>, Error> {
    let server = Server::new(L::NAME, &config.backend)?;
    Redis::<L>::over(Arc::new(Connections::open(server)?), config, inbox)
}

/// One flare's use of a server.
#[derive(Debug)]
struct Redis<L> {
    layout: L,
    session: Session,
}

impl<L: Layout> Redis<L> {
    fn over(
        connections: Arc<Connections>,
        config: &PackConfig,
        inbox: Arc<Inbox>,
    ) -> Result<Arc<dyn Backend>, Error> {
        let layout = L::new(config);
        let read = layout.read().into_iter();
        let readers = read.map(|key| layout.reader(key, config));
        let session = Session::begin(connections, config, inbox, readers)?;
        Ok(Arc::new(Self { layout, session }))
    }

    fn control_while(
        &self,
        to: PackId,
        frame: &Frame<'_>,
        interrupt: Interrupt<'_>,
    ) -> Result<(), Error> {
        let (writer, key) = (&self.session.writer, self.layout.control(to, frame));
        let expiry = writer.expiry();
        writer.control_while(interrupt, |exchange| {
            L::add(exchange, &key, frame, expiry).map(|()| 2)
        })
    }
}

impl<L: Layout> Backend for Redis<L> {
    fn start(&self, _endpoints: &[String]) -> Result<(), Error> {
        self.session.start();
        Ok(())
    }

    fn send(
        &self,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        self.layout.send(&self.session, to, frames, budget)
    }

    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        self.control_while(to, frame, &mut || Ok(()))
    }

    fn offer(
        &self,
        to: PackId,
        frame: &Frame<'_>,
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        self.control_while(to, frame, &mut || {
            budget.remaining(Peer::Pack(to)).map(drop)
        })
    }

    fn payload_limit(&self) -> usize {
        LARGEST
    }

    fn leave(&self) {
        let (read, expiry) = (self.layout.read(), self.session.writer.expiry());
        self.session.leave(&self.layout.own(), |exchange, frame| {
            for key in &read {
                L::add(exchange, key, frame, expiry)?;
            }
            Ok(2 * read.len())
        });
    }

    fn renew(&self, config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
        Self::over(self.session.connections(), config, inbox)
    }

    fn close(&self) {
        self.session.close(&self.layout.own());
    }
}
