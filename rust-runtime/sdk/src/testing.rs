//! Running a work function in a test: in process, on threads, without a platform.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use burst_bcm::{
    BackendConfig, Failure, FailureKind, InvalidConfiguration, Pack, PackConfig, PackId, Secret,
    Topology,
};

use crate::context::BurstContext;
use crate::data::Loads;
use crate::pack::{PackContext, Report};
use crate::state::WorkerStates;
use crate::worker::{self, Work};

/// How long a flare in a test may take before its waits end.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `work` as a flare: one worker for each input, in packs of `granularity` workers (the last
/// pack may be smaller). The outputs come in the order of the inputs.
///
/// Every worker has a thread of its own. Workers of one pack share memory, workers of different
/// packs talk through a backend, exactly as on the platform. Waits end with an error after one
/// minute.
///
/// ```
/// use burst::{BurstContext, Error};
///
/// fn sum(number: u64, burst: &BurstContext) -> Result<u64, Error> {
///     Ok(*burst.all_reduce(number, |a, b| a + b)?)
/// }
///
/// # fn main() -> Result<(), burst::testing::FlareFailed> {
/// for granularity in 1..=4 {
///     assert_eq!(burst::testing::run(sum, vec![1, 2, 3, 4], granularity)?, [10; 4]);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`FlareFailed`] when any worker returned an error or panicked.
pub fn run<I, O>(
    work: impl Work<I, O>,
    inputs: impl IntoIterator<Item = I>,
    granularity: u32,
) -> Result<Vec<O>, FlareFailed>
where
    I: Send,
    O: Send,
{
    Group::open(granularity).run(work, inputs)
}

/// The packs of a group (`burst group open`), for flares whose workers keep state with
/// [`BurstContext::state`].
#[derive(Default)]
pub struct Group {
    granularity: u32,
    /// The workers' states of each pack, once a flare has run.
    states: Vec<Arc<WorkerStates>>,
}

impl Group {
    /// A group whose packs have this many workers.
    pub fn open(granularity: u32) -> Self {
        Self {
            granularity,
            states: Vec::new(),
        }
    }

    /// Like [`run`], on the same workers each time. After a failure their state is lost.
    ///
    /// # Errors
    /// [`FlareFailed`], also if the number of inputs differs from the last time.
    pub fn run<I, O>(
        &mut self,
        work: impl Work<I, O>,
        inputs: impl IntoIterator<Item = I>,
    ) -> Result<Vec<O>, FlareFailed>
    where
        I: Send,
        O: Send,
    {
        let inputs: Vec<I> = inputs.into_iter().collect();
        let sizes = pack_sizes(inputs.len(), self.granularity);
        if self.states.is_empty() {
            self.states = sizes.iter().map(|&size| WorkerStates::new(size)).collect();
        } else if !self
            .states
            .iter()
            .map(|it| it.size())
            .eq(sizes.iter().copied())
        {
            let error = burst_bcm::Error::from(InvalidConfiguration::OtherGroupSize);
            return Err(FlareFailed::from(error));
        }
        let result = flare(&work, inputs, &sizes, &self.states);
        if result.is_err() {
            self.states.clear();
        }
        result
    }
}

fn flare<I, O>(
    work: &impl Work<I, O>,
    inputs: Vec<I>,
    sizes: &[u32],
    states: &[Arc<WorkerStates>],
) -> Result<Vec<O>, FlareFailed>
where
    I: Send,
    O: Send,
{
    let workers = join(sizes, states)?;
    let results: Vec<Result<O, Failure>> = thread::scope(|scope| {
        let threads: Vec<_> = inputs
            .into_iter()
            .zip(&workers.contexts)
            .map(|(input, burst)| {
                let packs = &workers.packs;
                let name = format!("worker-{}", burst.worker_id());
                thread::Builder::new()
                    .name(name)
                    .spawn_scoped(scope, move || {
                        let result = worker::call(work, input, burst, Ok);
                        if let Err(failure) = &result {
                            packs.iter().for_each(|pack| pack.abort(failure.clone()));
                        }
                        result
                    })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.map(|thread| thread.join()) {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err(Failure::new(
                    FailureKind::Internal,
                    "a worker's thread was lost",
                )),
                Err(error) => {
                    let message = format!("cannot start a thread for the worker: {error}");
                    Err(Failure::new(FailureKind::StartFailed, message))
                }
            })
            .collect()
    });
    workers.close();
    let (mut outputs, mut failures) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(output) => outputs.push(output),
            Err(failure) => failures.push(failure),
        }
    }
    let cause = failures
        .iter()
        .find(|failure| failure.kind != FailureKind::PeerFailed);
    match cause.or(failures.first()).cloned() {
        None => Ok(outputs),
        Some(first) => Err(FlareFailed { first, failures }),
    }
}

