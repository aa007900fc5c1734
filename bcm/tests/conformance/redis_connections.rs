//! Connections to Redis: broken ones, those that a group keeps, and encrypted ones.

use std::time::{Duration, Instant};

use burst_bcm::{
    BackendConfig, CredentialRequest, Error, IssuedBackend, Pack, cleanup, issue_credentials,
    testing,
};

use crate::harness::{pattern, promised, under_watchdog};
use crate::proxy::Proxy;
use crate::redis::{config, exchange, on_both, packs};
use crate::second::replaces_silent_connections;
#[cfg(feature = "tls")]
use crate::server_faults::only_a_server_with_a_certificate_is_talked_to;
use crate::server_faults::work_goes_on_while_connections_are_cut;
use burst_test_servers::Redis;
#[cfg(feature = "tls")]
use burst_test_servers::certificate::Certificate;

on_both! {
    fn a_group_stays_connected_and_reaches_one_flare_at_a_time(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let (platform, proxy) = (config(kind, &server), Proxy::to(server.port()));
            let (mut kept, mut last, mut first) = (Vec::new(), None, 0);
            let flares = ["g-1", "g-2", "g-3", "g-4", "g-5"];
            for (number, flare_id) in (0..).zip(flares) {
                let secret = flare_id.into();
                let flare = CredentialRequest {
                    group: Some("g"),
                    last: last.as_ref(),
                    ..CredentialRequest::new(flare_id, &secret)
                };
                let issued = issue_credentials(&flare, &platform).unwrap();
                let own = issued.backend.clone();
                let same = |last: &IssuedBackend| last.backend == own;
                assert!(last.as_ref().is_none_or(same), "another user for {flare_id}");
                let direct = own.uri.clone().unwrap();
                let (from, to) = (server.port().to_string(), proxy.port().to_string());
                let proxied = own.clone().with_uri(direct.replace(&from, &to));
                let packs = testing::packs_over(kept, &[1, 1, 1], &proxied, |config| {
                    config.flare_id = flare_id.to_owned();
                });
                let packs = packs.unwrap();
                let results = testing::run_on(&packs, |worker| {
                    let me = worker.worker_id();
                    worker.all_to_all((0..3).map(|to| pattern(9000, me, to + number)).collect())?;
                    let value = (me == 1).then(|| pattern(90_000, 1, number));
                    assert!(*worker.broadcast(value, 1)? == pattern(90_000, 1, number));
                    // Nobody receives it.
                    worker.send(pattern(9000, me, number), (me + 1) % 3)?;
                    worker.barrier()
                });
                assert_eq!(results, vec![Ok(()); 3]);
                let mut connection = redis::Client::open(direct).unwrap().get_connection().unwrap();
                for other in flares {
                    let mine = redis::cmd("GET").arg(format!("burst:{other}:x")).exec(&mut connection);
                    assert_eq!(mine.is_ok(), other == flare_id, "{mine:?}");
                }
                kept = packs.iter().map(Pack::leave).collect();
                drop(packs);
                cleanup(flare_id, &platform).unwrap();
                let mut left = server.keys();
                // The group's flares are on record until the group ends.
                left.retain(|key| key != "burst.flares.g" && !key.ends_with(":late"));
                assert_eq!(left, Vec::<String>::new(), "after {flare_id}");
                // Its packs wait for the next flare, and code they left running may still write.
                let late = format!("burst:{flare_id}:late");
                redis::cmd("SET").arg(late).arg("for ever").exec(&mut connection).unwrap();
                last = Some(issued);
                if number == 0 {
                    first = proxy.accepted();
                }
            }
            // On a busy machine, a pack that did not come back in time has connected again.
            let again = proxy.accepted() - first;
            assert!(again < (flares.len() - 1) * first / 2, "{again} connections after {first}");
            assert_eq!(server.ask::<Vec<String>>(&["ACL", "USERS"]).len(), 2);
            drop(kept);
            cleanup("g", &platform).unwrap();
            assert_eq!(server.ask::<Vec<String>>(&["ACL", "USERS"]), ["default"]);
            assert_eq!(server.keys(), Vec::<String>::new());
        });
    }

    fn connections_closed_between_two_flares_are_replaced(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let backend = config(kind, &server);
            let first = packs(&backend, "c-1", &[1, 1, 1]);
            exchange(&first);
            let kept = first.iter().map(Pack::leave).collect();
            let killed: u32 = server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
            assert!(killed > 3, "{killed} connections were kept");
            exchange(&testing::packs_over(kept, &[1, 1, 1], &backend, |_| {}).unwrap());
        });
    }

    fn a_server_that_paused_between_two_flares_is_asked_again(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let proxy = Proxy::to(server.port());
            let backend = BackendConfig::new(kind).with_uri(server.uri_at(proxy.port()));
            let first = packs(&backend, "s-1", &[1, 1, 1]);
            exchange(&first);
            proxy.hold();
            let kept = first.iter().map(Pack::leave).collect();
            proxy.release();
            exchange(&testing::packs_over(kept, &[1, 1, 1], &backend, |_| {}).unwrap());
        });
    }

    fn a_second_flare_replaces_connections_that_fell_silent(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let proxy = Proxy::to(server.port());
            let backend = BackendConfig::new(kind).with_uri(server.uri_at(proxy.port()));
            replaces_silent_connections(&backend, &proxy);
        });
    }

    fn a_sender_whose_connections_are_cut_sends_again(kind) {
        let server = Redis::start();
        under_watchdog(move || {
            let proxy = Proxy::to(server.port());
            let backend = BackendConfig::new(kind).with_uri(server.uri_at(proxy.port()));
            let packs = testing::packs(&[1, 1], &backend, |_| {}).unwrap();
            // Connections that read from a list must not be cut.
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
    let server = Redis::start();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        let backend = BackendConfig::new("redis-stream").with_uri(server.uri_at(proxy.port()));
        work_goes_on_while_connections_are_cut(&backend.with_chunk_size(20_000), &proxy);
    });
}

