//! A pack: the workers of a flare that share this process.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::cancellation::Cancellation;
use crate::communicator::Communicator;
use crate::config::PackConfig;
use crate::connections::Connections;
use crate::error::Error;
use crate::failure::Failure;
use crate::group::Group;
use crate::interruptions::Interruptions;
use crate::invalid::InvalidConfiguration;
use crate::mailboxes::Mailboxes;
use crate::remote::{self, Inbox, InboxConfig, Remote, Traffic};
use crate::shared::Shared;
use crate::wire::flare_digest;

/// One pack of a flare; there is one per process and flare.
///
/// Its life cycle: [`join`](Pack::join) binds an endpoint, [`start`](Pack::start) receives the
/// endpoints of all packs, the workers communicate through their
/// [`communicators`](Pack::communicators), and [`close`](Pack::close), or dropping the pack, says
/// goodbye to the others and ends every thread and connection. Packs that run one flare after
/// another [`leave`](Pack::leave) instead, and [join the next one over](Pack::join_over) the
/// connections they have.
///
/// ```
/// use burst_bcm::{Pack, PackConfig, PackId, Topology};
///
/// let pack = Pack::join(PackConfig::new("f1", PackId(0), Topology::single(2)?))?;
/// pack.start(vec![])?;
/// let workers = pack.communicators();
/// workers[0].send(1u8, 1)?;
/// assert_eq!(workers[1].recv::<u8>(0)?, 1);
/// pack.close();
/// # Ok::<(), burst_bcm::Error>(())
/// ```
#[derive(Debug)]
pub struct Pack {
    shared: Arc<Shared>,
    groups: Vec<Arc<Group>>,
    /// The connection to the other packs, until `start` makes it available to the workers.
    joined: Mutex<Option<Remote>>,
    config: PackConfig,
}

impl Pack {
    /// Joins the flare: binds the endpoint at which other packs will reach this one.
    ///
    /// # Errors
    /// [`Error::InvalidConfiguration`] for a pack, backend or size that does not exist;
    /// [`Error::Backend`] when the backend cannot be reached or bound.
    pub fn join(config: PackConfig) -> Result<Self, Error> {
        Self::join_over(None, config)
    }

    /// Like [`join`](Pack::join), for packs that have left their previous flare: reuses the
    /// connections they have if backend, packs and addresses are still the same. All packs must
    /// have left before the first of them joins, and either all or none of them must join over
    /// their kept connections.
    ///
    /// The flares cannot mix: data of the previous flare that is left on a connection is dropped.
    ///
    /// ```
    /// use burst_bcm::{Pack, PackConfig, PackId, Topology};
    ///
    /// let config = |flare: &str, pack| -> Result<PackConfig, burst_bcm::Error> {
    ///     let mut config = PackConfig::new(flare, pack, Topology::new(&[1, 1])?);
    ///     config.secret = "only these two know it".into();
    ///     Ok(config)
    /// };
    /// let mut kept = [None, None];
    /// for flare in ["first", "second"] {
    ///     let packs: Vec<Pack> = [PackId(0), PackId(1)]
    ///         .into_iter()
    ///         .zip(&mut kept)
    ///         .map(|(pack, kept)| Pack::join_over(kept.take(), config(flare, pack)?))
    ///         .collect::<Result<_, _>>()?;
    ///     let endpoints: Vec<String> = packs.iter().filter_map(Pack::endpoint).collect();
    ///     for pack in &packs {
    ///         pack.start(endpoints.clone())?;
    ///     }
    ///     packs[0].communicators()[0].send(flare.to_owned(), 1)?;
    ///     assert_eq!(packs[1].communicators()[0].recv::<String>(0)?, flare);
    ///     kept = [packs[0].leave(), packs[1].leave()];
    /// }
    /// # Ok::<(), burst_bcm::Error>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`join`](Pack::join).
    pub fn join_over(kept: Option<Connections>, config: PackConfig) -> Result<Self, Error> {
        let topology = config.topology.clone();
        let Some(workers) = topology.workers_of(config.pack) else {
            let (pack, packs) = (config.pack, topology.num_packs());
            return Err(InvalidConfiguration::NoSuchPack { pack, packs }.into());
        };
        let count = workers.end - workers.start;
        check(&config)?;
        let cancellation = Arc::new(Cancellation::new(
            count as usize,
            config.deadline.map(instant_of),
            config.operation_timeout,
        ));
        let groups = workers
            .clone()
            .map(|worker| Arc::new(Group::world(&topology, worker)))
            .collect();
        let mailboxes = Arc::new(Mailboxes::new(workers.start, count));
        let remote = connect(kept, &config, &cancellation, &mailboxes)?;
        let shared = Arc::new(Shared {
            flare_id: config.flare_id.clone(),
            pack: config.pack,
            topology,
            first_worker: workers.start,
            cancellation,
            mailboxes,
            interruptions: Interruptions::new(workers.start, count),
            turn: AtomicUsize::new(0),
            remote: OnceLock::new(),
        });
        Ok(Self {
            shared,
            groups,
            joined: Mutex::new(remote),
            config,
        })
    }

