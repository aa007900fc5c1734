//! Tests of flares whose server, or the way to it, fails: the same for every backend with a server.
//!
//! Faults are injected at points of the work and never after a time, so that a test is the same on
//! a fast machine and on a slow one.

use std::thread;
use std::time::{Duration, Instant};

use burst_bcm::{
    BackendConfig, Communicator, Error, Failure, FailureKind, Pack, PackConfig, PackId, testing,
};

use burst_test_servers::Signal;

use crate::harness::{WATCHDOG, pattern, promised};
use crate::proxy::Proxy;

/// How long a server stands still before it continues.
const PAUSE: Duration = Duration::from_millis(700);
/// Longer than anything may take, except a server's silence.
pub const LONG_PAUSE: Duration = Duration::from_millis(3_500);

/// Blocked workers learn of it within a second, and a send to a dead server never succeeds.
pub fn a_server_that_dies_fails_the_flare(
    backend: &BackendConfig,
    secret: &str,
    kill: impl FnOnce(),
) {
    let packs = testing::packs(&[1, 1], backend, |_| {}).unwrap();
    let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
    workers[1].send(1u8, 0).unwrap();
    assert_eq!(workers[0].recv::<u8>(1), Ok(1));
    thread::scope(|scope| {
        let blocked = scope.spawn(|| workers[0].recv::<u8>(1));
        kill();
        let killed = Instant::now();
        let error = blocked.join().unwrap().unwrap_err();
        promised(Duration::from_secs(1), killed);
        let Error::Aborted(failure) = &error else {
            panic!("expected an abort, not {error}");
        };
        let named = (failure.kind, failure.pack);
        assert_eq!(named, (FailureKind::Backend, Some(PackId(0))), "{error}");
        assert!(!error.to_string().contains(secret));
        assert!(workers[0].send(1u8, 1).is_err());
        assert!(workers[1].send(1u8, 0).is_err());
    });
    let begun = Instant::now();
    drop(packs);
    promised(Duration::from_secs(5), begun);
}

/// Work continues after pauses, and ends at its deadline if the server does not continue.
pub fn a_server_that_stands_still_holds_up_work(
    backend: &BackendConfig,
    signal: impl Fn(Signal) + Sync,
) {
    let packs = testing::packs(&[2, 2], backend, |_| {}).unwrap();
    let results = testing::run_on(&packs, |worker| {
        (0..20).try_for_each(|round| {
            if worker.worker_id() != 0 || round % 7 != 5 {
                return exchange(worker, round);
            }
            signal(Signal::STOP);
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(PAUSE);
                    signal(Signal::CONT);
                });
                exchange(worker, round)
            })
        })
    });
    assert_eq!(results, vec![Ok(()); 4]);
    drop(packs);

    let limit = Duration::from_secs(3);
    let packs = connected_packs(backend, limit);
    let worker = packs[0].communicators().remove(0);
    signal(Signal::STOP);
    let begun = Instant::now();
    let result = worker.send(2u8, 3);
    signal(Signal::CONT);
    assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
    promised(limit, begun);
}

/// One of three packs ends while the server stands still: it is not taken for dead when the server
/// continues.
pub fn a_pack_that_leaves_while_the_server_stands_still_is_not_lost(
    backend: &BackendConfig,
    signal: impl Fn(Signal) + Sync,
) {
    let mut packs = testing::packs(&[1, 1, 1], backend, |_| {}).unwrap();
    let results = testing::run_on(&packs, Communicator::barrier);
    assert_eq!(results, vec![Ok(()); 3]);
    let leaving = packs.remove(0);
    signal(Signal::STOP);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(LONG_PAUSE);
            signal(Signal::CONT);
        });
        drop(leaving);
    });
    // For longer than it takes to detect a lost pack.
    let begun = Instant::now();
    while begun.elapsed() < 2 * LONG_PAUSE {
        let results = testing::run_on(&packs, |worker| {
            let other = 3 - worker.worker_id();
            worker.send(1u8, other)?;
            worker.recv::<u8>(other)
        });
        assert_eq!(results, vec![Ok(1); 2]);
    }
}

