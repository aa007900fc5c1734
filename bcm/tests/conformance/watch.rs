//! How packs of `direct` learn that another one is lost or has left, whether they are connected to
//! it or not.

use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use burst_bcm::{
    BackendConfig, Communicator, Error, FailureKind, Pack, PackConfig, PackId, Topology,
};
use burst_test_processes::{TestProcess, told};

use crate::harness::{OPERATION_TIMEOUT, under_watchdog};

const PACKS: u32 = 4;
const MIDDLE: u32 = PACKS - 1;

fn join(pack: u32) -> Pack {
    let topology = Topology::new(&[1; PACKS as usize]).unwrap();
    let mut config = PackConfig::new("watch-test", PackId(pack), topology);
    config.backend = BackendConfig::new("direct");
    config.secret = "the flare's secret".into();
    config.operation_timeout = OPERATION_TIMEOUT;
    Pack::join(config).unwrap()
}

fn join_all() -> (Vec<Pack>, Vec<String>) {
    let packs: Vec<Pack> = (0..PACKS).map(join).collect();
    let endpoints = packs.iter().filter_map(Pack::endpoint).collect();
    (packs, endpoints)
}

fn worker(pack: &Pack) -> Communicator {
    pack.communicators().remove(0)
}

/// Not a test: a pack in a process of its own, which the tests below start and kill.
#[test]
#[ignore = "started by the other tests"]
fn pack_in_a_process() {
    let pack = join(told().parse().unwrap());
    println!("endpoint {}", pack.endpoint().unwrap());
    let mut endpoints = String::new();
    std::io::stdin().read_line(&mut endpoints).unwrap();
    pack.start(endpoints.split_whitespace().map(str::to_owned).collect())
        .unwrap();
    println!("running");
    let me = worker(&pack);
    let _ = me.recv::<u8>(me.worker_id());
}

/// Pack `dying` is killed after the packs `leaving` have left: all others learn of it long before
/// their operations time out, though none of them is connected to it except by the watch. (The
/// whole-system tests, which run undisturbed, check that it takes less than a second.)
fn a_killed_pack_is_noticed(dying: u32, leaving: &[u32]) {
    let leaving = leaving.to_vec();
    let mut process = TestProcess::start("watch::pack_in_a_process", dying);
    under_watchdog(move || {
        let mut packs: Vec<Pack> = (0..PACKS).filter(|&pack| pack != dying).map(join).collect();
        let mut endpoints: Vec<_> = packs.iter().filter_map(Pack::endpoint).collect();
        endpoints.insert(dying as usize, process.said("endpoint"));
        process.tell(&endpoints.join(" "));
        for pack in &packs {
            pack.start(endpoints.clone()).unwrap();
        }
        process.said("running");
        packs.retain(|pack| {
            let leaves = leaving.contains(&worker(pack).pack_id().0);
            if leaves {
                pack.close();
            }
            !leaves
        });
        let workers: Vec<Communicator> = packs.iter().map(worker).collect();
        let killed = OnceLock::new();
        std::thread::scope(|scope| {
            for worker in &workers {
                let killed: &OnceLock<Instant> = &killed;
                scope.spawn(move || {
                    // Each waits for itself, for a message that never arrives.
                    let error = worker.recv::<u8>(worker.worker_id()).unwrap_err();
                    assert!(killed.wait().elapsed() < OPERATION_TIMEOUT / 2);
                    let Error::Aborted(failure) = error else {
                        panic!("expected an abort, not {error}");
                    };
                    assert_eq!(
                        (failure.kind, failure.pack),
                        (FailureKind::PackLost, Some(PackId(dying)))
                    );
                });
            }
            killed.set(Instant::now()).unwrap();
            process.kill();
        });
    });
}

#[test]
fn a_pack_that_dies_is_noticed_by_all() {
    a_killed_pack_is_noticed(1, &[]);
}

#[test]
fn the_middle_that_dies_is_noticed_by_all() {
    a_killed_pack_is_noticed(MIDDLE, &[]);
}

#[test]
fn a_pack_that_dies_when_the_middle_has_left_is_noticed_by_all() {
    a_killed_pack_is_noticed(1, &[MIDDLE]);
}

#[test]
fn a_middle_that_succeeded_another_is_noticed_too() {
    a_killed_pack_is_noticed(MIDDLE - 1, &[MIDDLE, 0]);
}

