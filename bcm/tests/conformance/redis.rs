//! What the Redis backends have beyond the suite: keys that expire and are deleted, connections
//! that break, and a server that can fail.

use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Error, FailureKind, Pack, PackConfig, cleanup, testing};

use crate::harness::{pattern, under_watchdog};
use crate::process::a_killed_pack_is_named_within_a_second;
use crate::proxy::Proxy;
use crate::redis_server::{PASSWORD, RedisServer};

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

fn config(kind: &str, server: &RedisServer) -> BackendConfig {
    BackendConfig::new(kind).with_uri(server.uri())
}

fn packs(backend: &BackendConfig, flare_id: &'static str, sizes: &[u32]) -> Vec<Pack> {
    let configure = |config: &mut PackConfig| config.flare_id = flare_id.to_owned();
    testing::packs(sizes, backend, configure).unwrap()
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

on_both! {
    fn every_key_is_the_flares_own_expires_and_is_deleted(kind) {
        let server = RedisServer::start();
        server.ask::<()>(&["SET", "burst:other:pack:0", "another flare's"]);
        let backend = config(kind, &server);
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f*1", &[1, 1, 1]);
            let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
            // Pack 2 is not connected any more, so that what is sent to it stays on the server.
            packs[2].close();
            workers[0].send(pattern(5000, 0, 2), 2).unwrap();
            workers[1].send(1u8, 2).unwrap();
            let _ = workers[0].broadcast(Some(pattern(50_000, 0, 0)), 0);

            // One of them is made by the pack that reads the broadcast.
        let begun = Instant::now();
        let mut keys = server.keys();
        while !keys.iter().any(|key| key.starts_with("burst:f*1:cast:0:"))
            && begun.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_millis(20));
            keys = server.keys();
        }
            let target = |key: &String| key == "burst:f*1:pack:2" || key == "burst:f*1:lane:2:0";
            assert!(keys.iter().any(target), "{keys:?}");
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

    fn a_flare_that_ended_well_leaves_nothing_but_what_cleanup_deletes(kind) {
        let server = RedisServer::start();
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
            // Every broadcast was read by both other packs, so the server holds none of them.
            let casts: Vec<_> = server
                .keys()
                .into_iter()
                .filter(|key| key.contains("cast:"))
                .collect();
            assert_eq!(casts, Vec::<String>::new());
            drop(packs);
            cleanup("f2", &backend).unwrap();
            assert_eq!(server.keys(), Vec::<String>::new());
        });
    }

    fn a_broadcast_is_stored_once(kind) {
        let server = RedisServer::start();
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

    fn a_server_that_dies_fails_the_flare_within_a_second(kind) {
        let mut server = RedisServer::start();
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f4", &[1, 1]);
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

    fn a_server_that_hangs_ends_a_send_at_its_deadline(kind) {
        let server = RedisServer::start();
        under_watchdog(move || {
            let configure =
                |config: &mut PackConfig| config.operation_timeout = Duration::from_millis(500);
            let packs = testing::packs(&[1, 1], &config(kind, &server), configure).unwrap();
            let worker = packs[0].communicators().remove(0);
            worker.send(1u8, 1).unwrap();
            server.signal("STOP");
            let begun = Instant::now();
            let result = worker.send(2u8, 1);
            assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
            assert!(
                begun.elapsed() < Duration::from_secs(2),
                "{:?}",
                begun.elapsed()
            );
            server.signal("CONT");
        });
    }

    fn a_full_server_is_an_error_that_says_so(kind) {
        let server = RedisServer::with(&["--maxmemory", "4mb", "--maxmemory-policy", "noeviction"]);
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

    fn wrong_credentials_are_an_error_that_does_not_show_them(kind) {
        let server = RedisServer::start();
        under_watchdog(move || {
            let uri = server.uri().replace(PASSWORD, "a-wrong-password");
            let backend = BackendConfig::new(kind).with_uri(uri);
            let error = testing::packs(&[1, 1], &backend, |_| {}).unwrap_err();
            assert!(error.to_string().contains("WRONGPASS"), "{error}");
            assert!(
                !format!("{error} {error:?}").contains("a-wrong-password"),
                "{error}"
            );
        });
    }

    fn frames_that_make_no_sense_fail_the_flare(kind) {
        let server = RedisServer::start();
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

    fn a_killed_pack_is_missed(kind) {
        let server = RedisServer::start();
        under_watchdog(move || {
            a_killed_pack_is_named_within_a_second(&config(kind, &server), "f9");
        });
    }

    fn a_server_that_comes_back_without_its_memory_fails_the_flare(kind) {
        let mut server = RedisServer::start();
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f10", &[1, 1]);
            let worker = packs[0].communicators().remove(0);
            // It waits in the server, and is lost with it.
            packs[1].communicators()[0].send(1u8, 0).unwrap();
            std::thread::scope(|scope| {
                let blocked = scope.spawn(|| {
                    worker.recv::<u8>(1)?;
                    worker.recv::<u8>(1)
                });
                std::thread::sleep(Duration::from_millis(300));
                let begun = Instant::now();
                server.restart();
                let error = blocked.join().unwrap().unwrap_err();
                assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
                let Error::Aborted(failure) = &error else {
                    panic!("expected an abort, not {error}");
                };
                assert_eq!(failure.kind, FailureKind::Backend);
            });
        });
    }

    fn a_server_that_pauses_holds_up_collectives_and_nothing_more(kind) {
        let server = RedisServer::start();
        under_watchdog(move || {
            let packs = packs(&config(kind, &server), "f11", &[2, 2]);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..3 {
                        std::thread::sleep(Duration::from_millis(150));
                        server.signal("STOP");
                        std::thread::sleep(Duration::from_millis(700));
                        server.signal("CONT");
                    }
                });
                let begun = Instant::now();
                let results = testing::run_on(&packs, |worker| {
                    loop {
                        let me = worker.worker_id();
                        let values = (0..4).map(|to| pattern(50_000, me, to)).collect();
                        for (from, value) in (0..4).zip(worker.all_to_all(values)?) {
                            assert!(value == pattern(50_000, from, me));
                        }
                        // All stop in the same round.
                        std::thread::sleep(Duration::from_millis(1));
                        if *worker.all_reduce(begun.elapsed().as_millis(), u128::max)? > 3000 {
                            return Ok(());
                        }
                    }
                });
                assert_eq!(results, vec![Ok(()); 4]);
            });
        });
    }

    fn a_sender_whose_connections_are_cut_sends_again(kind) {
        let server = RedisServer::start();
        under_watchdog(move || {
            let proxy = Proxy::to(server.port());
            let backend = BackendConfig::new(kind).with_uri(server.uri_at(proxy.port()));
            let packs = testing::packs(&[1, 1], &backend, |_| {}).unwrap();
            // What reads from a list must not be cut.
            let keep = proxy.accepted();
            let results = testing::run_on(&packs, |worker| {
                for round in 0..200u32 {
                    let size = 1 + (round as usize * 977) % 60_000;
                    if worker.worker_id() == 1 {
                        assert!(worker.recv::<Vec<u8>>(0)? == pattern(size, 0, round));
                        continue;
                    }
                    if round % 20 == 7 {
                        proxy.cut_all_but(keep);
                    }
                    worker.send(pattern(size, 0, round), 1)?;
                }
                Ok(())
            });
            assert_eq!(results, vec![Ok(()); 2]);
            assert!(proxy.accepted() > keep + 5, "it was not cut");
        });
    }
}

