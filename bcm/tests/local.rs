//! Properties that hold inside one pack.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use burst_bcm::{
    BackendConfig, Communicator, Error, Failure, FailureKind, PackConfig, PackId, Peer, Reducer,
    testing,
};

fn none() -> BackendConfig {
    BackendConfig::new("a backend that does not exist")
}

#[test]
fn one_pack_never_needs_its_backend() {
    let results = testing::run(&[4], &none(), |worker| {
        worker.barrier()?;
        let value = (worker.worker_id() == 2).then_some(5u64);
        let shared = worker.broadcast(value, 2)?;
        let sum = worker.all_reduce(u64::from(worker.worker_id()), |a, b| a + b)?;
        Ok(*shared + *sum)
    });
    assert_eq!(results, vec![Ok(11); 4]);
}

#[test]
fn a_message_is_the_senders_own_memory() {
    let results = testing::run(&[2], &none(), |worker| {
        if worker.worker_id() == 0 {
            let values = vec![1u8; 1 << 16];
            let address = values.as_ptr() as usize;
            worker.send(values, 1)?;
            Ok(address)
        } else {
            Ok(worker.recv::<Vec<u8>>(0)?.as_ptr() as usize)
        }
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn a_broadcast_is_one_value_for_all() {
    let results = testing::run(&[8], &none(), |worker| {
        let value = (worker.worker_id() == 0).then(|| vec![7u8; 1 << 16]);
        let shared = worker.broadcast(value, 0)?;
        worker.barrier()?;
        Ok((
            Arc::as_ptr(&shared) as usize,
            Arc::strong_count(&shared) > 1,
        ))
    });
    let first = results[0].as_ref().unwrap().0;
    assert!(
        results
            .iter()
            .all(|result| result.as_ref().unwrap().0 == first)
    );
}

#[test]
fn a_panic_reaches_blocked_peers_within_a_second() {
    let packs = testing::packs(&[4], &none(), |_| {}).unwrap();
    let started = Instant::now();
    let results = testing::run_on(&packs, |worker| {
        if worker.worker_id() == 2 {
            panic!("out of cheese");
        }
        worker.barrier()
    });
    // Promised within a second; a busy machine may add to that, but less than the timeout of an
    // operation.
    assert!(started.elapsed() < Duration::from_secs(41));
    for result in &results {
        match result {
            Err(Error::Aborted(failure)) => {
                assert_eq!(
                    (failure.kind, failure.worker),
                    (FailureKind::Panic, Some(2))
                );
                assert!(failure.to_string().contains("out of cheese"));
            }
            other => panic!("expected an abort, not {other:?}"),
        }
    }
}

#[test]
fn a_wait_without_end_ends_at_the_deadline() {
    let results = testing::run_with(
        &[2],
        &none(),
        |config| config.operation_timeout = Duration::from_millis(50),
        |worker| {
            if worker.worker_id() == 0 {
                worker.recv::<u8>(1)
            } else {
                Ok(0)
            }
        },
    );
    let Err(error @ Error::Timeout { .. }) = &results[0] else {
        panic!("expected a time-out, not {:?}", results[0]);
    };
    assert!(
        error.to_string().starts_with("recv timed out after"),
        "{error}"
    );
    assert!(
        error.to_string().ends_with("waiting for worker 1"),
        "{error}"
    );
}

/// Runs two workers: one waits for the other, which calls `told` when the flare's time is up.
fn overdue(told: impl Fn(&Communicator) + Sync) -> Vec<Result<u8, Error>> {
    let deadline = Duration::from_secs(5);
    testing::run_with(
        &[2],
        &none(),
        |config| config.deadline = Some(std::time::SystemTime::now() + deadline),
        |worker| {
            if worker.worker_id() == 0 {
                return worker.recv::<u8>(1);
            }
            std::thread::sleep(deadline);
            told(worker);
            // It waits only after the time is up.
            worker.recv::<u8>(0)
        },
    )
}

#[test]
fn at_the_deadline_only_workers_that_waited_name_a_peer() {
    let nobody = |_: &Communicator| {};
    let others = |worker: &Communicator| worker.abort(Failure::overdue());
    for results in [overdue(nobody), overdue(others)] {
        let Err(Error::Timeout {
            operation, peer, ..
        }) = &results[0]
        else {
            panic!("expected a time-out, not {:?}", results[0]);
        };
        assert_eq!((operation.name(), *peer), ("recv", Peer::Worker(1)));
        let Err(Error::Aborted(failure)) = &results[1] else {
            panic!("expected the flare's end, not {:?}", results[1]);
        };
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
    }
}

#[test]
fn a_peer_that_met_the_deadline_first_is_not_blamed() {
    let passed = std::time::SystemTime::now() - Duration::from_secs(1);
    let configure = |config: &mut PackConfig| config.deadline = Some(passed);
    for met in [
        FailureKind::PeerFailed,
        FailureKind::Timeout,
        FailureKind::Panic,
    ] {
        let packs = testing::packs(&[2], &none(), configure).unwrap();
        packs[0].abort(Failure::new(met, "first").of_worker(1, PackId(0)));
        let results = testing::run_on(&packs, Communicator::barrier);
        let expected = match met {
            FailureKind::Panic => (FailureKind::Panic, Some(1)),
            _ => (FailureKind::Timeout, None),
        };
        for result in results {
            let Err(Error::Aborted(failure)) = result else {
                panic!("expected an abort, not {result:?}");
            };
            assert_eq!((failure.kind, failure.worker), expected);
        }
    }
}

#[test]
fn different_types_give_an_error_that_names_them() {
    let results = testing::run(&[2], &none(), |worker| {
        if worker.worker_id() == 0 {
            worker.send(1u32, 1)?;
            Ok(0)
        } else {
            worker.recv::<u64>(0)
        }
    });
    let message = results[1].as_ref().unwrap_err().to_string();
    assert_eq!(message, "recv: expected u64 from worker 0, which sent u32");
}

#[test]
fn different_collectives_give_an_error() {
    let results = testing::run(&[2], &none(), |worker| match worker.worker_id() {
        0 => worker.broadcast(Some(1u8), 0).map(|_| ()),
        _ => worker.barrier(),
    });
    // The worker that comes second gets the error.
    let told = |result: &Result<(), Error>| matches!(result, Err(Error::CollectiveMismatch { .. }));
    assert!(results.iter().any(told), "{results:?}");
}

type Call = fn(&Communicator) -> Result<(), Error>;

/// The errors of two workers of one pack that make these calls. A timeout is worded differently.
fn told(calls: [Call; 2]) -> Vec<String> {
    let results = testing::run(&[2], &none(), |worker| {
        calls[worker.worker_id() as usize](worker)
    });
    let told = |result: Result<(), Error>| {
        result.map_or_else(|error| error.to_string(), |()| String::new())
    };
    results.into_iter().map(told).collect()
}

#[test]
fn different_collectives_that_would_deadlock_fail_immediately() {
    let cases: [([Call; 2], [&str; 2]); 6] = [
        (
            [
                |worker| worker.broadcast::<u8>(None, 1).map(|_| ()),
                |worker| worker.scatter::<u8>(None, 0).map(|_| ()),
            ],
            ["broadcast with root 1", "scatter with root 0"],
        ),
        (
            [
                |worker| worker.broadcast::<u8>(None, 1).map(|_| ()),
                |worker| worker.broadcast::<u8>(None, 0).map(|_| ()),
            ],
            ["broadcast with root 1", "broadcast with root 0"],
        ),
        (
            [
                |worker| worker.broadcast(Some(1u8), 0).map(|_| ()),
                |worker| worker.broadcast(Some(1u8), 1).map(|_| ()),
            ],
            ["broadcast with root 0", "broadcast with root 1"],
        ),
        (
            [
                |worker| worker.gather(1u8, 1).map(|_| ()),
                |worker| worker.gather(1u8, 0).map(|_| ()),
            ],
            ["gather with root 1", "gather with root 0"],
        ),
        (
            [
                |worker| worker.reduce(1u8, 1, |a, _| a).map(|_| ()),
                |worker| worker.reduce(1u8, 0, |a, _| a).map(|_| ()),
            ],
            ["reduce with root 1", "reduce with root 0"],
        ),
        (
            [
                |worker| worker.my_pack().broadcast::<u8>(None, 1).map(|_| ()),
                |worker| worker.my_pack().barrier(),
            ],
            ["broadcast with root 1", "barrier"],
        ),
    ];
    for (calls, names) in cases {
        let told = told(calls);
        let named = |text: &String| names.iter().all(|name| text.contains(name));
        assert!(told.iter().any(named), "{names:?}: {told:?}");
    }
}

#[test]
fn exchanges_of_different_types_fail_immediately() {
    let cases: [[Call; 2]; 2] = [
        // Only the root would wait, for vectors of another type than it receives.
        [
            |worker| worker.reduce(vec![1u64], 1, |a, _| a).map(|_| ()),
            |worker| worker.reduce_elements(&mut vec![1u64], 1, Reducer::Sum),
        ],
        [
            |worker| worker.broadcast(Some(1u8), 0).map(|_| ()),
            |worker| worker.broadcast::<u16>(None, 0).map(|_| ()),
        ],
    ];
    for calls in cases {
        let told = told(calls);
        let expected = |text: &String| text.contains("expected") && text.contains("which sent");
        assert!(told.iter().any(expected), "{told:?}");
    }
}

#[test]
fn invalid_arguments_are_refused() {
    let results = testing::run(&[2], &none(), |worker| {
        let refused = |result: Result<(), Error>| {
            assert!(
                matches!(result, Err(Error::InvalidArgument { .. })),
                "{result:?}"
            );
        };
        refused(worker.send((), 2));
        refused(worker.recv::<()>(2));
        refused(worker.broadcast(Some(()), 2).map(|_| ()));
        refused(worker.reduce((), 2, |(), ()| ()).map(|_| ()));
        refused(worker.all_to_all(vec![()]).map(|_| ()));
        if worker.worker_id() == 0 {
            refused(worker.broadcast::<()>(None, 0).map(|_| ()));
            refused(worker.scatter(Some(vec![()]), 0));
        }
        // A rejected call leaves no trace: the next collective still matches.
        worker.barrier()
    });
    assert_eq!(results, vec![Ok(()); 2]);
}
