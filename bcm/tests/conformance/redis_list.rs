//! What only `redis-list` has: keys that expire and are deleted, and a server that can fail.

use std::process::Command;
use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Error, FailureKind, Pack, PackConfig, cleanup, testing};

use crate::harness::{pattern, under_watchdog};
use crate::redis_server::{PASSWORD, RedisServer};

fn config(server: &RedisServer) -> BackendConfig {
    BackendConfig::new("redis-list").with_uri(server.uri())
}

fn packs(server: &RedisServer, flare_id: &'static str, sizes: &[u32]) -> Vec<Pack> {
    let configure = |config: &mut PackConfig| config.flare_id = flare_id.to_owned();
    testing::packs(sizes, &config(server), configure).unwrap()
}

#[test]
fn every_key_is_the_flares_own_expires_and_is_deleted() {
    let server = RedisServer::start();
    server.ask::<()>(&["SET", "burst:other:pack:0", "another flare's"]);
    let backend = config(&server);
    under_watchdog(move || {
        let packs = packs(&server, "f*1", &[1, 1, 1]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        // Pack 2 is not connected any more, so that what is sent to it stays on the server.
        packs[2].close();
        workers[0].send(pattern(5000, 0, 2), 2).unwrap();
        workers[1].send(1u8, 2).unwrap();
        let _ = workers[0].broadcast(Some(pattern(50_000, 0, 0)), 0);

        let keys = server.keys();
        assert!(keys.iter().any(|key| key == "burst:f*1:pack:2"), "{keys:?}");
        assert!(
            keys.iter().any(|key| key.starts_with("burst:f*1:cast:0:")),
            "{keys:?}"
        );
        for key in keys.iter().filter(|key| *key != "burst:other:pack:0") {
            assert!(key.starts_with("burst:f*1:"), "{key}");
            let left: i64 = server.ask(&["TTL", key]);
            assert!(left > 0, "{key} never expires");
        }
        drop(packs);
        cleanup("f*1", &backend).unwrap();
        assert_eq!(server.keys(), ["burst:other:pack:0"]);
        cleanup("f*1", &backend).unwrap();
    });
}

#[test]
fn a_flare_that_ended_well_leaves_nothing_but_what_cleanup_deletes() {
    let server = RedisServer::start();
    let backend = config(&server);
    under_watchdog(move || {
        let packs = packs(&server, "f2", &[2, 2, 2]);
        let results = testing::run_on(&packs, |worker| {
            for root in 0..6 {
                let value = (worker.worker_id() == root).then(|| pattern(100_000, root, 0));
                worker.broadcast(value, root)?;
            }
            worker.barrier()
        });
        assert_eq!(results, vec![Ok(()); 6]);
        // Every broadcast was read by both other packs, so the server holds none of them.
        let casts: Vec<_> = server
            .keys()
            .into_iter()
            .filter(|key| key.contains("cast"))
            .collect();
        assert_eq!(casts, Vec::<String>::new());
        drop(packs);
        cleanup("f2", &backend).unwrap();
        assert_eq!(server.keys(), Vec::<String>::new());
    });
}

#[test]
fn a_broadcast_is_stored_once() {
    let server = RedisServer::start();
    under_watchdog(move || {
        let packs = packs(&server, "f3", &[1, 1, 1, 1]);
        let before: u64 = written(&server);
        let results = testing::run_on(&packs, |worker| {
            worker.broadcast((worker.worker_id() == 0).then(|| pattern(1 << 20, 0, 0)), 0)?;
            worker.barrier()
        });
        assert_eq!(results, vec![Ok(()); 4]);
        let bytes = written(&server) - before;
        assert!(
            bytes < (1 << 20) * 3 / 2,
            "{bytes} bytes were sent to the server"
        );
    });
}

/// Bytes clients have sent to the server.
fn written(server: &RedisServer) -> u64 {
    let info: String = server.ask(&["INFO", "stats"]);
    let field = "total_net_input_bytes:";
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_server_that_dies_fails_the_flare_within_a_second() {
    let mut server = RedisServer::start();
    under_watchdog(move || {
        let packs = packs(&server, "f4", &[1, 1]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| workers[0].recv::<u8>(1));
            workers[1].send(1u8, 0).unwrap();
            assert_eq!(blocked.join().unwrap(), Ok(1));

            let blocked = scope.spawn(|| workers[0].recv::<u8>(1));
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
            assert_eq!(
                (failure.kind, failure.pack),
                (FailureKind::Backend, Some(0))
            );
            assert!(!error.to_string().contains(PASSWORD));
            // A send to a dead server is never a success.
            assert!(workers[0].send(1u8, 1).is_err());
            assert!(workers[1].send(1u8, 0).is_err());
        });
    });
}

#[test]
fn a_server_that_hangs_ends_a_send_at_its_deadline() {
    let server = RedisServer::start();
    under_watchdog(move || {
        let configure =
            |config: &mut PackConfig| config.operation_timeout = Duration::from_millis(500);
        let packs = testing::packs(&[1, 1], &config(&server), configure).unwrap();
        let worker = packs[0].communicators().remove(0);
        worker.send(1u8, 1).unwrap();
        signal("STOP", &server);
        let begun = Instant::now();
        let result = worker.send(2u8, 1);
        assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
        assert!(
            begun.elapsed() < Duration::from_secs(2),
            "{:?}",
            begun.elapsed()
        );
        signal("CONT", &server);
    });
}

fn signal(name: &str, server: &RedisServer) {
    let process = server.process().to_string();
    assert!(
        Command::new("kill")
            .args(["-s", name, &process])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn a_full_server_is_an_error_that_says_so() {
    let server = RedisServer::with(&["--maxmemory", "4mb", "--maxmemory-policy", "noeviction"]);
    under_watchdog(move || {
        let packs = packs(&server, "f6", &[1, 1]);
        let worker = packs[0].communicators().remove(0);
        packs[1].close();
        let error = (0..20)
            .find_map(|_| worker.send(vec![0u8; 1 << 20], 1).err())
            .expect("20 MB do not fit");
        assert!(error.to_string().contains("OOM"), "{error}");
    });
}

#[test]
fn wrong_credentials_are_an_error_that_does_not_show_them() {
    let server = RedisServer::start();
    under_watchdog(move || {
        let uri = server.uri().replace(PASSWORD, "a-wrong-password");
        let backend = BackendConfig::new("redis-list").with_uri(uri);
        let error = testing::packs(&[1, 1], &backend, |_| {}).unwrap_err();
        assert!(error.to_string().contains("WRONGPASS"), "{error}");
        assert!(
            !format!("{error} {error:?}").contains("a-wrong-password"),
            "{error}"
        );
    });
}

#[test]
fn frames_that_make_no_sense_fail_the_flare() {
    let server = RedisServer::start();
    under_watchdog(move || {
        let packs = packs(&server, "f8", &[1, 1]);
        let worker = packs[0].communicators().remove(0);
        server.ask::<u32>(&["RPUSH", "burst:f8:pack:0", "not a frame"]);
        let Err(Error::Aborted(failure)) = worker.recv::<u8>(1) else {
            panic!("expected an abort");
        };
        assert_eq!(failure.kind, FailureKind::Backend);
        assert!(
            failure.message.contains("too few for a header"),
            "{failure}"
        );
    });
}
