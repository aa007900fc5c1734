//! Redis servers that lose data, under flares with users of their own: a server drops keys,
//! restarts, or fails over.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Error, FailureKind, Pack, PackId, cleanup, testing};

use crate::harness::{WATCHDOG, eventually, pattern, promised, under_watchdog};
use crate::proxy::Proxy;
use crate::redis_tenants::{KINDS, exchange, fails, issue, packs};
use burst_test_servers::Redis;

/// During a flare no pack checks whether the server has begun to drop messages; then some never
/// arrive.
#[test]
fn a_server_that_drops_messages_causes_no_wrong_results() {
    const LIMIT: Duration = Duration::from_secs(3);
    for kind in KINDS {
        let server = Redis::start();
        under_watchdog(move || {
            let platform = BackendConfig::new(kind).with_uri(server.uri());
            let own = issue(&platform, "e1").unwrap();
            let packs = testing::packs(&[1, 1, 1], &own, |config| {
                config.flare_id = "e1".to_owned();
                config.operation_timeout = LIMIT;
            });
            let packs = packs.unwrap();
            server.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]);
            server.ask::<()>(&["CONFIG", "SET", "maxmemory", "2mb"]);
            for result in exchange(&packs, 200) {
                match result {
                    Ok(())
                    | Err(Error::Aborted(_) | Error::Backend { .. } | Error::Timeout { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            drop(packs);
            server.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
            server.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
            cleanup("e1", &platform).unwrap();
            let next = self::packs(&issue(&platform, "e2").unwrap(), "e2", &[1, 1, 1]);
            assert_eq!(exchange(&next, 3), vec![Ok(()); 3]);
        });
    }
}

/// A restarted server does not know the flare's user.
#[test]
fn a_restarted_server_fails_its_flares_and_serves_the_next() {
    for kind in KINDS {
        let mut server = Redis::with(&["--appendonly", "yes", "--appendfsync", "always"]);
        under_watchdog(move || {
            let proxy = Proxy::to(server.port());
            let platform = BackendConfig::new(kind).with_uri(server.uri_at(proxy.port()));
            let mut patient = issue(&platform, "r1").unwrap();
            // A server may take long to start.
            patient.recovery = Some(Duration::from_secs(60));
            let running = packs(&patient, "r1", &[1, 1, 1]);
            let blocked = running[0].communicators().remove(0);
            std::thread::scope(|scope| {
                let blocked = scope.spawn(move || blocked.recv::<u8>(1));
                proxy.hold();
                server.restart();
                proxy.release();
                proxy.cut();
                let restarted = Instant::now();
                let error = blocked.join().unwrap().unwrap_err();
                promised(Duration::from_secs(1), restarted);
                let Error::Aborted(failure) = &error else {
                    panic!("expected an abort, not {error}");
                };
                assert_eq!(failure.kind, FailureKind::Backend, "{failure}");
                if kind == "redis-stream" {
                    assert!(failure.message.contains("restarted"), "{failure}");
                }
            });
            drop(running);
            cleanup("r1", &platform).unwrap();
            let next = packs(&issue(&platform, "r2").unwrap(), "r2", &[1, 1, 1]);
            assert_eq!(exchange(&next, 3), vec![Ok(()); 3]);
        });
    }
}

/// The platform's requests for a flare succeed while the server is just restarting.
#[test]
fn a_restarting_server_admits_flares_and_cleans_up() {
    for kind in KINDS {
        let mut server = Redis::with(&["--appendonly", "yes", "--appendfsync", "always"]);
        under_watchdog(move || {
            let proxy = Proxy::to(server.port());
            let mut platform = BackendConfig::new(kind).with_uri(server.uri_at(proxy.port()));
            platform.recovery = Some(WATCHDOG);
            let mut while_it_is_away = |ask: &(dyn Fn() + Sync)| {
                server.kill();
                let known = proxy.accepted();
                std::thread::scope(|scope| {
                    let asked = scope.spawn(ask);
                    eventually("nobody has tried twice", || proxy.accepted() > known + 1);
                    server.restart();
                    asked.join().unwrap();
                });
                (server.keys(), server.users().len())
            };
            let own = Mutex::new(None);
            let issue_own = || *own.lock().unwrap() = Some(issue(&platform, "c1").unwrap());
            let (_, users) = while_it_is_away(&issue_own);
            assert_eq!(users, 2);
            let own = own.into_inner().unwrap().unwrap();
            let running = packs(&own, "c1", &[1, 1, 1]);
            assert_eq!(exchange(&running, 3), vec![Ok(()); 3]);
            drop(running);
            let left = while_it_is_away(&|| cleanup("c1", &platform).unwrap());
            assert_eq!(left, (Vec::new(), 1));
        });
    }
}

/// A replica takes over, with or without the latest data; users are never copied.
#[test]
fn a_failover_fails_its_flares_and_serves_the_next() {
    for kind in KINDS {
        let mut master = Redis::start();
        let replica = Redis::replica_of(&master);
        under_watchdog(move || {
            let proxy = Proxy::to(master.port());
            let platform = BackendConfig::new(kind).with_uri(master.uri_at(proxy.port()));
            let running = packs(&issue(&platform, "o1").unwrap(), "o1", &[1, 1, 1]);
            let neighbours = packs(&issue(&platform, "o2").unwrap(), "o2", &[1, 1]);
            for (flare, all) in [(&running, 3), (&neighbours, 2)] {
                assert_eq!(exchange(flare, 3), vec![Ok(()); all]);
            }
            replica.ask::<()>(&["REPLICAOF", "NO", "ONE"]);
            running[0].communicators()[0].send(1u8, 1).unwrap();
            proxy.redirect(replica.port());
            master.kill();
            for flare in [&running, &neighbours] {
                fails(flare, Duration::from_secs(1));
            }
            drop((running, neighbours));
            cleanup("o1", &platform).unwrap();
            cleanup("o2", &platform).unwrap();
            let next = packs(&issue(&platform, "o3").unwrap(), "o3", &[1, 1, 1]);
            assert_eq!(exchange(&next, 3), vec![Ok(()); 3]);
            drop(next);
            cleanup("o3", &platform).unwrap();
            assert_eq!(replica.keys(), Vec::<String>::new());
        });
    }
}

/// Data that has not reached the replica is lost, and that is noticed: no worker waits for it.
#[test]
fn messages_lost_in_a_failover_are_noticed() {
    let mut master = Redis::start();
    let replica = Redis::replica_of(&master);
    under_watchdog(move || {
        let (sending, receiving) = (Proxy::to(master.port()), Proxy::to(master.port()));
        let packs = testing::packs(&[1, 1], &BackendConfig::new("redis-stream"), |config| {
            let proxy = if config.pack == PackId(0) {
                &sending
            } else {
                &receiving
            };
            config.backend.uri = Some(master.uri_at(proxy.port()));
        });
        let packs = packs.unwrap();
        assert_eq!(exchange(&packs, 3), vec![Ok(()); 2]);
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        // The replica has every heartbeat so far, and the message is confirmed to its sender.
        receiving.hold();
        replica.ask::<()>(&["REPLICAOF", "NO", "ONE"]);
        workers[0].send(pattern(9000, 0, 1), 1).unwrap();
        for proxy in [&sending, &receiving] {
            proxy.redirect(replica.port());
        }
        master.kill();
        // Together with what it held.
        receiving.cut();
        receiving.release();
        let begun = Instant::now();
        let error = match workers[1].recv::<Vec<u8>>(0) {
            Ok(_) => panic!("it was not lost"),
            Err(error) => error,
        };
        promised(Duration::from_secs(1), begun);
        assert!(
            error.to_string().contains("lost the flare's messages"),
            "{error}"
        );
    });
}
