//! `rabbitmq`: packs talk through queues of a RabbitMQ server.
//!
//! | on the server | holds |
//! | --- | --- |
//! | queue `burst:<flare>:pack:<p>` | frames for pack `p` |
//! | queue `burst:<flare>:control:<p>` | control frames for pack `p`, which overtake the above |
//! | key `burst:<flare>:cast` of the exchange `amq.direct` | nothing; leads to the queues of all packs |
//!
//! A one-to-one message is published once per chunk and confirmed by the server: four AMQP
//! messages (publish, confirm, deliver, acknowledge) beside the frames of its content. A message
//! for all other packs is published once per chunk with the key of all; the server delivers it to
//! every queue, this pack's too. One for some of the packs only goes to each of them.
//!
//! Queues are durable, and a frame is acknowledged when the inbox has it: what was on its way in
//! a connection that breaks comes again, and what comes twice is dropped. Frames are not written
//! to disk, since a flare does not outlive a server's restart. A pack deletes its queues when it
//! leaves, and the server those that have had no reader for a minute, so that there is nothing to
//! clean up. A flare with [credentials of its own](platform::issue_credentials) has them in a virtual host of
//! its own, which [`clean`](platform::clean) deletes. A pack whose queue has lost its reader, and has none again soon, is lost; so
//! is one whose queue is not there.

mod connection;
mod consumer;
#[cfg(feature = "management")]
mod management;
mod names;
mod platform;
mod publisher;
mod server;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lapin::types::ShortString;
use tokio::sync::{mpsc, oneshot};

use super::inbox::Inbox;
use super::kind::BackendKind;
use super::runtime::Runtime;
use super::{Backend, Frame};
use crate::cancellation::WaitBudget;
use crate::config::PackConfig;
use crate::error::{Error, Peer};
use crate::pack_id::PackId;
use crate::wire::{HEADER_SIZE, Kind};
use connection::Connection;
use names::Names;
use publisher::{Message, Publisher};
use server::{Server, error};

const NAME: &str = "rabbitmq";

pub(super) const KIND: BackendKind = BackendKind {
    issue_credentials: platform::issue_credentials,
    clean: platform::clean,
    servers: platform::servers,
    ..BackendKind::new(NAME)
};

/// Largest message the server takes: newer ones refuse more than 16 MiB unless told otherwise.
const LARGEST: usize = 16 << 20;
/// Bytes handed to the connection at once.
const BATCH: usize = 8 << 20;
/// How long joining may take: less than a runtime waits for it.
const CONNECTING: Duration = Duration::from_secs(15);
/// The same over connections that are there, which may have fallen silent: there is to be time for new ones.
const RENEWING: Duration = Duration::from_secs(5);
/// How long taking leave may take: who could not say that it leaves would be taken for dead as soon as the server
/// goes on.
const LEAVING: Duration = SILENCE;
/// The same of a flare that has failed, which the others know.
const LEAVING_FAILED: Duration = Duration::from_secs(1);
/// How long a connection that broke is tried to be made again, so that everybody knows within a
/// second when it cannot.
const RECOVERY: Duration = Duration::from_millis(600);
/// How long a server may leave a question without an answer.
const SILENCE: Duration = Duration::from_secs(6);
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(20);

/// What the tasks of a pack share.
#[derive(Debug)]
struct Shared {
    names: Names,
    pack: PackId,
    packs: u32,
    inbox: Arc<Inbox>,
    /// Frames that have come from the server.
    frames: AtomicU64,
    closing: AtomicBool,
    recovery: Duration,
    /// Its goodbye is said and its queues are deleted, or that took too long.
    left: AtomicBool,
    /// Publishing has a connection of its own, because the server may stop reading it.
    out: Arc<Connection>,
    back: Arc<Connection>,
}

/// See the module's documentation.
#[derive(Debug)]
struct RabbitMq {
    shared: Arc<Shared>,
    publisher: Arc<Publisher>,
    /// Control frames leave in order, and whoever has one does not wait.
    control: mpsc::UnboundedSender<Outgoing>,
    runtime: Arc<Runtime>,
}

/// What the task that publishes control frames is given.
#[derive(Debug)]
enum Outgoing {
    Publish(Message),
    /// Tells when everything before it was published.
    Tell(oneshot::Sender<()>),
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let server = Server::new(&config.backend)?;
    let runtime = Arc::new(Runtime::start(NAME)?);
    let connection = || Arc::new(Connection::to(server.clone()));
    let connections = (connection(), connection());
    over(runtime, connections, config, inbox, CONNECTING)
}

