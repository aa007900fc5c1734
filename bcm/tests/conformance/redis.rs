//! Tests for the Redis backends only: keys that expire and are deleted, and a server that can fail.

use std::time::{Duration, Instant};

use burst_bcm::{
    BackendConfig, CredentialRequest, Error, FailureKind, Pack, PackConfig, cleanup,
    issue_credentials, testing,
};

use crate::harness::{eventually, pattern, promised, under_watchdog};
use crate::process::{
    a_killed_pack_is_named_within_a_second, a_pack_that_joins_late_is_waited_for,
    a_pack_that_stands_still_is_waited_for,
};
use crate::proxy::Proxy;
use crate::server_faults::{
    a_pack_that_leaves_while_the_server_stands_still_is_not_lost,
    a_server_that_dies_fails_the_flare, a_server_that_stands_still_holds_up_who_asks,
    a_server_that_stands_still_holds_up_work, wrong_credentials_are_refused,
};
use burst_test_servers::redis::{PASSWORD, Redis};

/// Defines each test once per backend.
macro_rules! on_both {
    ($(fn $name:ident($kind:ident) $body:block)*) => {
        $(fn $name($kind: &'static str) $body)*
        mod list {
            $(#[test] fn $name() { super::$name("redis-list"); })*
        }
        mod stream {
            $(#[test] fn $name() { super::$name("redis-stream"); })*
        }
    };
}
pub(crate) use on_both;

pub fn config(kind: &str, server: &Redis) -> BackendConfig {
    BackendConfig::new(kind).with_uri(server.uri())
}

pub fn packs(backend: &BackendConfig, flare_id: &'static str, sizes: &[u32]) -> Vec<Pack> {
    let configure = |config: &mut PackConfig| config.flare_id = flare_id.to_owned();
    testing::packs(sizes, backend, configure).unwrap()
}

/// Every worker exchanges messages with every other.
pub fn exchange(packs: &[Pack]) {
    let results = testing::run_on(packs, |worker| {
        let me = worker.worker_id();
        worker.all_to_all((0..3).map(|to| pattern(9000, me, to)).collect())?;
        worker.broadcast((me == 1).then(|| pattern(90_000, 1, 0)), 1)?;
        worker.barrier()
    });
    assert_eq!(results, vec![Ok(()); 3]);
}

/// The number of bytes that clients have sent to the server.
fn written(server: &Redis) -> u64 {
    let info: String = server.ask(&["INFO", "stats"]);
    let field = "total_net_input_bytes:";
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .unwrap();
    line.trim().parse().unwrap()
}

on_both! {
    fn keys_belong_to_their_flare_expire_and_are_deleted(kind) {
        let server = Redis::start();
        server.ask::<()>(&["SET", "burst:other:pack:0", "another flare's"]);
        let backend = config(kind, &server);
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f*1", &[1, 1, 1]);
            let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
            // Pack 2 is disconnected, so that what is sent to it stays on the server.
            packs[2].close();
            workers[0].send(pattern(5000, 0, 2), 2).unwrap();
            workers[1].send(1u8, 2).unwrap();
            let _ = workers[0].broadcast(Some(pattern(50_000, 0, 0)), 0);

            // The pack that reads the broadcast creates one of them.
            eventually("no broadcast is there", || {
                let keys = server.keys();
                keys.iter().any(|key| key.starts_with("burst:f*1:cast:0:"))
            });
            let keys = server.keys();
            let target = |key: &String| key == "burst:f*1:pack:2" || key == "burst:f*1:lane:2:0";
            assert!(keys.iter().any(target), "{keys:?}");
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

    fn a_successful_flare_leaves_only_keys_that_cleanup_deletes(kind) {
        let server = Redis::start();
        let backend = config(kind, &server);
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f2", &[2, 2, 2]);
            let results = testing::run_on(&packs, |worker| {
                for root in 0..6 {
                    let value = (worker.worker_id() == root).then(|| pattern(100_000, root, 0));
                    worker.broadcast(value, root)?;
                }
                worker.barrier()
            });
            assert_eq!(results, vec![Ok(()); 6]);
            // Every broadcast was read by both other packs, the last of which deletes it.
            eventually("broadcasts stay on the server", || {
                !server.keys().iter().any(|key| key.contains("cast:"))
            });
            drop(packs);
            cleanup("f2", &backend).unwrap();
            assert_eq!(server.keys(), Vec::<String>::new());
        });
    }

    fn a_broadcast_is_stored_once(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f3", &[1, 1, 1, 1]);
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

    fn a_full_server_is_reported(kind) {
        let server = Redis::with(&["--maxmemory", "4mb", "--maxmemory-policy", "noeviction"]);
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f6", &[1, 1]);
            let worker = packs[0].communicators().remove(0);
            packs[1].close();
            let error = (0..20)
                .find_map(|_| worker.send(vec![0u8; 1 << 20], 1).err())
                .expect("20 MB do not fit");
            assert!(error.to_string().contains("OOM"), "{error}");
        });
    }

    fn invalid_frames_fail_the_flare(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f8", &[1, 1]);
            let worker = packs[0].communicators().remove(0);
            if kind == "redis-list" {
                server.ask::<u32>(&["RPUSH", "burst:f8:pack:0", "not a frame"]);
            } else {
                server.ask::<String>(&["XADD", "burst:f8:lane:0:1", "*", "f", "not a frame"]);
            }
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

    fn a_killed_pack_is_noticed(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            a_killed_pack_is_named_within_a_second(&config(kind, &server), "f9");
        });
    }

    fn a_pack_is_subscribed_from_joining_to_leaving(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let listening = |pack| {
                let channel = format!("burst:f24:here:{pack}");
                let (_, count): (String, u32) = server.ask(&["PUBSUB", "NUMSUB", &channel]);
                count
            };
            let joined = packs(&config(kind, &server), "f24", &[1, 1, 1]);
            assert_eq!([0, 1, 2].map(listening), [1; 3]);
            exchange(&joined);
            let kept: Vec<_> = joined.iter().map(Pack::leave).collect();
            // On a busy machine a connection may be cut instead.
            eventually("somebody listens still", || [0, 1, 2].map(listening) == [0; 3]);
            drop(kept);
        });
    }

    fn a_killed_pack_is_noticed_without_permission_to_subscribe(kind) {
        let server = Redis::start();
        server.ask::<()>(&[
            "ACL", "SETUSER", "deaf", "on", &format!(">{PASSWORD}"), "~*", "+@all", "-@pubsub",
        ]);
        let uri = server.uri().replace("redis://:", "redis://deaf:");
        under_watchdog(move || {
            let backend = config(kind, &server).with_uri(uri);
            exchange(&packs(&backend, "f20", &[1, 1, 1]));
            a_killed_pack_is_named_within_a_second(&backend, "f21");
        });
    }

    fn a_killed_pack_is_noticed_on_a_server_without_hello(kind) {
        let server = Redis::with(&["--rename-command", "HELLO", "OTHER"]);
        under_watchdog(move || {
            let backend = config(kind, &server);
            exchange(&packs(&backend, "f22", &[1, 1, 1]));
            a_killed_pack_is_named_within_a_second(&backend, "f23");
        });
    }

    fn a_slow_pack_is_not_taken_for_dead(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let secret = "secret".into();
            let own = issue_credentials(&CredentialRequest::new("f19", &secret), &config(kind, &server)).unwrap();
            let limit = Duration::from_secs(7);
            a_pack_that_stands_still_is_waited_for(&own.backend, "f19", limit);
        });
    }

    fn a_server_that_restarts_without_its_data_fails_the_flare(kind) {
        let mut server = Redis::start();
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f10", &[1, 1]);
            let worker = packs[0].communicators().remove(0);
            packs[1].communicators()[0].send(1u8, 0).unwrap();
            assert_eq!(worker.recv::<u8>(1), Ok(1));
            std::thread::scope(|scope| {
                let blocked = scope.spawn(|| worker.recv::<u8>(1));
                server.restart();
                let restarted = Instant::now();
                let error = blocked.join().unwrap().unwrap_err();
                promised(Duration::from_secs(1), restarted);
                let Error::Aborted(failure) = &error else {
                    panic!("expected an abort, not {error}");
                };
                assert_eq!(failure.kind, FailureKind::Backend);
            });
        });
    }

    fn a_late_pack_is_waited_for(kind) {
        let server = Redis::start();
        under_watchdog(move || a_pack_that_joins_late_is_waited_for(&config(kind, &server)));
    }

    fn a_dead_server_is_noticed(kind) {
        let mut server = Redis::start();
        under_watchdog(move || {
            a_server_that_dies_fails_the_flare(&config(kind, &server), PASSWORD, || server.kill());
        });
    }

    fn pauses_are_survived(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            a_server_that_stands_still_holds_up_work(&config(kind, &server), |signal| {
                server.signal(signal);
            });
        });
    }

    fn questions_outlast_a_pause(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            a_server_that_stands_still_holds_up_who_asks(&config(kind, &server), |signal| {
                server.signal(signal);
            });
        });
    }

    fn a_goodbye_outlasts_a_pause(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            a_pack_that_leaves_while_the_server_stands_still_is_not_lost(&config(kind, &server), |signal| {
                server.signal(signal);
            });
        });
    }

    fn a_flare_has_only_the_rights_it_needs(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let platform = config(kind, &server);
            let end = std::time::SystemTime::now() + Duration::from_secs(3600);
            let issue = |flare_id: &str| {
                let secret = flare_id.into();
                let flare = CredentialRequest { deadline: Some(end), ..CredentialRequest::new(flare_id, &secret) };
                issue_credentials(&flare, &platform).unwrap().backend
            };
            let (own, others) = (issue("own"), issue("others"));
            assert_eq!(own, issue("own"));

            let others = packs(&others, "others", &[1, 1]);
            others[0].communicators()[0].send(pattern(9000, 0, 1), 1).unwrap();
            let results = testing::run_on(&packs(&own, "own", &[2, 1, 1]), |worker| {
                let values = (0..4).map(|to| pattern(50_000, worker.worker_id(), to));
                worker.all_to_all(values.collect())?;
                worker.broadcast((worker.worker_id() == 2).then(|| pattern(90_000, 2, 0)), 2)?;
                worker.barrier()
            });
            assert_eq!(results, vec![Ok(()); 4]);

            let client = redis::Client::open(own.uri.as_deref().unwrap()).unwrap();
            let mut connection = client.get_connection().unwrap();
            for refused in [
                "GET burst:others:heartbeat:0", "BLPOP burst:others:pack:1 1", "DEL burst:others:heartbeat:0",
                "XREAD STREAMS burst:others:lane:1:0 0", "GET burst:ownother", "KEYS *", "SCAN 0",
                "RANDOMKEY", "FLUSHALL", "CONFIG GET *", "ACL LIST", "CLIENT LIST", "INFO",
                "EVAL return 0", "PUBLISH a b", "PUBLISH burst:others:here:0 b", "PUBSUB CHANNELS",
                "SUBSCRIBE burst:others:here:0", "PSUBSCRIBE *", "SHUTDOWN", "RENAME burst:own:a burst:others:a",
            ] {
                let mut words = refused.split(' ');
                let mut command = redis::cmd(words.next().unwrap());
                let answer = command.arg(words.collect::<Vec<_>>()).exec(&mut connection);
                let error = answer.unwrap_err().to_string();
                assert!(error.contains("NOPERM") || error.contains("permission"), "{refused}: {error}");
            }
            assert_eq!(others[1].communicators()[0].recv::<Vec<u8>>(0), Ok(pattern(9000, 0, 1)));

            cleanup("own", &platform).unwrap();
            assert!(client.get_connection().is_err());
            let users: Vec<String> = server.ask(&["ACL", "USERS"]);
            assert_eq!(users.len(), 2, "{users:?}");
            drop(others);
            cleanup("others", &platform).unwrap();
            assert_eq!(server.ask::<Vec<String>>(&["ACL", "USERS"]), ["default"]);
        });
    }

    fn wrong_credentials_are_reported_and_not_shown(kind) {
        let server = Redis::start();
        let wrong = "a-wrong-password";
        let backend = BackendConfig::new(kind).with_uri(server.uri().replace(PASSWORD, wrong));
        under_watchdog(move || {
            let _server = server;
            wrong_credentials_are_refused(&backend, wrong, "WRONGPASS");
        });
    }

}

#[test]
fn a_flare_survives_the_restart_of_a_persistent_stream_server() {
    let mut server = Redis::with(&["--appendonly", "yes", "--appendfsync", "always"]);
    under_watchdog(move || {
        // Until the server is up again, new connections wait here. Otherwise they would be refused,
        // for longer than a flare tolerates if the server starts slowly.
        let proxy = Proxy::to(server.port());
        let mut backend = BackendConfig::new("redis-stream").with_uri(server.uri_at(proxy.port()));
        backend.recovery = Some(Duration::from_secs(60));
        let packs = packs(&backend, "f14", &[1, 1]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                (0..400u32).all(|i| workers[1].recv::<(u32, Vec<u8>)>(0) == Ok((i, vec![1; 3000])))
            });
            for i in 0..400u32 {
                if i == 200 {
                    proxy.hold();
                    server.restart();
                    proxy.release();
                }
                workers[0].send((i, vec![1u8; 3000]), 1).unwrap();
            }
            assert!(receiver.join().unwrap());
        });
    });
}
