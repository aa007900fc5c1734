//! Measures the time of one message or collective with criterion, which reports the change since
//! the last run. `bcm-benchmarks` compares the library with others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Communicator, Error, Reducer, testing};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const SIZES: [usize; 4] = [8, 1 << 10, 64 << 10, 1 << 20];

/// Runs an operation on this many bytes for this many rounds, and returns the measured time.
type Rounds = fn(&Communicator, usize, u64) -> Result<Duration, Error>;

/// The number of workers of each pack, and the backend between the packs.
#[derive(Clone, Copy)]
struct Placed {
    name: &'static str,
    packs: &'static [u32],
    backend: &'static str,
}

const TOGETHER: Placed = Placed {
    name: "one pack of 8",
    packs: &[8],
    backend: "memory",
};
const PAIR: Placed = Placed {
    name: "one pack of 2",
    packs: &[2],
    backend: "memory",
};
const APART: Placed = Placed {
    name: "two packs of 1",
    packs: &[1, 1],
    backend: "direct",
};
const MIXED: Placed = Placed {
    name: "two packs of 4",
    packs: &[4, 4],
    backend: "direct",
};

impl Placed {
    /// Returns the time that worker 0 takes.
    fn time(self, operation: Rounds, bytes: usize, rounds: u64) -> Duration {
        let backend = BackendConfig::new(self.backend);
        let results = testing::run(self.packs, &backend, |worker| {
            // The first round creates connections and queues, and is not measured.
            operation(worker, bytes, 1)?;
            operation(worker, bytes, rounds)
        });
        results.into_iter().next().unwrap().unwrap()
    }
}

/// Measures round trips and returns half of their time.
fn one_way(worker: &Communicator, bytes: usize, rounds: u64) -> Result<Duration, Error> {
    let me = worker.worker_id();
    let mut value = if me == 0 { vec![1u8; bytes] } else { vec![] };
    let begun = Instant::now();
    for _ in 0..rounds {
        if me == 0 {
            worker.send(value, 1)?;
            value = worker.recv(1)?;
        } else {
            worker.send(worker.recv::<Vec<u8>>(0)?, 0)?;
        }
    }
    assert!(me > 0 || value.len() == bytes);
    Ok(begun.elapsed() / 2)
}

fn broadcast(worker: &Communicator, bytes: usize, rounds: u64) -> Result<Duration, Error> {
    timed(worker, rounds, || {
        let value = (worker.worker_id() == 0).then(|| vec![1u8; bytes]);
        move || Ok(worker.broadcast(value, 0)?.len() == bytes)
    })
}

fn all_to_all(worker: &Communicator, bytes: usize, rounds: u64) -> Result<Duration, Error> {
    timed(worker, rounds, || {
        let values = vec![vec![1u8; bytes]; worker.burst_size() as usize];
        move || {
            let got = worker.all_to_all(values)?;
            Ok(got.iter().all(|value| value.len() == bytes))
        }
    })
}

fn all_reduce(worker: &Communicator, bytes: usize, rounds: u64) -> Result<Duration, Error> {
    let sum = f64::from(worker.burst_size());
    timed(worker, rounds, || {
        let values = vec![1.0f64; bytes / 8];
        move || {
            let values = worker.all_reduce_elements(values, Reducer::Sum)?;
            Ok(values.last() == Some(&sum))
        }
    })
}

fn barrier(worker: &Communicator, _: usize, rounds: u64) -> Result<Duration, Error> {
    timed(worker, rounds, || || worker.barrier().map(|()| true))
}

/// Measures, for each round, from when all workers have their values until all have their results.
fn timed<C: FnOnce() -> Result<bool, Error>>(
    worker: &Communicator,
    rounds: u64,
    prepare: impl Fn() -> C,
) -> Result<Duration, Error> {
    let mut took = Duration::ZERO;
    for _ in 0..rounds {
        let collective = prepare();
        worker.barrier()?;
        let begun = Instant::now();
        assert!(collective()?, "the result is wrong");
        worker.barrier()?;
        took += begun.elapsed();
    }
    Ok(took)
}

fn messages(criterion: &mut Criterion) {
    let operations: [(&str, Rounds, &[Placed], &[usize]); 5] = [
        ("one way", one_way, &[PAIR, APART], &SIZES),
        ("barrier", barrier, &[TOGETHER, MIXED], &[0]),
        ("broadcast", broadcast, &[TOGETHER, MIXED], &SIZES),
        ("all-to-all", all_to_all, &[TOGETHER, MIXED], &SIZES),
        ("all-reduce", all_reduce, &[TOGETHER, MIXED], &SIZES),
    ];
    for (name, operation, places, sizes) in operations {
        for placed in places {
            let mut group = criterion.benchmark_group(format!("{name}, {}", placed.name));
            for &bytes in sizes {
                if bytes > 0 {
                    group.throughput(Throughput::Bytes(bytes as u64));
                }
                group.bench_with_input(BenchmarkId::from_parameter(bytes), &bytes, |bench, _| {
                    bench.iter_custom(|rounds| placed.time(operation, bytes, rounds));
                });
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = messages
}
criterion_main!(benches);
