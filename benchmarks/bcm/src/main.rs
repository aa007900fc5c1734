//! Measures the message-passing library, each figure beside its reference in the same run.
//!
//! The references are Open MPI inside one machine's memory, and a bare TCP connection and
//! `iperf3` between packs. Ours and theirs take turns, so that both see the same machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod direct;
mod exchange;
mod local;
mod mpi;
#[path = "../../src/report.rs"]
mod report;
#[path = "../../src/summary.rs"]
mod summary;
mod tcp;

use clap::{Parser, ValueEnum};
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to measure, and how often.
#[derive(Parser)]
struct Options {
    /// Which measurements; all when none is named.
    #[arg(value_enum)]
    which: Vec<Measurement>,
    /// How often ours and the reference take turns.
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Where `bcm.csv` goes.
    #[arg(long, default_value = "benchmarks/results")]
    results: PathBuf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Measurement {
    /// One-way time inside a pack, by size.
    PingPong,
    /// One-way time inside a pack while six other workers are blocked.
    Crowd,
    /// Broadcast inside a pack, by size.
    Broadcast,
    /// All-to-all inside a pack.
    AllToAll,
    /// Element-wise sum of vectors inside a pack.
    Reduce,
    /// One-way time between two packs over TCP.
    DirectLatency,
    /// One large message between two packs over TCP.
    DirectThroughput,
    /// All-to-all between packs, against a message per pair.
    Exchange,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let turns = options.turns;
    let mut report = Report::default();
    for &which in Measurement::value_variants() {
        if !options.which.is_empty() && !options.which.contains(&which) {
            continue;
        }
        match which {
            Measurement::PingPong => local::ping_pong(turns, &mut report),
            Measurement::Crowd => local::crowd(turns, &mut report),
            Measurement::Broadcast => local::broadcast(turns, &mut report),
            Measurement::AllToAll => local::all_to_all(turns, &mut report),
            Measurement::Reduce => local::reduce(turns, &mut report),
            Measurement::DirectLatency => direct::latency(turns, &mut report),
            Measurement::DirectThroughput => direct::throughput(turns, &mut report),
            Measurement::Exchange => exchange::all_to_all(turns, &mut report),
        }
    }
    println!("{report}");
    match report.write(&options.results.join("bcm.csv")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