/// Opens it over connections that are there, or will be when they are needed; joining may take so long.
fn over(
    runtime: Arc<Runtime>,
    (out, back): (Arc<Connection>, Arc<Connection>),
    config: &PackConfig,
    inbox: Arc<Inbox>,
    within: Duration,
) -> Result<Arc<dyn Backend>, Error> {
    let names = Names::new(&config.flare_id)?;
    let shared = Arc::new(Shared {
        names,
        pack: config.pack,
        packs: config.topology.num_packs(),
        inbox,
        frames: AtomicU64::new(0),
        closing: AtomicBool::new(false),
        recovery: config.backend.recovery.unwrap_or(RECOVERY),
        left: AtomicBool::new(false),
        out,
        back,
    });
    let publisher = Arc::new(Publisher::new(Arc::clone(&shared)));
    let (control, outgoing) = mpsc::unbounded_channel();
    let expiry = names::expiry(config.deadline);
    let joining = join(Arc::clone(&shared), expiry, within);
    runtime.run_for(within, async move { joining.await.map_err(server::failed) })?;
    runtime.spawn(publisher::run_commands(Arc::clone(&publisher), outgoing));
    Ok(Arc::new(RabbitMq {
        shared,
        publisher,
        control,
        runtime,
    }))
}

/// Declares the pack's queues and begins to read them.
async fn join(shared: Arc<Shared>, expiry: Duration, within: Duration) -> lapin::Result<()> {
    let link = shared.back.link_within(within).await?;
    shared.out.link_within(within).await?;
    let (names, pack) = (&shared.names, shared.pack);
    names.declare(&link.channel, pack, expiry).await?;
    for queue in [names.control(pack), names.pack(pack)] {
        let consumer = consumer::consume(&shared, &queue).await?;
        tokio::spawn(consumer::run(Arc::clone(&shared), queue, consumer));
    }
    Ok(())
}

impl RabbitMq {
    fn leaving(&self) -> Duration {
        match self.shared.inbox.is_aborted() {
            true => LEAVING_FAILED,
            false => LEAVING,
        }
    }

    /// Publishes the frames of a message with this key.
    fn publish(
        &self,
        peer: Peer,
        (exchange, key): (&'static str, ShortString),
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        Frame::batches(frames, BATCH).try_for_each(|batch| {
            let message = |frame| Message::new(exchange, key.clone(), frame);
            let messages: Vec<_> = batch.iter().map(message).collect();
            let publisher = Arc::clone(&self.publisher);
            let task = async move { publisher.publish(&messages).await };
            self.runtime.run(task, || budget.remaining(peer).map(drop))
        })
    }
}

impl Backend for RabbitMq {
    fn start(&self, _endpoints: &[String]) -> Result<(), Error> {
        self.runtime.spawn(watch::run(Arc::clone(&self.shared)));
        Ok(())
    }

    fn send(
        &self,
        to: &[PackId],
        frames: &[Frame<'_>],
        budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        let names = &self.shared.names;
        if to.len() > 1 && to.len() as u32 + 1 == self.shared.packs {
            let to_all = (names::CAST, names.cast());
            return self.publish(Peer::AnyWorker, to_all, frames, budget);
        }
        to.iter().try_for_each(|&pack| {
            let to_queue = (names::QUEUES, names.pack(pack));
            self.publish(Peer::Pack(pack), to_queue, frames, budget)
        })
    }

    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        // A goodbye must not overtake the last messages.
        let queue = match frame.header.kind {
            Kind::Goodbye => self.shared.names.pack(to),
            _ => self.shared.names.control(to),
        };
        self.control
            .send(Outgoing::Publish(Message::new(names::QUEUES, queue, frame)))
            .map_err(|_| error("the server does not answer"))
    }

    fn payload_limit(&self) -> usize {
        LARGEST - HEADER_SIZE
    }

    fn leave(&self) {
        if self.shared.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        let (told, done) = oneshot::channel();
        let _ = self.control.send(Outgoing::Tell(told));
        let shared = Arc::clone(&self.shared);
        // Best effort: what cannot be said or deleted now is found out, and expires.
        let _ = self.runtime.run_for(self.leaving(), async move {
            let _ = done.await;
            // Readers stop after this, and whoever has not heard the goodbye by then would miss the pack.
            if let Ok(link) = shared.back.link_within(LEAVING).await {
                shared.names.delete(&link.channel, shared.pack).await;
            }
            Ok(())
        });
        self.shared.left.store(true, Ordering::Release);
    }

    fn renew(&self, config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
        let connections = (Arc::clone(&self.shared.out), Arc::clone(&self.shared.back));
        over(
            Arc::clone(&self.runtime),
            connections,
            config,
            inbox,
            RENEWING,
        )
    }

    fn close(&self) {
        let since = Instant::now();
        self.leave();
        let shared = Arc::clone(&self.shared);
        let left = self.leaving().saturating_sub(since.elapsed());
        let _ = self.runtime.run_for(left, async move {
            shared.back.close().await;
            shared.out.close().await;
            Ok(())
        });
        self.runtime.stop();
    }
}
