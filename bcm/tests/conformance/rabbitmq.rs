//! What only `rabbitmq` has: queues that expire and are deleted, connections that break, and a
//! server that can fail.

use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Error, FailureKind, Pack, PackConfig, cleanup, testing};

use crate::harness::{pattern, under_watchdog};
use crate::process::a_killed_pack_is_named_within_a_second;
use crate::proxy::Proxy;
use crate::rabbitmq_server::{PASSWORD, RabbitServer, shared};

fn config(server: &RabbitServer) -> BackendConfig {
    BackendConfig::new("rabbitmq").with_uri(server.uri())
}

fn packs(backend: &BackendConfig, flare_id: &'static str, sizes: &[u32]) -> Vec<Pack> {
    let configure = |config: &mut PackConfig| config.flare_id = flare_id.to_owned();
    testing::packs(sizes, backend, configure).unwrap()
}

/// The flare's queues and exchanges.
fn left(server: &RabbitServer, flare_id: &str) -> Vec<String> {
    let mut all = server.ask(&["list_queues", "name", "arguments"]);
    all.extend(server.ask(&["list_exchanges", "name", "arguments"]));
    let prefix = format!("burst:{flare_id}:");
    all.retain(|line| line.starts_with(&prefix));
    all.sort();
    all
}

#[test]
fn everything_is_the_flares_own_expires_and_is_deleted() {
    let server = shared();
    under_watchdog(move || {
        let other = packs(&config(server), "q1-other", &[1, 1]);
        let packs = packs(&config(server), "q1", &[1, 1, 1]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        workers[0].send(pattern(5000, 0, 2), 2).unwrap();
        let all = left(server, "q1");
        let names: Vec<_> = all
            .iter()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(
            names,
            [
                "burst:q1:cast",
                "burst:q1:control:0",
                "burst:q1:control:1",
                "burst:q1:control:2",
                "burst:q1:pack:0",
                "burst:q1:pack:1",
                "burst:q1:pack:2",
                "burst:q1:register",
            ]
        );
        for line in all.iter().filter(|line| !line.contains(":cast")) {
            assert!(line.contains("x-expires"), "{line}");
        }
        // Packs that vanish leave their queues, which the clean-up must find.
        std::mem::forget(packs);
        cleanup("q1", &config(server)).unwrap();
        assert_eq!(left(server, "q1"), Vec::<String>::new());
        cleanup("q1", &config(server)).unwrap();
        assert_eq!(left(server, "q1-other").len(), 6);
        drop(other);
    });
}

#[test]
fn a_flare_that_ended_well_leaves_only_what_cleanup_deletes() {
    let server = shared();
    under_watchdog(move || {
        let packs = packs(&config(server), "q2", &[2, 2, 2]);
        let results = testing::run_on(&packs, |worker| {
            for root in 0..6 {
                let value = (worker.worker_id() == root).then(|| pattern(100_000, root, 0));
                worker.broadcast(value, root)?;
            }
            worker.barrier()
        });
        assert_eq!(results, vec![Ok(()); 6]);
        drop(packs);
        let names: Vec<_> = left(server, "q2");
        assert!(
            names.len() == 1 && names[0].starts_with("burst:q2:register"),
            "{names:?}"
        );
        cleanup("q2", &config(server)).unwrap();
        assert_eq!(left(server, "q2"), Vec::<String>::new());
    });
}

#[test]
fn a_killed_pack_is_missed() {
    under_watchdog(|| a_killed_pack_is_named_within_a_second(&config(shared()), "q3"));
}

#[test]
fn a_server_that_dies_fails_the_flare_within_a_second() {
    let server = RabbitServer::start("");
    under_watchdog(move || {
        let packs = packs(&config(&server), "q4", &[1, 1]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| {
                workers[0].recv::<u8>(1)?;
                workers[0].recv::<u8>(1)
            });
            workers[1].send(1u8, 0).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            server.signal("KILL");
            let killed = Instant::now();
            let error = blocked.join().unwrap().unwrap_err();
            assert!(
                killed.elapsed() < Duration::from_secs(1),
                "{:?}",
                killed.elapsed()
            );
            let Error::Aborted(failure) = &error else {
                panic!("expected an abort, not {error}");
            };
            assert_eq!(failure.kind, FailureKind::Backend);
            assert!(!error.to_string().contains(PASSWORD));
            // A send to a dead server is never a success.
            assert!(workers[0].send(1u8, 1).is_err());
            assert!(workers[1].send(1u8, 0).is_err());
        });
        let begun = Instant::now();
        drop(packs);
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
    });
}

