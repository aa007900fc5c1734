//! Tests for `s3` only: objects that are deleted, requests that are counted, and a service that can
//! fail.

use std::time::Duration;

use burst_bcm::{BackendConfig, Error, Pack, PackConfig, cleanup, testing};

use crate::harness::{OPERATION_TIMEOUT, eventually, pattern, under_watchdog};
use crate::proxy::Proxy;
use crate::second::{replaces_silent_connections, stays_connected};
use crate::server_faults::{
    LONG_PAUSE, a_server_that_dies_fails_the_flare, work_goes_on_while_connections_are_cut,
    wrong_credentials_are_refused,
};
use burst_test_servers::S3Server;
use burst_test_servers::s3::SECRET;

fn config(server: &S3Server) -> BackendConfig {
    BackendConfig::new("s3").with_uri(server.uri())
}

/// Runs a test of connections to the server, which a proxy holds and cuts.
fn behind_a_proxy(test: impl FnOnce(BackendConfig, &Proxy) + Send + 'static) {
    let server = S3Server::shared();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        test(
            BackendConfig::new("s3").with_uri(server.uri_at(proxy.port())),
            &proxy,
        );
    });
}

fn packs(backend: &BackendConfig, flare_id: &'static str, sizes: &[u32]) -> Vec<Pack> {
    let configure = |config: &mut PackConfig| config.flare_id = flare_id.to_owned();
    testing::packs(sizes, backend, configure).unwrap()
}

#[test]
fn objects_are_stored_under_their_flare_and_deleted() {
    let server = S3Server::shared();
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
        // The flare whose name begins like this one's is unchanged.
        assert_eq!(other[1].communicators()[0].recv::<u8>(0), Ok(1));
        drop(other);
        cleanup("o1-other", &config(server)).unwrap();
        assert_eq!(server.objects("some/where/burst/o1"), Vec::<String>::new());
    });
}

#[test]
fn an_object_for_one_pack_is_deleted_once_read() {
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
        eventually("they are still there", || {
            server.objects("some/where/burst/o2/data/").is_empty()
        });
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
        // Two chunks of 4 MiB: one object for each, and one that announces them.
        assert_eq!(puts(&|| workers[0].send(vec![1u8; 8 << 20], 1).unwrap()), 3);
        // More than 32 MiB are announced in two parts, the first before the rest is stored; if the
        // first announcement takes until the rest is stored, both are written together.
        let large = puts(&|| workers[0].send(vec![1u8; 36 << 20], 1).unwrap());
        assert!((10..=11).contains(&large), "{large}");
        let root = puts(&|| {
            workers[0].broadcast(Some(vec![1u8; 8 << 20]), 0).unwrap();
        });
        // Stored once, announced to both.
        assert_eq!(root, 4);
    });
}

#[test]
fn a_dead_service_is_noticed() {
    let mut server = S3Server::start();
    under_watchdog(move || {
        a_server_that_dies_fails_the_flare(&config(&server), SECRET, || server.kill());
    });
}

#[test]
fn a_goodbye_outlasts_a_pause() {
    behind_a_proxy(|backend, proxy| {
        let packs = testing::packs(&[1, 1], &backend, |config| {
            config.flare_id = "o6".to_owned();
            config.operation_timeout = OPERATION_TIMEOUT;
        });
        let mut packs = packs.unwrap();
        let leaving = packs.remove(0);
        proxy.hold();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(LONG_PAUSE);
                proxy.release();
            });
            drop(leaving);
        });
        let waited = packs[0].communicators()[0].recv::<u8>(0);
        assert!(matches!(waited, Err(Error::Departed { .. })), "{waited:?}");
    });
}

#[test]
fn requests_whose_connection_is_cut_are_repeated() {
    behind_a_proxy(|backend, proxy| work_goes_on_while_connections_are_cut(&backend, proxy));
}

#[test]
fn a_long_request_is_repeated_too() {
    behind_a_proxy(|backend, proxy| {
        let packs = packs(&backend, "o4", &[1, 1]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        workers[0].send(1u8, 1).unwrap();
        assert_eq!(workers[1].recv::<u8>(0), Ok(1));
        proxy.hold();
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| workers[0].send(pattern(100_000, 0, 1), 1));
            eventually("nothing is on its way", || proxy.holds());
            // Longer than a failing request is repeated, counted from its start.
            std::thread::sleep(Duration::from_millis(1500));
            proxy.cut();
            proxy.release();
            assert_eq!(sending.join().unwrap(), Ok(()));
        });
        assert!(workers[1].recv::<Vec<u8>>(0) == Ok(pattern(100_000, 0, 1)));
    });
}

#[test]
fn a_service_too_busy_to_accept_connections_is_waited_for() {
    behind_a_proxy(|backend, proxy| {
        proxy.hold();
        let crowd = proxy.crowd();
        std::thread::scope(|scope| {
            let packs = scope.spawn(|| packs(&backend, "o5", &[1, 1]));
            // Longer than it takes until a dropped packet is sent again.
            std::thread::sleep(Duration::from_millis(1100));
            proxy.release();
            let packs = packs.join().unwrap();
            packs[0].communicators()[0].send(1u8, 1).unwrap();
            assert_eq!(packs[1].communicators()[0].recv::<u8>(0), Ok(1));
        });
        drop(crowd);
    });
}

#[test]
fn wrong_credentials_are_reported_and_not_shown() {
    let wrong = "a-wrong-secret";
    let uri = S3Server::shared().uri().replace(SECRET, wrong);
    let backend = BackendConfig::new("s3").with_uri(uri);
    under_watchdog(move || wrong_credentials_are_refused(&backend, wrong, "SignatureDoesNotMatch"));
}

#[test]
fn packs_stay_connected_from_flare_to_flare() {
    behind_a_proxy(|backend, proxy| stays_connected(&backend, proxy));
}

#[test]
fn a_second_flare_replaces_connections_that_fell_silent() {
    behind_a_proxy(|backend, proxy| replaces_silent_connections(&backend, proxy));
}