#[test]
fn streams_go_on_where_their_connection_was_cut() {
    let server = RedisServer::start();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        let backend = BackendConfig::new("redis-stream").with_uri(server.uri_at(proxy.port()));
        let packs = testing::packs(&[2, 1, 2], &backend, |config| {
            config.flare_id = "f13".to_owned();
            config.backend.chunk_size = 20_000;
        })
        .unwrap();
        let before = proxy.accepted();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(70));
                    proxy.cut();
                }
            });
            let results = testing::run_on(&packs, |worker| {
                let me = worker.worker_id();
                for round in 0..40 {
                    let values = (0..5).map(|to| pattern(60_000, me, to + round)).collect();
                    for (from, value) in (0..5).zip(worker.all_to_all(values)?) {
                        assert!(value == pattern(60_000, from, me + round));
                    }
                    let root = round % 5;
                    let value = (me == root).then(|| pattern(100_000, root, round));
                    assert!(*worker.broadcast(value, root)? == pattern(100_000, root, round));
                }
                Ok(())
            });
            done.store(true, std::sync::atomic::Ordering::SeqCst);
            assert_eq!(results, vec![Ok(()); 5]);
        });
        assert!(proxy.accepted() > before + 10, "it was not cut");
    });
}

#[test]
fn a_stream_server_that_remembers_is_as_if_it_had_not_restarted() {
    let mut server = RedisServer::with(&["--appendonly", "yes", "--appendfsync", "always"]);
    under_watchdog(move || {
        let packs = packs(&config("redis-stream", &server), "f14", &[1, 1]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                (0..400u32).all(|i| workers[1].recv::<(u32, Vec<u8>)>(0) == Ok((i, vec![1; 3000])))
            });
            for i in 0..400u32 {
                if i == 200 {
                    server.restart();
                }
                workers[0].send((i, vec![1u8; 3000]), 1).unwrap();
            }
            assert!(receiver.join().unwrap());
        });
    });
}

#[test]
fn a_list_whose_reader_is_cut_off_fails_the_flare_at_once() {
    let server = RedisServer::start();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        let backend = BackendConfig::new("redis-list").with_uri(server.uri_at(proxy.port()));
        let packs = packs(&backend, "f15", &[1, 1]);
        let worker = packs[0].communicators().remove(0);
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| worker.recv::<u8>(1));
            std::thread::sleep(Duration::from_millis(100));
            let cut = Instant::now();
            proxy.cut();
            let error = blocked.join().unwrap().unwrap_err();
            assert!(cut.elapsed() < Duration::from_secs(1));
            assert!(matches!(error, Error::Aborted(_)), "{error}");
        });
    });
}