    /// The endpoint at which other packs reach this one; `None` if the flare has only one pack or
    /// the backend has a server.
    pub fn endpoint(&self) -> Option<String> {
        match self.shared.remote.get() {
            Some(remote) => remote.endpoint(),
            None => self.joined.lock().as_ref().and_then(Remote::endpoint),
        }
    }

    /// Starts the flare: `endpoints` holds every pack's [`endpoint`](Pack::endpoint) by pack id.
    /// They are ignored if the flare has only one pack or the backend has a server.
    ///
    /// # Errors
    /// [`Error::InvalidConfiguration`] when an endpoint is missing or malformed;
    /// [`Error::Backend`] when another pack cannot be reached.
    pub fn start(&self, endpoints: Vec<String>) -> Result<(), Error> {
        let Some(remote) = self.joined.lock().take() else {
            return Ok(());
        };
        let started = remote.start(&endpoints);
        // Even if it failed, as `close` must shut it down.
        let _ = self.shared.remote.set(remote);
        started
    }

    /// A handle for each worker of the pack, in the order of worker ids.
    pub fn communicators(&self) -> Vec<Communicator> {
        (self.shared.first_worker..)
            .zip(&self.groups)
            .map(|(worker, group)| {
                let (shared, group) = (Arc::clone(&self.shared), Arc::clone(group));
                Communicator::new(shared, group, worker, self.config.deadline)
            })
            .collect()
    }

    /// Ends every blocked and later operation of every worker of the flare with this failure, in this pack
    /// immediately and in the others within a second. Only the first failure counts; after the flare's deadline,
    /// [`Failure::unless_overdue`] applies to it.
    pub fn abort(&self, failure: Failure) {
        self.shared.abort(failure);
    }

    /// Whether the flare's deadline has passed, by the clock that its operations use.
    pub fn is_overdue(&self) -> bool {
        self.shared.cancellation.is_overdue()
    }

    /// How much this pack has sent to and received from other packs so far.
    pub fn traffic(&self) -> Traffic {
        self.shared
            .remote
            .get()
            .map(Remote::traffic)
            .unwrap_or_default()
    }

    /// Says goodbye to the other packs and returns the connections to them, for the next flare;
    /// `None` if there are no other packs or this one has already left. Operations still blocked,
    /// and later ones, return [`Error::Closed`]. Does not wait for the other packs.
    pub fn leave(&self) -> Option<Connections> {
        self.end_operations();
        let joined = self.joined.lock();
        let remote = joined.as_ref().or_else(|| self.shared.remote.get())?;
        let backend = remote.leave()?;
        Some(Connections::new(&self.config, backend))
    }

    /// Says goodbye to the other packs and ends all threads and connections of this one. Operations
    /// still blocked, and later ones, return [`Error::Closed`]. Does nothing if called again.
    pub fn close(&self) {
        self.end_operations();
        if let Some(remote) = self.joined.lock().take() {
            remote.close();
        }
        if let Some(remote) = self.shared.remote.get() {
            remote.close();
        }
    }