/// Workers that join, ask for room or answer wait for a server that stands still; one that is asked
/// to end does not.
pub fn a_server_that_stands_still_holds_up_who_asks(
    backend: &BackendConfig,
    signal: impl Fn(Signal) + Sync,
) {
    let standing_still = |what: &mut dyn FnMut()| {
        signal(Signal::STOP);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(LONG_PAUSE);
                signal(Signal::CONT);
            });
            what();
        });
    };
    let little_room = |config: &mut PackConfig| config.max_bytes_in_flight = 64 << 10;
    let mut packs = Vec::new();
    standing_still(&mut || packs = testing::packs(&[1, 1], backend, little_room).unwrap());
    // It does not fit into the window, and so is offered first.
    let large = || pattern(1 << 20, 0, 1);
    standing_still(&mut || {
        let results = testing::run_on(&packs, |worker| match worker.worker_id() {
            0 => worker.send(large(), 1),
            _ => worker.recv::<Vec<u8>>(0).map(|got| assert!(got == large())),
        });
        assert_eq!(results, [Ok(()), Ok(())]);
    });

    let offering = packs[0].communicators().remove(0);
    signal(Signal::STOP);
    let result = thread::scope(|scope| {
        let sending = scope.spawn(|| offering.send(large(), 1));
        thread::sleep(PAUSE);
        let failure = Failure::new(FailureKind::Cancelled, "the user has seen enough");
        packs[0].abort(failure);
        sending.join().unwrap()
    });
    signal(Signal::CONT);
    assert!(matches!(result, Err(Error::Aborted(_))), "{result:?}");
}

/// Packs that have exchanged messages, with a short timeout for operations.
fn connected_packs(backend: &BackendConfig, limit: Duration) -> Vec<Pack> {
    let begun = Instant::now();
    loop {
        let packs = testing::packs(&[2, 2], backend, |config| config.operation_timeout = limit);
        let packs = packs.unwrap();
        let results = testing::run_on(&packs, |worker| exchange(worker, 0));
        if results.iter().all(Result::is_ok) {
            return packs;
        }
        // On a busy machine even this may have timed out.
        assert!(begun.elapsed() < WATCHDOG / 2, "{results:?}");
    }
}

/// Cuts all connections again and again, with whatever is on its way in them.
pub fn work_goes_on_while_connections_are_cut(backend: &BackendConfig, proxy: &Proxy) {
    let mut backend = backend.clone();
    // The server is up all the time: a busy machine may take long to reconnect.
    backend.recovery = Some(Duration::from_secs(10));
    let packs = testing::packs(&[2, 1, 2], &backend, |_| {}).unwrap();
    let before = proxy.accepted();
    let results = testing::run_on(&packs, |worker| {
        let me = worker.worker_id();
        for round in 0..20 {
            if me == 0 && round % 5 == 2 {
                proxy.cut();
            }
            exchange(worker, round)?;
            if me == 0 && round % 5 == 4 {
                proxy.cut();
            }
            let root = round % 5;
            let value = (me == root).then(|| pattern(100_000, root, round));
            assert!(*worker.broadcast(value, root)? == pattern(100_000, root, round));
        }
        Ok(())
    });
    assert_eq!(results, vec![Ok(()); 5]);
    assert!(proxy.accepted() >= before + 8, "it was not cut");
}

/// The error contains the server's reason, and not the credentials.
pub fn wrong_credentials_are_refused(backend: &BackendConfig, wrong: &str, says: &str) {
    let error = testing::packs(&[1, 1], backend, |_| {}).unwrap_err();
    assert!(error.to_string().contains(says), "{error}");
    assert!(!format!("{error} {error:?}").contains(wrong), "{error}");
}

/// Every worker sends something to every other.
fn exchange(worker: &Communicator, round: u32) -> Result<(), Error> {
    let (me, size) = (worker.worker_id(), worker.burst_size());
    let values = (0..size).map(|to| pattern(60_000, me, to + round));
    for (from, value) in (0..size).zip(worker.all_to_all(values.collect())?) {
        assert!(value == pattern(60_000, from, me + round));
    }
    Ok(())
}

/// Messages reach a server with this authority's certificate, but not a server without one or with
/// another name.
#[cfg(feature = "tls")]
pub fn only_a_server_with_a_certificate_is_talked_to(backend: &BackendConfig, ca: &str) {
    let trusting = backend.clone().with_ca(ca);
    let results = testing::run(&[2, 1], &trusting, |worker| {
        (0..5).try_for_each(|round| exchange(worker, round))
    });
    assert_eq!(results, vec![Ok(()); 3]);
    let large = testing::run(&[1, 1], &trusting, |worker| {
        let value = (worker.worker_id() == 0).then(|| pattern(9 << 20, 0, 0));
        assert!(*worker.broadcast(value, 0)? == pattern(9 << 20, 0, 0));
        Ok(())
    });
    assert_eq!(large, vec![Ok(()); 2]);

    let another = burst_test_servers::certificate::Certificate::new().pem;
    let mut misnamed = trusting.clone();
    misnamed.uri = backend
        .uri
        .as_ref()
        .map(|uri| uri.replace("localhost", "127.0.0.1"));
    let untrusted = [backend.clone(), backend.clone().with_ca(another), misnamed];
    for refused in untrusted {
        let error = testing::packs(&[1, 1], &refused, |_| {}).unwrap_err();
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    let nonsense = backend.clone().with_ca("no certificate at all");
    let error = testing::packs(&[1, 1], &nonsense, |_| {}).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}
