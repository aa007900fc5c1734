//! Tests for `rabbitmq` only: queues that expire and are deleted, connections that break, and a
//! server that can fail.

use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Pack, PackConfig, testing};

use crate::harness::{pattern, promised, under_watchdog, within};
use crate::process::{
    a_killed_pack_is_named_within_a_second, a_pack_that_joins_late_is_waited_for,
};
use crate::proxy::Proxy;
use crate::second::{replaces_silent_connections, stays_connected};
#[cfg(feature = "tls")]
use crate::server_faults::only_a_server_with_a_certificate_is_talked_to;
use crate::server_faults::{
    a_pack_that_leaves_while_the_server_stands_still_is_not_lost,
    a_server_that_dies_fails_the_flare, a_server_that_stands_still_holds_up_work,
    work_goes_on_while_connections_are_cut, wrong_credentials_are_refused,
};
use burst_test_servers::rabbitmq::PASSWORD;
use burst_test_servers::{RabbitMq, Signal};

fn config(server: &RabbitMq) -> BackendConfig {
    // Its flares have no users of their own.
    BackendConfig::new("rabbitmq")
        .with_uri(server.uri())
        .with_shared_credentials()
}

/// Runs a test of connections to the server, which a proxy holds and cuts.
fn behind_a_proxy(test: impl FnOnce(BackendConfig, &Proxy) + Send + 'static) {
    let server = RabbitMq::shared();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        test(
            BackendConfig::new("rabbitmq").with_uri(server.uri_at(proxy.port())),
            &proxy,
        );
    });
}

fn packs(backend: &BackendConfig, flare_id: &'static str, sizes: &[u32]) -> Vec<Pack> {
    let configure = |config: &mut PackConfig| config.flare_id = flare_id.to_owned();
    testing::packs(sizes, backend, configure).unwrap()
}

/// The flare's queues, and everything else named after it.
fn left(server: &RabbitMq, flare_id: &str) -> Vec<String> {
    let mut all = server.ask(&["list_queues", "name", "arguments"]);
    all.extend(server.ask(&["list_exchanges", "name", "arguments"]));
    let prefix = format!("burst:{flare_id}:");
    all.retain(|line| line.starts_with(&prefix));
    all.sort();
    all
}

/// Half the time after which the server deletes queues that nobody reads.
const BEFORE_THE_SERVER: Duration = Duration::from_secs(30);

#[test]
fn queues_belong_to_their_flare_expire_and_are_deleted() {
    let server = RabbitMq::shared();
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
                "burst:q1:control:0",
                "burst:q1:control:1",
                "burst:q1:control:2",
                "burst:q1:pack:0",
                "burst:q1:pack:1",
                "burst:q1:pack:2",
            ]
        );
        // The server deletes the queues of a pack that vanishes.
        for line in &all {
            assert!(line.contains("x-expires"), "{line}");
        }
        drop(packs);
        within(BEFORE_THE_SERVER, "its queues are left", || {
            left(server, "q1").is_empty()
        });
        assert_eq!(left(server, "q1-other").len(), 4);
        drop(other);
    });
}

#[test]
fn a_successful_flare_leaves_nothing() {
    let server = RabbitMq::shared();
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
        within(BEFORE_THE_SERVER, "its queues are left", || {
            left(server, "q2").is_empty()
        });
    });
}

#[test]
fn a_killed_pack_is_noticed() {
    under_watchdog(|| a_killed_pack_is_named_within_a_second(&config(RabbitMq::shared()), "q3"));
}

#[test]
fn a_late_pack_is_waited_for() {
    under_watchdog(|| a_pack_that_joins_late_is_waited_for(&config(RabbitMq::shared())));
}

#[test]
fn a_dead_server_is_noticed() {
    let server = RabbitMq::start("");
    under_watchdog(move || {
        a_server_that_dies_fails_the_flare(&config(&server), PASSWORD, || {
            server.signal(Signal::KILL)
        });
    });
}

#[test]
fn pauses_are_survived() {
    let server = RabbitMq::start("");
    under_watchdog(move || {
        a_server_that_stands_still_holds_up_work(&config(&server), |signal| server.signal(signal));
    });
}

#[test]
fn a_goodbye_outlasts_a_pause() {
    let server = RabbitMq::start("");
    under_watchdog(move || {
        a_pack_that_leaves_while_the_server_stands_still_is_not_lost(&config(&server), |signal| {
            server.signal(signal);
        });
    });
}

#[test]
fn messages_in_a_cut_connection_arrive_once() {
    behind_a_proxy(|backend, proxy| {
        work_goes_on_while_connections_are_cut(&backend.with_chunk_size(20_000), proxy);
    });
}

#[cfg(feature = "tls")]
#[test]
fn connections_may_be_encrypted() {
    let certificate = burst_test_servers::certificate::Certificate::new();
    let port = burst_test_servers::port::free("127.0.0.1");
    let server = RabbitMq::start(&format!(
        "listeners.ssl.default = 127.0.0.1:{port}\n\
         ssl_options.certfile = {}\n\
         ssl_options.keyfile = {}\n\
         ssl_options.verify = verify_none",
        certificate.file().display(),
        certificate.key_file().display(),
    ));
    let uri = server.uri_at(port).replace("amqp://", "amqps://");
    let backend = BackendConfig::new("rabbitmq").with_uri(uri.replace("127.0.0.1", "localhost"));
    under_watchdog(move || {
        let _server = server;
        only_a_server_with_a_certificate_is_talked_to(&backend, &certificate.pem);
    });
}

#[test]
fn wrong_credentials_are_reported_and_not_shown() {
    let wrong = "a-wrong-password";
    let uri = RabbitMq::shared().uri().replace(PASSWORD, wrong);
    let backend = BackendConfig::new("rabbitmq").with_uri(uri);
    under_watchdog(move || wrong_credentials_are_refused(&backend, wrong, "ACCESS_REFUSED"));
}

#[test]
fn a_full_server_is_reported() {
    // The server has no memory for messages at all.
    let server = RabbitMq::start("vm_memory_high_watermark.absolute = 1MB");
    under_watchdog(move || {
        let packs = testing::packs(&[1, 1], &config(&server), |_| {}).unwrap();
        let begun = Instant::now();
        let results = testing::run_on(&packs, |worker| worker.send(1u8, 1 - worker.worker_id()));
        for result in results {
            let error = result.unwrap_err();
            assert!(error.to_string().contains("short of memory"), "{error}");
        }
        promised(Duration::from_secs(10), begun);
    });
}

#[test]
fn chunks_are_cut_to_the_servers_limit() {
    let server = RabbitMq::shared();
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

#[test]
fn packs_stay_connected_from_flare_to_flare() {
    behind_a_proxy(|backend, proxy| stays_connected(&backend, proxy));
}

#[test]
fn a_second_flare_replaces_connections_that_fell_silent() {
    behind_a_proxy(|backend, proxy| replaces_silent_connections(&backend, proxy));
}