/// A flare in a test did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlareFailed {
    /// The failure that caused the others.
    pub first: Failure,
    /// The failures of all workers that gave no output.
    pub failures: Vec<Failure>,
}

impl fmt::Display for FlareFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)
    }
}

impl std::error::Error for FlareFailed {}

impl From<burst_bcm::Error> for FlareFailed {
    fn from(error: burst_bcm::Error) -> Self {
        Self {
            first: error.to_failure(None, None),
            failures: Vec::new(),
        }
    }
}

/// All workers of a flare, ready to run, and the packs they live in.
struct Workers {
    packs: Vec<Arc<PackContext>>,
    contexts: Vec<BurstContext>,
}

/// Starts the packs of a flare, all in this process.
fn join(sizes: &[u32], states: &[Arc<WorkerStates>]) -> Result<Workers, FlareFailed> {
    let topology = Topology::new(sizes)?;
    // Flares of concurrent tests must not meet in the backend.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let flare_id = format!("testing-{}-{number}", std::process::id());
    let (deadline, due) = (SystemTime::now() + LIMIT, Instant::now() + LIMIT);
    let mut packs = Vec::new();
    for (pack, states) in (0..topology.num_packs()).map(PackId).zip(states) {
        let mut config = PackConfig::new(flare_id.as_str(), pack, topology.clone());
        config.backend = BackendConfig::new("memory");
        config.secret = Secret::new(flare_id.as_str());
        config.deadline = Some(deadline);
        let first_worker = sizes.iter().take(packs.len()).sum();
        packs.push(Arc::new(PackContext {
            first_worker,
            deadline,
            due,
            report: Arc::new(Console),
            loads: Loads::default(),
            states: Arc::clone(states),
            pack: Pack::join(config)?,
            trace: None,
        }));
    }
    let endpoints: Vec<String> = packs
        .iter()
        .map(|pack_context| pack_context.pack.endpoint().unwrap_or_default())
        .collect();
    let mut contexts = Vec::new();
    for pack_context in &packs {
        pack_context.pack.start(endpoints.clone())?;
        for communicator in pack_context.pack.communicators() {
            contexts.push(BurstContext::new(communicator, Arc::clone(pack_context)));
        }
    }
    Ok(Workers { packs, contexts })
}

impl Workers {
    fn close(self) {
        drop(self.contexts);
        self.packs
            .iter()
            .for_each(|pack_context| pack_context.pack.close());
    }
}

fn pack_sizes(size: usize, granularity: u32) -> Vec<u32> {
    let granularity = granularity.max(1);
    let mut left = u32::try_from(size).unwrap_or(u32::MAX);
    let mut sizes = Vec::new();
    while left > 0 {
        sizes.push(left.min(granularity));
        left -= left.min(granularity);
    }
    sizes
}

/// Prints what workers log to the test's own output.
struct Console;

impl Report for Console {
    fn phase(&self, _worker: u32, _name: &str) {}

