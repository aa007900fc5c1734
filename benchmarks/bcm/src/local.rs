//! Messages and collectives inside one pack, compared with Open MPI over shared memory.

use crate::mpi::{self, Size, Times};
use crate::report::Report;
use crate::summary::Summary;
use burst_bcm::{BackendConfig, Communicator, Error, Reducer, testing};
use std::any::Any;
use std::time::Instant;

const MPI: &str = "Open MPI, shared memory";
const SIZES: [usize; 6] = [8, 1 << 10, 64 << 10, 1 << 20, 4 << 20, 64 << 20];

/// An operation to compare. The names are those that the reference program uses.
#[derive(Clone, Copy)]
pub struct Operation {
    name: &'static str,
    /// Returns nanoseconds for a number of workers.
    measure: fn(u32, Size) -> Vec<f64>,
    /// Workers, bytes and the largest acceptable ratio.
    goals: &'static [(u32, usize, f64)],
}

/// One-way times between two workers; all others wait in a barrier.
pub const ONE_WAY: Operation = Operation {
    name: "one-way",
    measure: one_way,
    goals: &[(2, 8, 0.5), (8, 8, 0.5)],
};

pub const BROADCAST: Operation = Operation {
    name: "broadcast",
    measure: |workers, Size { bytes, samples, .. }| {
        longest(workers, samples, |worker| {
            let value = (worker.worker_id() == 0).then(|| vec![1u8; bytes]);
            Box::new(move |worker| Ok(Box::new(worker.broadcast(value, 0)?)))
        })
    },
    goals: &[(8, 64 << 20, 0.001)],
};

/// All-to-all with this many bytes per pair of workers.
pub const ALL_TO_ALL: Operation = Operation {
    name: "all-to-all",
    measure: |workers, Size { bytes, samples, .. }| {
        longest(workers, samples, |_| {
            let values = vec![vec![1u8; bytes]; workers as usize];
            Box::new(move |worker| {
                let got = worker.all_to_all(values)?;
                assert_eq!(got[1].len(), bytes);
                Ok(Box::new(got))
            })
        })
    },
    goals: &[(8, 4 << 20, 0.01)],
};

/// The element-wise sum of vectors of f64.
pub const REDUCE: Operation = Operation {
    name: "reduce",
    measure: |workers, Size { bytes, samples, .. }| {
        longest(workers, samples, |_| {
            let mut values = vec![1.0f64; bytes / 8];
            Box::new(move |worker| {
                worker.reduce_elements(&mut values, 0, Reducer::Sum)?;
                let sum = f64::from(workers);
                assert!(worker.worker_id() != 0 || values[bytes / 8 - 1] == sum);
                Ok(Box::new(values))
            })
        })
    },
    goals: &[(8, 64 << 20, 0.2)],
};

/// Alternates between the library and the reference, for two and for eight workers.
pub fn against_mpi(operation: Operation, turns: usize, report: &mut Report) {
    for workers in [2, 8] {
        let sizes = SIZES.map(|bytes| {
            let (rounds, samples) = repetitions(bytes);
            Size {
                bytes,
                rounds,
                samples,
            }
        });
        let (mut ours, mut theirs) = (Times::new(), Times::new());
        for _ in 0..turns {
            for (bytes, times) in mpi::run(operation.name, workers, &sizes) {
                theirs.entry(bytes).or_default().extend(times);
            }
            for size in sizes {
                let times = (operation.measure)(workers, size);
                ours.entry(size.bytes).or_default().extend(times);
            }
        }
        for bytes in SIZES {
            let goal = operation
                .goals
                .iter()
                .find(|(of, at, _)| (*of, *at) == (workers, bytes))
                .map_or_else(String::new, |(_, _, ratio)| format!("ratio <= {ratio}"));
            report.add(
                format!("local {}, {bytes} B, {workers} workers", operation.name),
                "µs",
                microseconds(&ours, bytes),
                Some((MPI, microseconds(&theirs, bytes))),
                &goal,
            );
        }
    }
}

fn microseconds(times: &Times, bytes: usize) -> Summary {
    Summary::of(times[&bytes].iter().map(|ns| ns / 1e3).collect())
}

/// Returns rounds per sample and samples per turn, chosen so that a turn is short.
fn repetitions(bytes: usize) -> (u32, usize) {
    match bytes {
        0..=1024 => (5_000, 20),
        1025..=65_536 => (1_000, 20),
        65_537..=4_194_304 => (50, 10),
        _ => (3, 2),
    }
}

fn on<R: Send>(workers: u32, work: impl Fn(&Communicator) -> Result<R, Error> + Sync) -> Vec<R> {
    testing::run(&[workers], &BackendConfig::new("memory"), work)
        .into_iter()
        .map(|result| result.unwrap())
        .collect()
}

/// Pins this thread to a core: Open MPI binds two processes to two cores, so two workers are
/// pinned, too.
fn pin(core: u32) {
    // SAFETY: all zeroes are a valid `cpu_set_t`, and both calls get a pointer to one on this
    // thread's stack, with its size.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core as usize, &mut cores);
        libc::sched_setaffinity(0, size_of_val(&cores), &raw const cores);
    }
}

fn one_way(workers: u32, size: Size) -> Vec<f64> {
    let Size {
        bytes,
        rounds,
        samples,
    } = size;
    let mut results = on(workers, |worker| {
        let mut times = Vec::new();
        let me = worker.worker_id();
        if workers == 2 {
            pin(me);
        }
        if me < 2 {
            // Eight bytes are sent as a number, more as a vector, which is moved.
            let mut vector = vec![0u8; bytes];
            let mut number = 0u64;
            for sample in 0..=samples {
                let start = Instant::now();
                for _ in 0..rounds {
                    if bytes == 8 {
                        if me == 0 {
                            worker.send(number, 1)?;
                            number = worker.recv(1)?;
                        } else {
                            number = worker.recv(0)?;
                            worker.send(number, 0)?;
                        }
                    } else if me == 0 {
                        worker.send(std::mem::take(&mut vector), 1)?;
                        vector = worker.recv(1)?;
                    } else {
                        vector = worker.recv(0)?;
                        worker.send(std::mem::take(&mut vector), 0)?;
                    }
                }
                if me == 0 && sample > 0 {
                    let took = start.elapsed().as_nanos() as f64;
                    times.push(took / f64::from(rounds) / 2.0);
                }
            }
        }
        worker.barrier()?;
        Ok(times)
    });
    results.swap_remove(0)
}

/// The value that a collective leaves behind. Freeing it is not part of the measured time.
type Leftover = Box<dyn Any>;
/// A collective whose buffers are ready.
type Prepared = Box<dyn FnOnce(&Communicator) -> Result<Leftover, Error>>;

/// Returns the longest time that any worker took for a collective, measured from a barrier.
fn longest(
    workers: u32,
    samples: usize,
    prepare: impl Fn(&Communicator) -> Prepared + Sync,
) -> Vec<f64> {
    let times = on(workers, |worker| {
        let mut times = Vec::new();
        for _ in 0..=samples {
            let collective = prepare(worker);
            // The first barrier waits for buffers and wakes workers that fell asleep. All are awake
            // at the second one.
            worker.barrier()?;
            worker.barrier()?;
            let start = Instant::now();
            let leftover = collective(worker)?;
            times.push(start.elapsed().as_nanos() as f64);
            // No worker cleans up or prepares the next collective while another one still measures.
            worker.barrier()?;
            drop(leftover);
        }
        Ok(times)
    });
    (1..=samples)
        .map(|sample| times.iter().map(|times| times[sample]).fold(0.0, f64::max))
        .collect()
}
