//! Inside one pack, against Open MPI's shared memory.

use crate::mpi;
use crate::report::Report;
use crate::summary::Summary;
use burst_bcm::{BackendConfig, Communicator, Error, Reducer, testing};
use std::any::Any;
use std::time::Instant;

const MPI: &str = "Open MPI, shared memory";

/// Alternates between ours and the reference; each gives nanoseconds, which become `scale` units.
fn compare(
    turns: usize,
    scale: f64,
    mut ours: impl FnMut() -> Vec<f64>,
    mut reference: impl FnMut() -> Vec<f64>,
) -> (Summary, Summary) {
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        theirs.extend(reference().into_iter().map(|ns| ns / scale));
        mine.extend(ours().into_iter().map(|ns| ns / scale));
    }
    (Summary::of(mine), Summary::of(theirs))
}

fn on<R: Send>(workers: u32, work: impl Fn(&Communicator) -> Result<R, Error> + Sync) -> Vec<R> {
    testing::run(&[workers], &BackendConfig::new("memory"), work)
        .into_iter()
        .map(|result| result.unwrap())
        .collect()
}

/// Open MPI binds two processes to two cores; so are two workers.
fn pin(core: u32) {
    // SAFETY: a set of cores is plain memory for which zeroes are valid, and both calls are given
    // the one on this thread's stack.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core as usize, &mut cores);
        libc::sched_setaffinity(0, size_of_val(&cores), &raw const cores);
    }
}

/// One-way times between workers 0 and 1 while all others wait in a barrier.
fn one_way(workers: u32, bytes: usize, rounds: u32, samples: usize) -> Vec<f64> {
    let mut results = on(workers, |worker| {
        let mut times = Vec::new();
        let me = worker.worker_id();
        if workers == 2 {
            pin(me);
        }
        if me < 2 {
            // Eight bytes are a number; more are a vector, which moves.
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

fn against_mpi(
    workers: u32,
    bytes: usize,
    rounds: u32,
    turns: usize,
    what: String,
    report: &mut Report,
) {
    let samples = 20;
    let arguments = [bytes.to_string(), rounds.to_string(), samples.to_string()];
    let (ours, theirs) = compare(
        turns,
        1e3,
        || one_way(workers, bytes, rounds, samples),
        || mpi::run("pingpong", workers, &arguments),
    );
    let goal = if bytes == 8 { "ratio <= 0.5" } else { "" };
    report.add(what, "µs", ours, Some((MPI, theirs)), goal);
}

/// One-way times of two workers.
pub fn ping_pong(turns: usize, report: &mut Report) {
    for (bytes, rounds) in [
        (8, 20_000),
        (1 << 10, 20_000),
        (64 << 10, 2_000),
        (1 << 20, 200),
    ] {
        let what = format!("local one-way, {bytes} B, 2 workers");
        against_mpi(2, bytes, rounds, turns, what, report);
    }
}

/// One-way times of two workers of eight, the others blocked.
pub fn crowd(turns: usize, report: &mut Report) {
    let what = "local one-way, 8 B, two of 8 workers, the others blocked".to_owned();
    against_mpi(8, 8, 5_000, turns, what, report);
}

/// What a collective leaves behind. Freeing it is no part of the collective.
type Leftover = Box<dyn Any>;
/// A collective whose buffers are ready.
type Prepared = Box<dyn FnOnce(&Communicator) -> Result<Leftover, Error>>;

/// The longest time any worker took for a collective, after a barrier.
fn longest(samples: usize, prepare: impl Fn(&Communicator) -> Prepared + Sync) -> Vec<f64> {
    let times = on(8, |worker| {
        let mut times = Vec::new();
        for _ in 0..=samples {
            let collective = prepare(worker);
            // The first barrier waits for buffers and wakes whoever fell asleep; the second one
            // finds all awake.
            worker.barrier()?;
            worker.barrier()?;
            let start = Instant::now();
            let leftover = collective(worker)?;
            times.push(start.elapsed().as_nanos() as f64);
            // Nobody cleans up or prepares the next one while another still measures.
            worker.barrier()?;
            drop(leftover);
        }
        Ok(times)
    });
    (1..=samples)
        .map(|sample| times.iter().map(|times| times[sample]).fold(0.0, f64::max))
        .collect()
}

/// A broadcast, by size.
pub fn broadcast(turns: usize, report: &mut Report) {
    for bytes in [8, 64 << 10, 64 << 20] {
        let samples = 10;
        let arguments = ["bcast".to_owned(), bytes.to_string(), samples.to_string()];
        let (ours, theirs) = compare(
            turns,
            1e3,
            || {
                longest(samples, |worker| {
                    let value = (worker.worker_id() == 0).then(|| vec![1u8; bytes]);
                    Box::new(move |worker| Ok(Box::new(worker.broadcast(value, 0)?)))
                })
            },
            || mpi::run("collective", 8, &arguments),
        );
        let goal = if bytes == 64 << 20 {
            "ratio <= 0.001"
        } else {
            ""
        };
        let what = format!("local broadcast, {bytes} B, 8 workers");
        report.add(what, "µs", ours, Some((MPI, theirs)), goal);
    }
}

/// An all-to-all of 4 MB for each pair.
pub fn all_to_all(turns: usize, report: &mut Report) {
    let (bytes, samples) = (4 << 20, 10);
    let arguments = [
        "alltoall".to_owned(),
        bytes.to_string(),
        samples.to_string(),
    ];
    let (ours, theirs) = compare(
        turns,
        1e3,
        || {
            longest(samples, |_| {
                let values = vec![vec![1u8; bytes]; 8];
                Box::new(move |worker| {
                    let got = worker.all_to_all(values)?;
                    assert_eq!(got[7].len(), bytes);
                    Ok(Box::new(got))
                })
            })
        },
        || mpi::run("collective", 8, &arguments),
    );
    let what = format!("local all-to-all, {bytes} B x 8 x 8");
    report.add(what, "µs", ours, Some((MPI, theirs)), "ratio <= 0.01");
}

/// The sum of 64 MB of f64 of each worker.
pub fn reduce(turns: usize, report: &mut Report) {
    let (bytes, samples) = (64 << 20, 5);
    let arguments = ["reduce".to_owned(), bytes.to_string(), samples.to_string()];
    let (ours, theirs) = compare(
        turns,
        1e6,
        || {
            longest(samples, |_| {
                let mut values = vec![1.0f64; bytes / 8];
                Box::new(move |worker| {
                    worker.reduce_elements(&mut values, 0, Reducer::Sum)?;
                    assert!(worker.worker_id() != 0 || values[bytes / 8 - 1] == 8.0);
                    Ok(Box::new(values))
                })
            })
        },
        || mpi::run("collective", 8, &arguments),
    );
    let what = "local reduce, 64 MB of f64, 8 workers";
    report.add(what, "ms", ours, Some((MPI, theirs)), "ratio <= 0.2");
}