#[test]
fn a_list_whose_reader_is_cut_off_fails_the_flare_immediately() {
    let server = Redis::start();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        let backend = BackendConfig::new("redis-list").with_uri(server.uri_at(proxy.port()));
        let packs = packs(&backend, "f15", &[1, 1]);
        let worker = packs[0].communicators().remove(0);
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| worker.recv::<u8>(1));
            proxy.cut();
            let cut = Instant::now();
            let error = blocked.join().unwrap().unwrap_err();
            promised(Duration::from_secs(1), cut);
            assert!(matches!(error, Error::Aborted(_)), "{error}");
        });
    });
}

#[cfg(feature = "tls")]
#[test]
fn connections_may_be_encrypted() {
    let certificate = Certificate::new();
    let port = burst_test_servers::port::free("127.0.0.1");
    let server = Redis::with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        &certificate.file().display().to_string(),
        "--tls-key-file",
        &certificate.key_file().display().to_string(),
    ]);
    under_watchdog(move || {
        let uri = server.uri_at(port).replace("redis://", "rediss://");
        let uri = uri.replace("127.0.0.1", "localhost");
        for kind in ["redis-list", "redis-stream"] {
            let backend = BackendConfig::new(kind).with_uri(&uri);
            only_a_server_with_a_certificate_is_talked_to(&backend, &certificate.pem);
        }
        // The flare's own user reaches the same server in the same way.
        let platform = BackendConfig::new("redis-list").with_uri(&uri);
        let platform = platform.with_ca(&certificate.pem);
        let own = issue_credentials(&CredentialRequest::new("own", &"secret".into()), &platform)
            .unwrap()
            .backend;
        assert!(own.uri.as_ref().unwrap().starts_with("rediss://burst."));
        let results = testing::run_on(&packs(&own, "own", &[1, 1]), |worker| worker.barrier());
        assert_eq!(results, vec![Ok(()); 2]);
    });
}
