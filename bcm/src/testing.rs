//! Runs a function on workers without the platform: in this process, one thread per worker.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::communicator::Communicator;
use crate::config::{BackendConfig, PackConfig};
use crate::connections::Connections;
use crate::error::Error;
use crate::failure::{Failure, FailureKind};
use crate::pack::Pack;
use crate::topology::Topology;

/// How long an operation may wait in [`run`]: longer than any operation takes that does not hang, even on a busy
/// machine.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs a function on every worker of a flare with packs of these sizes and returns the results, by
/// worker id.
///
/// All packs live in this process and communicate through the backend as they would from different
/// machines. A worker that returns an error or panics fails the flare: the others' operations
/// return [`Error::Aborted`], which names it, and so does the result of a worker that panicked.
///
/// ```
/// use burst_bcm::{BackendConfig, testing};
///
/// let results = testing::run(&[2, 2], &BackendConfig::new("memory"), |worker| {
///     let sum = worker.all_reduce(worker.worker_id(), |a, b| a + b)?;
///     Ok(*sum)
/// });
/// assert_eq!(results, vec![Ok(6); 4]);
/// ```
pub fn run<R, F>(pack_sizes: &[u32], backend: &BackendConfig, function: F) -> Vec<Result<R, Error>>
where
    R: Send,
    F: Fn(&Communicator) -> Result<R, Error> + Sync,
{
    run_with(pack_sizes, backend, |_| {}, function)
}

/// Like [`run`], but `configure` can change the configuration of each pack before it joins.
pub fn run_with<R, F>(
    pack_sizes: &[u32],
    backend: &BackendConfig,
    configure: impl Fn(&mut PackConfig),
    function: F,
) -> Vec<Result<R, Error>>
where
    R: Send,
    F: Fn(&Communicator) -> Result<R, Error> + Sync,
{
    let workers: u32 = pack_sizes.iter().sum();
    match packs(pack_sizes, backend, configure) {
        Ok(packs) => run_on(&packs, function),
        Err(error) => (0..workers).map(|_| Err(error.clone())).collect(),
    }
}

/// Joins and starts all packs of a flare in this process.
///
/// # Errors
/// Same as [`Pack::join`] and [`Pack::start`].
pub fn packs(
    pack_sizes: &[u32],
    backend: &BackendConfig,
    configure: impl Fn(&mut PackConfig),
) -> Result<Vec<Pack>, Error> {
    packs_over(Vec::new(), pack_sizes, backend, configure)
}

/// Like [`packs`], over the connections that packs kept when they left another flare, by pack id.
///
/// # Errors
/// Same as [`Pack::join_over`] and [`Pack::start`].
pub fn packs_over(
    kept: Vec<Option<Connections>>,
    pack_sizes: &[u32],
    backend: &BackendConfig,
    configure: impl Fn(&mut PackConfig),
) -> Result<Vec<Pack>, Error> {
    let topology = Topology::new(pack_sizes)?;
    let flare_id = flare_id();
    let mut packs = Vec::with_capacity(pack_sizes.len());
    let mut kept = kept.into_iter();
    for pack in topology.packs() {
        let mut config = PackConfig::new(&flare_id, pack, topology.clone());
        config.backend = backend.clone();
        config.secret = flare_id.as_str().into();
        config.operation_timeout = OPERATION_TIMEOUT;
        configure(&mut config);
        packs.push(Pack::join_over(kept.next().flatten(), config)?);
    }
    let endpoints: Vec<String> = packs.iter().filter_map(Pack::endpoint).collect();
    for pack in &packs {
        pack.start(endpoints.clone())?;
    }
    Ok(packs)
}

/// Runs a function on every worker of started packs and returns the results.
pub fn run_on<R, F>(packs: &[Pack], function: F) -> Vec<Result<R, Error>>
where
    R: Send,
    F: Fn(&Communicator) -> Result<R, Error> + Sync,
{
    let function = &function;
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for pack in packs {
            for worker in pack.communicators() {
                threads.push(scope.spawn(move || work(pack, &worker, function)));
            }
        }
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| Err(panicked(None, panic)))
            })
            .collect()
    })
}

/// Runs the function on one worker; if it fails, the flare fails.
fn work<R>(
    pack: &Pack,
    worker: &Communicator,
    function: &impl Fn(&Communicator) -> Result<R, Error>,
) -> Result<R, Error> {
    let (id, of_pack) = (worker.worker_id(), worker.pack_id());
    match catch_unwind(AssertUnwindSafe(|| function(worker))) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => {
            pack.abort(error.to_failure(Some(id), Some(of_pack)));
            Err(error)
        }
        Err(panic) => {
            let error = panicked(Some(worker), panic);
            if let Error::Aborted(failure) = &error {
                pack.abort(failure.clone());
            }
            Err(error)
        }
    }
}

fn panicked(worker: Option<&Communicator>, panic: Box<dyn Any + Send>) -> Error {
    let message = if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        String::new()
    };
    let mut failure = Failure::new(FailureKind::Panic, message).in_operation("work");
    if let Some(worker) = worker {
        failure = failure.of_worker(worker.worker_id(), worker.pack_id());
    }
    Error::Aborted(failure)
}

/// Returns an id that no other flare on the same server has.
fn flare_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("test-{}-{}-{next}", std::process::id(), now.as_nanos())
}
