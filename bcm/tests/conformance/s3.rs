//! What only `s3` has: objects that are deleted, requests that are counted, and a service that can
//! fail.

use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Error, FailureKind, Pack, PackConfig, cleanup, testing};

use crate::harness::{pattern, under_watchdog};
use crate::proxy::Proxy;
use crate::s3_server::{S3Server, SECRET, shared};

fn config(server: &S3Server) -> BackendConfig {
    BackendConfig::new("s3").with_uri(server.uri())
}

fn packs(backend: &BackendConfig, flare_id: &'static str, sizes: &[u32]) -> Vec<Pack> {
    let configure = |config: &mut PackConfig| config.flare_id = flare_id.to_owned();
    testing::packs(sizes, backend, configure).unwrap()
}

#[test]
fn everything_is_under_the_flare_and_is_deleted() {
    let server = shared();
    under_watchdog(move || {
        let packs = packs(&config(server), "o1", &[1, 1, 1]);
        let other = self::packs(&config(server), "o1-other", &[1, 1]);
        let results = testing::run_on(&packs, |worker| {
            for root in 0..3 {
                let value = (worker.worker_id() == root).then(|| pattern(200_000, root, 0));
                worker.broadcast(value, root)?;
            }
            worker.all_to_all((0..3).map(|to| pattern(1000, 0, to)).collect())?;
            worker.barrier()
        });
        assert_eq!(results, vec![Ok(()); 3]);
        other[0].communicators()[0].send(1u8, 1).unwrap();
        assert!(!server.objects("some/where/burst/o1/data/").is_empty());
        drop(packs);
        cleanup("o1", &config(server)).unwrap();
        assert_eq!(server.objects("some/where/burst/o1/"), Vec::<String>::new());
        cleanup("o1", &config(server)).unwrap();
        // The flare whose name begins like this one's is as it was.
        assert_eq!(other[1].communicators()[0].recv::<u8>(0), Ok(1));
        drop(other);
        cleanup("o1-other", &config(server)).unwrap();
        assert_eq!(server.objects("some/where/burst/o1"), Vec::<String>::new());
    });
}

#[test]
fn what_one_pack_reads_is_deleted_when_it_has() {
    let server = S3Server::start();
    under_watchdog(move || {
        let packs = packs(&config(&server), "o2", &[1, 1]);
        let results = testing::run_on(&packs, |worker| {
            if worker.worker_id() == 0 {
                for i in 0..20 {
                    worker.send(pattern(100_000, 0, i), 1)?;
                }
                Ok(())
            } else {
                for i in 0..20 {
                    assert!(worker.recv::<Vec<u8>>(0)? == pattern(100_000, 0, i));
                }
                Ok(())
            }
        });
        assert_eq!(results, vec![Ok(()); 2]);
        let begun = Instant::now();
        while !server.objects("some/where/burst/o2/data/").is_empty() {
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "they are still there"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}

#[test]
fn requests_per_message_are_as_documented() {
    let server = S3Server::start();
    under_watchdog(move || {
        let packs = packs(&config(&server), "o3", &[1, 1, 1]);
        let put = || server.requests().get("PUT").copied().unwrap_or(0);
        let puts = |run: &dyn Fn()| {
            let before = put();
            run();
            put() - before
        };
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        assert_eq!(puts(&|| workers[0].send(vec![1u8; 1000], 1).unwrap()), 1);
        // Two chunks: one object for each, and what announces them.
        assert_eq!(puts(&|| workers[0].send(vec![1u8; 2 << 20], 1).unwrap()), 3);
        let root = puts(&|| {
            workers[0].broadcast(Some(vec![1u8; 2 << 20]), 0).unwrap();
        });
        // Stored once, announced to both.
        assert_eq!(root, 4);
    });
}

#[test]
fn a_service_that_dies_fails_the_flare_within_a_second() {
    let mut server = S3Server::start();
    under_watchdog(move || {
        let packs = packs(&config(&server), "o4", &[1, 1]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| {
                workers[0].recv::<u8>(1)?;
                workers[0].recv::<u8>(1)
            });
            workers[1].send(1u8, 0).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            server.kill();
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
            assert!(!error.to_string().contains(SECRET));
            // A send to a dead service is never a success.
            assert!(workers[0].send(1u8, 1).is_err());
            assert!(workers[1].send(1u8, 0).is_err());
        });
    });
}

#[test]
fn requests_whose_connection_is_cut_are_made_again() {
    let server = shared();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        let backend = BackendConfig::new("s3").with_uri(server.uri_at(proxy.port()));
        let packs = testing::packs(&[2, 1, 1], &backend, |_| {}).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(150));
                    proxy.cut();
                }
            });
            let results = testing::run_on(&packs, |worker| {
                let me = worker.worker_id();
                for round in 0..10 {
                    let values = (0..4).map(|to| pattern(90_000, me, to + round)).collect();
                    for (from, value) in (0..4).zip(worker.all_to_all(values)?) {
                        assert!(value == pattern(90_000, from, me + round));
                    }
                }
                Ok(())
            });
            done.store(true, std::sync::atomic::Ordering::SeqCst);
            assert_eq!(results, vec![Ok(()); 4]);
        });
    });
}

#[test]
fn wrong_credentials_are_an_error_that_does_not_show_them() {
    let server = shared();
    under_watchdog(move || {
        let uri = server.uri().replace(SECRET, "a-wrong-secret");
        let backend = BackendConfig::new("s3").with_uri(uri);
        let error = testing::packs(&[1, 1], &backend, |_| {}).unwrap_err();
        assert!(
            error.to_string().contains("SignatureDoesNotMatch"),
            "{error}"
        );
        assert!(
            !format!("{error} {error:?}").contains("a-wrong-secret"),
            "{error}"
        );
    });
}