    fn end_operations(&self) {
        self.shared.cancellation.end(Error::Closed);
        self.shared.wake_all();
    }
}

impl Drop for Pack {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens the backend to the other packs, if there are any.
fn connect(
    kept: Option<Connections>,
    config: &PackConfig,
    cancellation: &Arc<Cancellation>,
    mailboxes: &Arc<Mailboxes>,
) -> Result<Option<Remote>, Error> {
    let topology = &config.topology;
    if topology.num_packs() == 1 {
        return Ok(None);
    }
    let inbox = Inbox::new(InboxConfig {
        flare: flare_digest(&config.flare_id),
        pack: config.pack,
        topology: topology.clone(),
        max_message: config.max_message as u64,
        max_bytes_in_flight: config.max_bytes_in_flight as u64,
        cancellation: Arc::clone(cancellation),
        mailboxes: Arc::clone(mailboxes),
    });
    let backend = Connections::open(kept, config, Arc::clone(&inbox))?;
    let chosen = config.backend.chunk_size;
    let chunk_size = chosen.unwrap_or_else(|| remote::default_chunk_size(&config.backend.kind));
    Ok(Some(Remote::new(backend, inbox, chunk_size)))
}

fn check(config: &PackConfig) -> Result<(), Error> {
    if config.flare_id.is_empty() {
        return Err(InvalidConfiguration::NoFlareId.into());
    }
    if config.backend.chunk_size == Some(0) {
        return Err(InvalidConfiguration::NoChunkSize.into());
    }
    Ok(())
}

/// Converts a deadline to the monotonic clock that waits are measured by; one in the past becomes
/// now.
fn instant_of(time: SystemTime) -> Instant {
    let left = time
        .duration_since(SystemTime::now())
        .unwrap_or(Duration::ZERO);
    let now = Instant::now();
    now.checked_add(left)
        .unwrap_or(now + Duration::from_secs(86_400 * 365))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use burst_test_servers::{RabbitMq, Redis};

    use crate::{BackendConfig, Error, testing};

    /// The goodbye of a pack that has ended its operations can take long to arrive, because of a busy server or
    /// behind other messages. Until then the other packs do not treat the pack as lost.
    #[track_caller]
    fn a_pack_that_is_slow_to_leave_is_not_lost(backend: &BackendConfig) {
        let configure = |config: &mut crate::PackConfig| {
            config.operation_timeout = Duration::from_millis(1500);
        };
        let packs = testing::packs(&[1, 1], backend, configure).unwrap();
        let [leaving, other] = &packs[..] else {
            unreachable!("two were made")
        };
        leaving.end_operations();
        let worker = other.communicators().remove(0);
        let waited = worker.recv::<u8>(0);
        assert!(matches!(waited, Err(Error::Timeout { .. })), "{waited:?}");
        leaving.close();
        let told = std::time::Instant::now();
        let mut waited = worker.recv::<u8>(0);
        // The backend may be slow to deliver the goodbye.
        while matches!(waited, Err(Error::Timeout { .. })) && told.elapsed().as_secs() < 60 {
            waited = worker.recv::<u8>(0);
        }
        assert!(matches!(waited, Err(Error::Departed { .. })), "{waited:?}");
    }

    #[test]
    fn a_pack_that_is_slow_to_leave_is_not_lost_on_redis() {
        let server = Redis::start();
        for kind in ["redis-list", "redis-stream"] {
            let backend = BackendConfig::new(kind).with_uri(server.uri());
            a_pack_that_is_slow_to_leave_is_not_lost(&backend.with_shared_credentials());
        }
    }

    #[test]
    fn a_pack_that_is_slow_to_leave_is_not_lost_on_rabbitmq() {
        let backend = BackendConfig::new("rabbitmq").with_uri(RabbitMq::shared().uri());
        a_pack_that_is_slow_to_leave_is_not_lost(&backend.with_shared_credentials());
    }

    #[test]
    fn a_pack_that_is_slow_to_leave_is_not_lost_on_direct() {
        a_pack_that_is_slow_to_leave_is_not_lost(&BackendConfig::new("direct"));
    }
}
