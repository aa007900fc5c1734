//! `rabbitmq`: packs communicate through queues of a RabbitMQ server.
//!
//! | on the server | holds |
//! | --- | --- |
//! | queue `burst:<flare>:pack:<p>` | frames for pack `p` |
//! | queue `burst:<flare>:control:<p>` | control frames for pack `p`, which overtake the above |
//! | key `burst:<flare>:cast` of the exchange `amq.direct` | nothing; leads to the queues of all packs |
//!
//! A one-to-one message is published once per chunk and confirmed by the server: four AMQP messages
//! (publish, confirm, deliver, acknowledge) beside the frames of its content. A message for all
//! other packs is published once per chunk with the common key; the server delivers it to every
//! queue, this pack's included. A message for only some of the packs is sent to each of them.
//!
//! Queues are durable, and a frame is acknowledged when the inbox has it: frames on their way in a
//! connection that breaks are delivered again, and duplicates are dropped. Frames are not written
//! to disk, since a flare does not outlive a server's restart. A pack deletes its queues when it
//! leaves, and the server deletes those that have had no reader for a minute, so that nothing has
//! to be cleaned up. A flare with [credentials of its own](platform::issue_credentials) has its
//! queues in its own virtual host, which [`clean`](platform::clean) deletes. A pack is lost if its
//! queue has lost its reader and does not soon get another, or if its queue is missing.

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

/// The largest message the server accepts: newer ones reject more than 16 MiB by default.
const LARGEST: usize = 16 << 20;
/// The bytes handed to the connection at once.
const BATCH: usize = 8 << 20;
/// How long joining may take: less than a runtime waits for it.
const CONNECTING: Duration = Duration::from_secs(15);
/// The same over existing connections, which may have fallen silent: time must be left for new
/// ones.
const RENEWING: Duration = Duration::from_secs(5);
/// How long leaving may take: a pack that could not announce that it leaves would be taken for dead
/// as soon as the server continues.
const LEAVING: Duration = SILENCE;
/// The same for a flare that has failed, which the others know.
const LEAVING_FAILED: Duration = Duration::from_secs(1);
/// How long reconnecting is tried after a connection broke: short enough that all packs learn
/// within a second that it failed.
const RECOVERY: Duration = Duration::from_millis(600);
/// How long a server may leave a request without an answer.
const SILENCE: Duration = Duration::from_secs(6);
/// The pause between two attempts.
const AGAIN: Duration = Duration::from_millis(20);

/// What the tasks of a pack share.
#[derive(Debug)]
struct Shared {
    names: Names,
    pack: PackId,
    packs: u32,
    inbox: Arc<Inbox>,
    /// The number of frames that have arrived from the server.
    frames: AtomicU64,
    closing: AtomicBool,
    recovery: Duration,
    /// Whether the pack's goodbye is sent and its queues are deleted, or that took too long.
    left: AtomicBool,
    /// The connection for publishing, separate because the server may stop reading it.
    out: Arc<Connection>,
    back: Arc<Connection>,
}

/// See the module's documentation.
#[derive(Debug)]
struct RabbitMq {
    shared: Arc<Shared>,
    publisher: Arc<Publisher>,
    /// Control frames leave in order, and their senders do not wait.
    control: mpsc::UnboundedSender<Outgoing>,
    runtime: Arc<Runtime>,
}

/// A job for the task that publishes control frames.
#[derive(Debug)]
enum Outgoing {
    Publish(Message),
    /// Notifies the sender when everything before it was published.
    Tell(oneshot::Sender<()>),
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let server = Server::new(&config.backend)?;
    let runtime = Arc::new(Runtime::start(NAME)?);
    let connection = || Arc::new(Connection::to(server.clone()));
    let connections = (connection(), connection());
    over(runtime, connections, config, inbox, CONNECTING)
}

/// Opens the backend over connections that exist or are opened when needed; joining may take
/// `within`.
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

    /// Publishes the frames of a message to this exchange with this key.
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
        // Best effort: if the goodbye cannot be sent, the others notice; queues that cannot be
        // deleted expire.
        let _ = self.runtime.run_for(self.leaving(), async move {
            let _ = done.await;
            // Readers stop after this, and a pack that has not received the goodbye by then would
            // take this one for lost.
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
