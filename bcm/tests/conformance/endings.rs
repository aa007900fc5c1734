//! Concurrent flares on one server, each with a different end: none ever sees another's messages,
//! and nothing is left of any.

use std::time::{Duration, SystemTime};

use burst_bcm::{
    BackendConfig, Communicator, CredentialRequest, Error, Failure, FailureKind, IssuedBackend,
    Pack, cleanup, issue_credentials, testing,
};

use crate::harness::{WATCHDOG, eventually, pattern, under_watchdog};
use burst_test_servers::Redis;

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Well,
    Error,
    Panic,
    Cancelled,
    TimedOut,
}

const ENDS: [End; 5] = [
    End::Well,
    End::Error,
    End::Panic,
    End::Cancelled,
    End::TimedOut,
];

/// `left` returns what a flare has left on the server.
fn all_at_once(backend: BackendConfig, left: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) {
    under_watchdog(move || {
        let (backend, left) = (&backend, &left);
        let flares: Vec<_> = (0..)
            .zip(ENDS)
            .map(|(number, end)| join(backend, number, end))
            .collect();
        std::thread::scope(|scope| {
            for ((number, end), (flare_id, own, packs)) in (0..).zip(ENDS).zip(flares) {
                scope.spawn(move || {
                    run(&packs, number, end);
                    drop((packs, own));
                    cleanup(&flare_id, backend).unwrap();
                    eventually("something is left", || left(&flare_id).is_empty());
                });
            }
        });
    });
}

/// Joins with a user of the flare's own, if the backend has any.
fn join(platform: &BackendConfig, number: u32, end: End) -> (String, IssuedBackend, Vec<Pack>) {
    let flare_id = format!("ends-{}-{number}", std::process::id());
    let secret = flare_id.as_str().into();
    let flare = CredentialRequest {
        packs: Some(3),
        deadline: Some(SystemTime::now() + WATCHDOG),
        ..CredentialRequest::new(&flare_id, &secret)
    };
    let own = issue_credentials(&flare, platform).unwrap();
    let packs = testing::packs(&[2, 1, 2], &own.backend, |config| {
        config.flare_id.clone_from(&flare_id);
        if end == End::TimedOut {
            config.operation_timeout = Duration::from_secs(3);
        }
    });
    (flare_id, own, packs.unwrap())
}

fn run(packs: &[Pack], number: u32, end: End) {
    let results = testing::run_on(packs, |worker| {
        (0..10).try_for_each(|round| exchange(worker, number, round))?;
        let me = worker.worker_id();
        match (end, me) {
            (End::Well, _) => return Ok(()),
            (End::Error, 3) => return worker.send((), 99),
            (End::Panic, 3) => panic!("out of cheese"),
            (End::Cancelled, 3) => {
                worker.abort(Failure::new(
                    FailureKind::Cancelled,
                    "the user has seen enough",
                ));
            }
            _ => {}
        }
        // Messages that nobody receives are on the server, and one that nobody sends is awaited.
        worker.send(pattern(100_000, me, number), (me + 2) % 5)?;
        worker.recv::<u8>(me).map(drop)
    });
    assert!(
        results
            .iter()
            .all(|result| result.is_ok() == (end == End::Well)),
        "{end:?}: {results:?}"
    );
}

/// Exchanges values that differ between flares.
fn exchange(worker: &Communicator, number: u32, round: u32) -> Result<(), Error> {
    let (me, size) = (worker.worker_id(), worker.burst_size());
    let value = |from, to| {
        (
            number,
            pattern(10 + 7000 * (round as usize % 4), from, to + round),
        )
    };
    let got = worker.all_to_all((0..size).map(|to| value(me, to)).collect())?;
    assert!(got == (0..size).map(|from| value(from, me)).collect::<Vec<_>>());
    let root = round % size;
    let cast = worker.broadcast((me == root).then(|| value(root, number)), root)?;
    assert!(*cast == value(root, number));
    Ok(())
}

fn on_redis(kind: &str) {
    let server = Redis::start();
    let backend = BackendConfig::new(kind).with_uri(server.uri());
    all_at_once(backend, move |flare_id| {
        let mut keys = server.keys();
        keys.retain(|key| key.contains(flare_id));
        keys
    });
}

#[test]
fn on_redis_list() {
    on_redis("redis-list");
}

#[test]
fn on_redis_stream() {
    on_redis("redis-stream");
}

#[cfg(feature = "management")]
#[test]
fn on_rabbitmq() {
    let server = burst_test_servers::RabbitMq::managed();
    all_at_once(crate::rabbitmq_tenants::platform(server), |flare_id| {
        let mut all = server.ask(&["list_users"]);
        all.extend(server.ask(&["list_vhosts"]));
        all.retain(|line| line.contains(flare_id));
        all
    });
}

/// Nobody cleans up after them: packs delete their queues, even those of a failed flare.
#[cfg(feature = "rabbitmq")]
#[test]
fn on_rabbitmq_without_users() {
    let server = burst_test_servers::RabbitMq::shared();
    let backend = BackendConfig::new("rabbitmq").with_uri(server.uri());
    all_at_once(backend.with_shared_credentials(), |flare_id| {
        let mut all = server.ask(&["list_queues", "name"]);
        all.extend(server.ask(&["list_exchanges", "name"]));
        all.retain(|line| line.contains(flare_id));
        all
    });
}

#[cfg(feature = "s3")]
#[test]
fn on_s3() {
    let server = burst_test_servers::S3Server::shared();
    let backend = BackendConfig::new("s3").with_uri(server.uri());
    all_at_once(backend, |flare_id| {
        let mut all = server.objects("");
        all.retain(|object| object.contains(flare_id));
        all
    });
}
