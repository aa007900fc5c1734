//! A pack in a process of its own, which a test can kill or stop.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use burst_bcm::{
    BackendConfig, Communicator, Error, FailureKind, Pack, PackConfig, PackId, Topology, testing,
};
use burst_test_processes::{TestProcess, told};
use rustix::process::Signal;

use crate::harness::{OPERATION_TIMEOUT, promised};

/// Longer than a backend tolerates a pack without any sign of life.
const SILENCE: Duration = Duration::from_millis(1200);

fn config(backend: &BackendConfig, flare_id: &str, pack: u32) -> PackConfig {
    let pack = PackId(pack);
    let mut config = PackConfig::new(flare_id, pack, Topology::new(&[1, 1, 1]).unwrap());
    config.backend = backend.clone();
    config.operation_timeout = OPERATION_TIMEOUT;
    config
}

/// Not a test: pack 2 of three. Its argument is the backend, the flare and the server's URI.
#[test]
#[ignore = "started by tests that end it"]
fn pack_in_a_process() {
    let told = told();
    let parts: Vec<&str> = told.splitn(3, ' ').collect();
    let backend = BackendConfig::new(parts[0]).with_uri(parts[2]);
    let pack = Pack::join(config(&backend, parts[1], 2)).unwrap();
    println!("joined");
    let mut go = String::new();
    std::io::stdin().read_line(&mut go).unwrap();
    pack.start(vec![]).unwrap();
    let worker = pack.communicators().remove(0);
    worker.barrier().unwrap();
    println!("running");
    let _ = worker.recv::<u8>(0);
}

/// Starts pack 2 in its process and the others here, with all workers past a barrier.
fn running(backend: &BackendConfig, flare_id: &str) -> (TestProcess, Vec<Pack>) {
    let uri = backend.uri.as_deref().unwrap();
    let told = format!("{} {flare_id} {uri}", backend.kind);
    let mut process = TestProcess::start("process::pack_in_a_process", told);
    process.said("joined");
    let packs: Vec<_> = (0..2)
        .map(|pack| Pack::join(config(backend, flare_id, pack)).unwrap())
        .collect();
    for pack in &packs {
        pack.start(vec![]).unwrap();
    }
    process.tell("go");
    let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
    std::thread::scope(|scope| {
        for worker in &workers {
            scope.spawn(|| worker.barrier().unwrap());
        }
    });
    process.said("running");
    // It is alive, so no pack counts as lost.
    std::thread::sleep(SILENCE);
    (process, packs)
}

/// Checks that a worker learns that pack 2 was lost, within this time.
fn learns_of_its_loss(worker: &Communicator, limit: Duration, since: &OnceLock<Instant>) {
    // One worker waits for the lost pack, the other one for a healthy pack.
    let error = worker.recv::<u8>(2 - worker.worker_id()).unwrap_err();
    let since = *since.wait();
    let Error::Aborted(failure) = error else {
        panic!("expected an abort, not {error}");
    };
    assert_eq!(
        (failure.kind, failure.pack),
        (FailureKind::PackLost, Some(PackId(2)))
    );
    promised(limit, since);
}

/// Kills a pack and checks that the workers of the others learn within a second which one, whether
/// they wait for it or for a healthy one.
pub fn a_killed_pack_is_named_within_a_second(backend: &BackendConfig, flare_id: &str) {
    let (mut process, packs) = running(backend, flare_id);
    let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
    let killed = OnceLock::<Instant>::new();
    std::thread::scope(|scope| {
        for worker in &workers {
            scope.spawn(|| learns_of_its_loss(worker, Duration::from_secs(1), &killed));
        }
        killed.set(Instant::now()).unwrap();
        process.kill();
    });
}

/// A pack that stands still for a while, as on a busy machine, is waited for; one that stands still
/// permanently is lost.
pub fn a_pack_that_stands_still_is_waited_for(
    backend: &BackendConfig,
    flare_id: &str,
    limit: Duration,
) {
    let (process, packs) = running(backend, flare_id);
    let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
    let id = i32::try_from(process.id()).unwrap();
    let signal = |signal| {
        rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), signal).unwrap();
    };
    signal(Signal::STOP);
    std::thread::sleep(2 * SILENCE);
    signal(Signal::CONT);
    workers[0].send(7u8, 1).unwrap();
    assert_eq!(workers[1].recv::<u8>(0), Ok(7));
    std::thread::sleep(SILENCE);
    let stopped = OnceLock::<Instant>::new();
    std::thread::scope(|scope| {
        for worker in &workers {
            scope.spawn(|| learns_of_its_loss(worker, limit, &stopped));
        }
        stopped.set(Instant::now()).unwrap();
        signal(Signal::STOP);
    });
}

/// Packs start one by one, each as slowly as it likes: none counts as lost before the start.
pub fn a_pack_that_joins_late_is_waited_for(backend: &BackendConfig) {
    let join = |pack| Pack::join(config(backend, "late", pack)).unwrap();
    let mut packs = vec![join(0), join(1)];
    std::thread::sleep(SILENCE);
    packs.push(join(2));
    for pack in &packs {
        pack.start(vec![]).unwrap();
    }
    let results = testing::run_on(&packs, |worker| worker.barrier());
    assert_eq!(results, vec![Ok(()); 3]);
}