#[test]
fn only_destinations_of_messages_are_dialled() {
    under_watchdog(|| {
        let (packs, mut endpoints) = join_all();
        // Nobody listens there.
        endpoints[1] = "127.0.0.1:1".to_owned();
        packs[0].start(endpoints.clone()).unwrap();
        packs[2].start(endpoints).unwrap();
        worker(&packs[0]).send(7u8, 2).unwrap();
        assert_eq!(worker(&packs[2]).recv::<u8>(0), Ok(7));
    });
}

#[test]
fn a_pack_that_cannot_be_reached_is_lost() {
    under_watchdog(|| {
        let (packs, endpoints) = join_all();
        packs[1].close();
        for pack in [0, 2, 3] {
            packs[pack].start(endpoints.clone()).unwrap();
        }
        // One pack learns it from the pack that notices, and tells the others.
        std::thread::scope(|scope| {
            for (pack, dest) in [(0, 1), (2, 2)] {
                let worker = worker(&packs[pack]);
                scope.spawn(move || {
                    let _ = worker.send(7u8, dest);
                    let error = worker.recv::<u8>(0).unwrap_err();
                    let lost = matches!(&error, Error::Aborted(failure)
                        if failure.kind == FailureKind::PackLost && failure.pack == Some(PackId(1)));
                    assert!(lost, "{error}");
                });
            }
        });
    });
}

#[test]
fn an_unreachable_pack_that_never_dials_is_lost_too() {
    under_watchdog(|| {
        let (packs, endpoints) = join_all();
        packs[1].close();
        for pack in [0, 2, 3] {
            packs[pack].start(endpoints.clone()).unwrap();
        }
        let error = worker(&packs[0]).recv::<u8>(2).unwrap_err();
        assert!(
            matches!(&error, Error::Aborted(failure) if failure.pack == Some(PackId(1))),
            "{error}"
        );
    });
}

#[test]
fn an_unreachable_middle_is_named_in_the_error() {
    under_watchdog(|| {
        let (packs, endpoints) = join_all();
        packs[MIDDLE as usize].close();
        let error = packs[0].start(endpoints.clone()).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Backend {
                    pack: Some(PackId(MIDDLE)),
                    ..
                }
            ),
            "{error}"
        );
        assert!(
            error.to_string().contains(&endpoints[MIDDLE as usize]),
            "{error}"
        );
        let error = packs[2].start(endpoints[..2].to_vec()).unwrap_err();
        assert!(
            matches!(error, Error::InvalidConfiguration { .. }),
            "{error}"
        );
    });
}

#[test]
fn a_late_pack_learns_which_packs_have_left() {
    under_watchdog(|| {
        let (packs, endpoints) = join_all();
        packs[0].start(endpoints.clone()).unwrap();
        packs[0].close();
        for pack in &packs[1..] {
            pack.start(endpoints.clone()).unwrap();
        }
        let late = worker(&packs[1]);
        assert!(matches!(late.recv::<u8>(0), Err(Error::Departed { .. })));
        assert!(matches!(late.send(7u8, 0), Err(Error::Departed { .. })));
        // Nobody took it for a loss.
        worker(&packs[2]).send(8u8, 1).unwrap();
        assert_eq!(late.recv::<u8>(2), Ok(8));
    });
}

#[test]
fn a_middle_that_ends_early_waits_for_packs_that_have_not_dialled_yet() {
    under_watchdog(|| {
        let (packs, endpoints) = join_all();
        let (closed, closing) = mpsc::channel();
        let middle = &packs[MIDDLE as usize];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                middle.start(endpoints.clone()).unwrap();
                middle.close();
                closed.send(()).unwrap();
            });
            let early = closing.recv_timeout(Duration::from_millis(100));
            assert!(early.is_err(), "it was gone before the others dialled");
            for pack in &packs[..MIDDLE as usize] {
                pack.start(endpoints.clone()).unwrap();
            }
            closing.recv().unwrap();
        });
        // The next pack has taken its place, and a failure still reaches everyone.
        let failure = burst_bcm::Failure::new(FailureKind::Cancelled, "enough");
        packs[0].abort(failure.clone());
        let told = worker(&packs[1]).recv::<u8>(2);
        assert_eq!(told, Err(Error::Aborted(failure)));
    });
}
