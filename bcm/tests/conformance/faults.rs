//! Random flares over a backend that duplicates, delays, reorders, loses and resends: every message
//! arrives once, in order and unchanged. Over one that damages frames: the same, or an error that
//! reports it. Never anything else, and never a hang.
//!
//! `PROPTEST_CASES` sets the number of cases; the default is for everyday runs.

use burst_bcm::{BackendConfig, Error, FailureKind, testing};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::harness::{OPERATION_TIMEOUT, under_watchdog};
use crate::properties::{Step, What, Within, steps, take};

/// Up to 24 workers in up to 8 packs.
fn topologies() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(1u32..=8, 1..=8).prop_map(|mut sizes| {
        while sizes.iter().sum::<u32>() > 24 {
            sizes.pop();
        }
        sizes
    })
}

/// Up to 8 MB; less if there is more than one value at a time.
fn bounded(step: Step, workers: u32) -> Step {
    let most = match step.what {
        What::Broadcast | What::Barrier => 8 << 20,
        What::SendRecv | What::Tagged | What::ReduceElements | What::AllReduceElements => {
            (32 << 20) / workers as usize
        }
        _ => (8 << 20) / workers as usize,
    };
    Step {
        len: step.len.min(most),
        ..step
    }
}

#[derive(Debug, Clone)]
struct Flare {
    topology: Vec<u32>,
    steps: Vec<Step>,
    chunk_size: usize,
    max_bytes_in_flight: usize,
    seed: u64,
}

fn flares() -> impl Strategy<Value = Flare> {
    let len = prop_oneof![
        3 => Just(0usize),
        6 => 1usize..200,
        6 => 1000usize..20_000,
        1 => (1usize << 20)..=(8 << 20),
    ];
    let chunk_size = prop_oneof![Just(1usize << 20), 3000usize..200_000];
    let in_flight = prop_oneof![Just(256usize << 20), Just(64 << 10), Just(1 << 20)];
    let seed = any::<u64>();
    (topologies(), steps(len), chunk_size, in_flight, seed).prop_map(
        |(topology, steps, chunk_size, max_bytes_in_flight, seed)| {
            let workers = topology.iter().sum();
            let bounded = |step| bounded(step, workers);
            Flare {
                steps: steps.into_iter().map(bounded).collect(),
                topology,
                chunk_size,
                max_bytes_in_flight,
                seed,
            }
        },
    )
}

/// Runs a flare; the workers themselves check what arrives.
fn run(flare: &Flare, damage: &str) -> Vec<Result<(), Error>> {
    let plan = format!(r#"{{"seed":{}{damage}}}"#, flare.seed);
    let backend = BackendConfig::new("faults")
        .with_uri(plan)
        .with_chunk_size(flare.chunk_size);
    let in_flight = flare.max_bytes_in_flight;
    testing::run_with(
        &flare.topology,
        &backend,
        |config| {
            config.max_bytes_in_flight = in_flight;
            config.operation_timeout = OPERATION_TIMEOUT;
        },
        |worker| flare.steps.iter().try_for_each(|step| take(worker, step)),
    )
}

fn check(cases: u32, property: fn(Flare) -> Result<(), TestCaseError>) {
    let cases = match std::env::var("PROPTEST_CASES") {
        Ok(number) => number.parse().unwrap(),
        Err(_) => cases,
    };
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 30,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&flares(), |flare| {
            let (told, result) = std::sync::mpsc::channel();
            under_watchdog(move || told.send(property(flare)).unwrap());
            result.recv().unwrap()
        })
        .unwrap();
}

#[test]
fn disorder_changes_nothing() {
    check(16, |flare| {
        for result in run(&flare, "") {
            prop_assert_eq!(result, Ok(()));
        }
        Ok(())
    });
}

#[test]
fn damage_is_reported_or_harmless() {
    check(16, |flare| {
        for result in run(&flare, r#","corrupted":10,"truncated":5"#) {
            let Err(error) = result else {
                continue;
            };
            let Error::Aborted(failure) = &error else {
                return Err(TestCaseError::fail(error.to_string()));
            };
            prop_assert_eq!(failure.kind, FailureKind::Backend, "{}", failure);
            prop_assert!(failure.message.contains("a damaged message"), "{}", failure);
        }
        Ok(())
    });
}

#[test]
fn damage_is_always_noticed() {
    for damage in [r#","corrupted":1000"#, r#","truncated":1000"#] {
        under_watchdog(move || {
            let flare = Flare {
                topology: vec![1, 1],
                steps: vec![Step {
                    what: What::SendRecv,
                    within: Within::All,
                    root: 1,
                    len: 5000,
                }],
                chunk_size: 1000,
                max_bytes_in_flight: 1 << 20,
                seed: 1,
            };
            for result in run(&flare, damage) {
                let error = result.unwrap_err();
                assert!(error.to_string().contains("a damaged message"), "{error}");
            }
        });
    }
}