    fn log(&self, worker: u32, text: &str) {
        println!("worker {worker}: {text}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::{Error, Tag, wait_any};

    #[test]
    fn packs_hold_granularity_workers_and_the_last_one_the_rest() {
        assert_eq!(pack_sizes(7, 3), [3, 3, 1]);
        assert_eq!(pack_sizes(4, 0), [1, 1, 1, 1]);
        assert_eq!(pack_sizes(2, 9), [2]);
    }

    #[test]
    fn no_inputs_are_refused() {
        assert!(run(|_: (), _| Ok(()), Vec::new(), 1).is_err());
    }

    #[test]
    fn a_group_keeps_its_size_and_forgets_after_a_failure() {
        let mut group = Group::open(1);
        let count = |fails: bool, burst: &BurstContext| {
            let mut seen = burst.state(|| Ok(0))?;
            *seen += 1;
            burst.barrier()?;
            if fails {
                return Err(Error::new("asked to"));
            }
            Ok(*seen)
        };
        assert_eq!(group.run(count, [false; 2]).unwrap(), [1, 1]);
        assert!(group.run(count, [false; 3]).is_err());
        assert_eq!(group.run(count, [false; 2]).unwrap(), [2, 2]);
        assert!(group.run(count, [true, false]).is_err());
        assert_eq!(group.run(count, [false; 2]).unwrap(), [1, 1]);
    }

    #[test]
    fn outputs_come_in_order_and_contexts_are_right() {
        let outputs = run(
            |input: u32, burst| {
                Ok((
                    input,
                    burst.worker_id(),
                    burst.pack_id(),
                    burst.is_pack_leader(),
                ))
            },
            [10, 11, 12],
            2,
        );
        assert_eq!(
            outputs.unwrap(),
            [
                (10, 0, PackId(0), true),
                (11, 1, PackId(0), false),
                (12, 2, PackId(1), true)
            ]
        );
    }

    #[test]
    fn the_first_failure_is_distinguished_from_its_peers() {
        for granularity in [1, 2, 3] {
            let failed = run(
                |_: (), burst| match burst.worker_id() {
                    1 => panic!("one"),
                    _ => Ok(burst.recv::<u8>(1)?),
                },
                [(); 3],
                granularity,
            )
            .unwrap_err();
            assert_eq!(
                (failed.first.kind, failed.first.worker),
                (FailureKind::Panic, Some(1))
            );
            assert!(failed.first.message.starts_with("one (at "), "{failed}");
            let peers: Vec<_> = failed
                .failures
                .iter()
                .filter(|f| f.kind == FailureKind::PeerFailed)
                .collect();
            assert_eq!(peers.len(), 2, "{failed:?}");
            assert!(peers[0].message.contains("worker 1"), "{failed:?}");
        }
    }

    #[test]
    fn a_worker_that_panics_on_a_peers_failure_is_not_the_first() {
        let failed = run(
            |_: (), burst| match burst.worker_id() {
                0 => Err(Error::new("zero")),
                1 => Ok(burst.recv::<u8>(0).unwrap()),
                2 => Ok(burst.my_pack().recv::<u8>(0).unwrap()),
                3 => Ok(burst.irecv::<u8>(0, Tag(1))?.wait().unwrap()),
                4 => Ok(wait_any(&mut vec![burst.irecv::<u8>(0, Tag(1))?])
                    .unwrap()
                    .1),
                _ => burst.recv(0).map_err(|error| Error::new(error.to_string())),
            },
            [(); 6],
            6,
        )
        .unwrap_err();
        assert_eq!(failed.first.message, "zero");
        let kinds: Vec<_> = failed.failures.iter().map(|failure| failure.kind).collect();
        let peer = FailureKind::PeerFailed;
        assert_eq!(kinds, [FailureKind::Error, peer, peer, peer, peer, peer]);
    }

    #[test]
    fn failures_reported_by_a_group_are_attributed_like_the_flares() {
        let failed = run(
            |_: (), burst| {
                let me = burst.worker_id();
                let half = burst.split(Some(me % 2), 0)?;
                match (me, half) {
                    (0, _) => Err(Error::new("zero")),
                    (1, Some(half)) => Ok(half.recv::<u8>(1).unwrap()),
                    (2, Some(half)) => Ok(*half.broadcast(None::<u8>, 0).unwrap()),
                    (_, half) => {
                        let sums = half.map(|half| half.my_pack().all_reduce(1, u8::max));
                        burst
                            .recv::<u8>(0)
                            .map_err(|_| Error::new(format!("{sums:?}")))
                    }
                }
            },
            [(); 4],
            2,
        )
        .unwrap_err();
        assert_eq!(failed.first.message, "zero");
        let kinds: Vec<_> = failed.failures.iter().map(|failure| failure.kind).collect();
        let peer = FailureKind::PeerFailed;
        assert_eq!(kinds, [FailureKind::Error, peer, peer, peer]);
    }

    #[test]
    fn a_worker_that_was_not_interrupted_failed_by_itself() {
        let aborted = std::sync::Barrier::new(2);
        let failed = run(
            |_: (), burst| match burst.worker_id() {
                0 => Err(Error::new("zero")),
                1 => {
                    let _pack = burst.my_pack();
                    aborted.wait();
                    Err::<u8, _>(Error::new("one"))
                }
                _ => {
                    let error = burst.recv::<u8>(0).unwrap_err();
                    aborted.wait();
                    Err(error.into())
                }
            },
            [(); 3],
            3,
        )
        .unwrap_err();
        let kinds: Vec<_> = failed.failures.iter().map(|failure| failure.kind).collect();
        let (own, peer) = (FailureKind::Error, FailureKind::PeerFailed);
        assert_eq!(kinds, [own, own, peer]);
    }
}