#[test]
fn a_server_that_pauses_ends_a_send_at_its_deadline_or_goes_on() {
    let server = RabbitServer::start("");
    under_watchdog(move || {
        let configure =
            |config: &mut PackConfig| config.operation_timeout = Duration::from_millis(2500);
        let packs = testing::packs(&[1, 1], &config(&server), configure).unwrap();
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        workers[0].send(1u8, 1).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                server.signal("STOP");
                std::thread::sleep(Duration::from_millis(700));
                server.signal("CONT");
            });
            std::thread::sleep(Duration::from_millis(100));
            workers[0].send(2u8, 1).unwrap();
        });
        assert_eq!(workers[1].recv::<u8>(0), Ok(1));
        assert_eq!(workers[1].recv::<u8>(0), Ok(2));
        server.signal("STOP");
        let begun = Instant::now();
        let result = workers[0].send(3u8, 1);
        assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
        assert!(
            begun.elapsed() < Duration::from_secs(4),
            "{:?}",
            begun.elapsed()
        );
        server.signal("CONT");
    });
}

#[test]
fn a_full_server_is_an_error_that_says_so() {
    // It has no memory at all to give.
    let server = RabbitServer::start("vm_memory_high_watermark.absolute = 1MB");
    under_watchdog(move || {
        let begun = Instant::now();
        let error = testing::packs(&[1, 1], &config(&server), |_| {}).unwrap_err();
        assert!(error.to_string().contains("short of memory"), "{error}");
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{:?}",
            begun.elapsed()
        );
    });
}

#[test]
fn what_was_in_a_connection_that_is_cut_comes_again_and_once() {
    let server = shared();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        let backend = BackendConfig::new("rabbitmq").with_uri(server.uri_at(proxy.port()));
        let packs = testing::packs(&[2, 1, 1], &backend, |config| {
            config.backend.chunk_size = 20_000;
        })
        .unwrap();
        let before = proxy.accepted();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(900));
                    proxy.cut();
                }
            });
            let results = testing::run_on(&packs, |worker| {
                let me = worker.worker_id();
                for round in 0..40 {
                    let values = (0..4).map(|to| pattern(50_000, me, to + round)).collect();
                    for (from, value) in (0..4).zip(worker.all_to_all(values)?) {
                        assert!(value == pattern(50_000, from, me + round));
                    }
                    let root = round % 4;
                    let value = (me == root).then(|| pattern(90_000, root, round));
                    assert!(*worker.broadcast(value, root)? == pattern(90_000, root, round));
                }
                Ok(())
            });
            done.store(true, std::sync::atomic::Ordering::SeqCst);
            assert_eq!(results, vec![Ok(()); 4]);
        });
        assert!(proxy.accepted() > before, "it was not cut");
    });
}

#[test]
fn wrong_credentials_are_an_error_that_does_not_show_them() {
    let server = shared();
    under_watchdog(move || {
        let uri = server.uri().replace(PASSWORD, "a-wrong-password");
        let backend = BackendConfig::new("rabbitmq").with_uri(uri);
        let error = testing::packs(&[1, 1], &backend, |_| {}).unwrap_err();
        assert!(error.to_string().contains("ACCESS_REFUSED"), "{error}");
        assert!(
            !format!("{error} {error:?}").contains("a-wrong-password"),
            "{error}"
        );
    });
}

#[test]
fn a_chunk_larger_than_the_server_takes_is_cut_smaller() {
    let server = shared();
    under_watchdog(move || {
        let backend = config(server).with_chunk_size(1 << 30);
        let results = testing::run(&[1, 1], &backend, |worker| {
            if worker.worker_id() == 0 {
                worker.send(pattern(40 << 20, 0, 1), 1)
            } else {
                assert!(worker.recv::<Vec<u8>>(0)? == pattern(40 << 20, 0, 1));
                Ok(())
            }
        });
        assert_eq!(results, vec![Ok(()); 2]);
    });
}
