//! Backends to test on, and the watchdog that no test may outlive.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Communicator, Error, Pack, PackConfig, PackId, Topology, testing};

use burst_test_servers::{backend, wait};

/// Longer than any test takes unless it hangs, even on a busy machine: RabbitMQ's tool alone, which
/// some tests call six times, may then need 20 s.
pub const WATCHDOG: Duration = Duration::from_secs(600);

/// The timeout of operations in tests where something else ends those that wait in vain.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(120);

/// What a busy machine may add to a promised time. It is less than an operation's timeout, so that
/// a mere timeout does not pass for detection.
const BUSY: Duration = Duration::from_secs(40);

/// A backend that is ready to use.
pub struct Backend {
    pub config: BackendConfig,
    /// Whether each flare is the second one over the connections of its packs.
    second: bool,
}

/// Runs a test on a backend, under the watchdog: one of the library's list, with `_` for `-`, or a
/// variant.
pub fn on(name: &'static str, test: fn(&Backend)) {
    let kind = name.strip_suffix("_second");
    let second = kind.is_some();
    let mut config = BackendConfig::new(kind.unwrap_or(name).replace('_', "-"));
    if name == "direct_tcp" {
        // Packs in one process would use Unix sockets.
        config = BackendConfig::new("direct").with_uri("tcp:");
    }
    // Not owned by the test's thread, so that it ends even if that hangs.
    let server = backend::of(&config.kind).map(|server| (server.for_tests)());
    if let Some(server) = &server {
        config.uri = Some(server.uri());
    }
    under_watchdog(move || test(&Backend { config, second }));
}

/// Runs a test that fails instead of hanging.
pub fn under_watchdog(test: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let thread = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match finished.recv_timeout(WATCHDOG) {
        Ok(()) => thread.join().unwrap(),
        // The test panicked: pass its message on.
        Err(RecvTimeoutError::Disconnected) => {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        Err(RecvTimeoutError::Timeout) => panic!("the test hangs"),
    }
}

/// Fails if something that the product promises within a time has taken longer.
pub fn promised(limit: Duration, since: Instant) {
    let took = since.elapsed();
    assert!(took < limit + BUSY, "promised in {limit:?}, took {took:?}");
}

/// Waits for something that happens soon and blocks nobody, such as the clean-up after a message.
pub fn eventually(what: &str, happened: impl Fn() -> bool) {
    within(WATCHDOG / 2, what, happened);
}

/// Like [`eventually`], for something that would happen anyway after a longer time.
pub fn within(limit: Duration, what: &str, happened: impl Fn() -> bool) {
    wait::until(what, limit, || happened().then_some(()));
}

impl Backend {
    /// Runs workers and expects all of them to succeed.
    pub fn run<R: Send>(
        &self,
        pack_sizes: &[u32],
        function: impl Fn(&Communicator) -> Result<R, Error> + Sync,
    ) -> Vec<R> {
        self.run_with(pack_sizes, |_| {}, function)
            .into_iter()
            .map(|result| result.unwrap_or_else(|error| panic!("{error}")))
            .collect()
    }

    pub fn run_with<R: Send>(
        &self,
        pack_sizes: &[u32],
        configure: impl Fn(&mut PackConfig),
        function: impl Fn(&Communicator) -> Result<R, Error> + Sync,
    ) -> Vec<Result<R, Error>> {
        testing::run_on(&self.packs_with(pack_sizes, configure), function)
    }

    /// The packs of a flare that has started.
    pub fn packs(&self, pack_sizes: &[u32]) -> Vec<Pack> {
        self.packs_with(pack_sizes, |_| {})
    }

    fn packs_with(&self, pack_sizes: &[u32], configure: impl Fn(&mut PackConfig)) -> Vec<Pack> {
        self.try_packs(pack_sizes, configure).unwrap()
    }

    /// Like `packs`, for packs that may start too late.
    pub fn try_packs(
        &self,
        pack_sizes: &[u32],
        configure: impl Fn(&mut PackConfig),
    ) -> Result<Vec<Pack>, Error> {
        let mut kept = Vec::new();
        if self.second {
            let first = testing::packs(pack_sizes, &self.config, |_| {}).unwrap();
            for result in testing::run_on(&first, leave_things_behind) {
                result.unwrap();
            }
            kept = first.iter().map(Pack::leave).collect();
        }
        testing::packs_over(kept, pack_sizes, &self.config, configure)
    }

    pub fn chunked(&self, bytes: usize) -> impl Fn(&mut PackConfig) + '_ {
        move |config| config.backend.chunk_size = Some(bytes)
    }
}

/// Packs of one worker each of a flare that has started, each with its own credentials.
pub fn packs_with(flare_id: &str, backends: &[BackendConfig]) -> Vec<Pack> {
    let topology = Topology::new(&vec![1; backends.len()]).unwrap();
    let join = |(pack, backend): (u32, &BackendConfig)| {
        let mut config = PackConfig::new(flare_id, PackId(pack), topology.clone());
        config.backend = backend.clone();
        config.secret = flare_id.into();
        config.operation_timeout = OPERATION_TIMEOUT;
        Pack::join(config).unwrap()
    };
    let packs: Vec<_> = (0..).zip(backends).map(join).collect();
    for pack in &packs {
        pack.start(vec![]).unwrap();
    }
    packs
}

/// A flare that opens every connection, and sends messages that nobody receives.
fn leave_things_behind(worker: &Communicator) -> Result<(), Error> {
    let me = worker.worker_id();
    let all = 0..worker.burst_size();
    worker.all_to_all(all.clone().map(|to| pattern(3000, me, to)).collect())?;
    for to in all.filter(|&to| to != me) {
        worker.send("stale".to_owned(), to)?;
    }
    Ok(())
}

/// Pack sizes that show most of what can differ: one pack, one worker per pack, uneven packs.
pub const SHAPES: &[&[u32]] = &[&[1], &[5], &[1, 1], &[1, 1, 1], &[3, 2], &[2, 1, 4]];

/// A value of `len` bytes that is unique to a pair of workers, differs at every place and is
/// quickly made: a repeated kilobyte, with the number of the repetition at its beginning.
pub fn pattern(len: usize, from: u32, to: u32) -> Vec<u8> {
    let seed = from.wrapping_mul(31).wrapping_add(to.wrapping_mul(17)) as usize;
    let piece: [u8; 1024] = std::array::from_fn(|i| ((i * 7) ^ (i >> 8) ^ seed) as u8);
    let mut bytes = Vec::with_capacity(len + piece.len());
    while bytes.len() < len {
        let number = (bytes.len() / piece.len()) as u32;
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&piece[4..]);
    }
    bytes.truncate(len);
    bytes
}
