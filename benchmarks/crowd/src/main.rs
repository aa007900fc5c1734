//! A work function that repeatedly exchanges a value with all other workers, and reports the time this takes and
//! the threads and memory of its process afterwards.

use std::fs;
use std::time::Instant;

use burst::{BurstContext, Error};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Input {
    /// The size of each value.
    bytes: usize,
    /// The number of all-to-alls after the first one, in which the packs connect.
    rounds: u32,
}

#[derive(Serialize)]
struct Found {
    first_ms: f64,
    next_ms: f64,
    /// The number of threads of the pack's process.
    threads: u64,
    /// Memory of the process per other worker, once all are idle again.
    kib_per_peer: f64,
}

fn work(input: Input, burst: &BurstContext) -> Result<Found, Error> {
    let others = f64::from(burst.burst_size() - 1);
    let exchange = || {
        let values = (0..burst.burst_size()).map(|_| vec![1u8; input.bytes]);
        burst.all_to_all(values.collect()).map(drop)
    };
    let before = status("RssAnon")?;
    burst.barrier()?;
    let begun = Instant::now();
    exchange()?;
    let first = begun.elapsed();
    burst.barrier()?;
    let begun = Instant::now();
    (0..input.rounds).try_for_each(|_| exchange())?;
    let next = begun.elapsed() / input.rounds;
    burst.barrier()?;
    let found = Found {
        first_ms: first.as_secs_f64() * 1e3,
        next_ms: next.as_secs_f64() * 1e3,
        threads: status("Threads")?,
        kib_per_peer: status("RssAnon")?.saturating_sub(before) as f64 / others,
    };
    burst.barrier()?;
    Ok(found)
}

/// Reads a number from `/proc/self/status`.
fn status(field: &str) -> Result<u64, Error> {
    fs::read_to_string("/proc/self/status")?
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|value| value.trim().trim_end_matches(" kB").parse().ok())
        .ok_or_else(|| Error::new(format!("/proc/self/status has no number for {field}")))
}

burst::main!(work);
