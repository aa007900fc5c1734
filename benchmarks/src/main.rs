//! Measures the whole platform, each figure beside its reference in the same run: `make bench`.
//!
//! It uses the tests' harness to start platforms, and like a test it stops at the first thing that is not as promised:
//! a figure of something that failed is worth nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cancelling;
mod cold;
mod crowd;
mod failing;
mod fairness;
mod invocations;
mod large;
mod lists;
mod neighbours;
mod overload;
mod prewarmed;
mod sorting;
mod spread;
mod turnover;
mod warm;

use benchmark_report::{report, summary};
use burst_client::Flare;
use burst_tests::{Api, Platform, built};
use clap::{Parser, ValueEnum};
use report::Report;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to measure, and how often.
#[derive(Parser)]
struct Options {
    /// Which measurements; all when none is named.
    #[arg(value_enum)]
    which: Vec<Measurement>,
    /// Counted runs of each measurement that takes less than a second.
    #[arg(long, default_value_t = 15)]
    runs: usize,
    /// Bytes that are sorted.
    #[arg(long, default_value_t = 1_000_000_000)]
    sort_bytes: u64,
    /// Where `platform.csv` goes.
    #[arg(long, default_value = "benchmarks/results")]
    results: PathBuf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Measurement {
    /// Request to result of 48 workers that do nothing, on a warm pack.
    Warm,
    /// A cold flare of one docker pack against `docker run`.
    Cold,
    /// A cold flare on a pre-warmed container against one on a warm pack.
    Prewarmed,
    /// Cancelling a flare whose workers never return.
    Cancelling,
    /// A flare one of whose workers fails, and one that meets its time-out.
    Failing,
    /// A namespace's flares while another one is at its limits.
    Fairness,
    /// Outputs of 1 GiB through a small JVM.
    Large,
    /// Blocking invocations of no-ops, by one client and by 32 of `wrk`, beside flares and a bare HTTP server.
    Invocations,
    /// Lists of a million activations beside a thousand, and invocations while the million is deleted.
    Lists,
    /// An invocation while another namespace's actions fail.
    Neighbours,
    /// Twice the invocations that can be served: answers and memory.
    Overload,
    /// 48 workers in one pack against 48 packs of one, docker.
    Spread,
    /// An all-to-all of 48 packs of one worker: time, threads and memory of each.
    Crowd,
    /// Packs made and gone in a second, and the memory of one that waits.
    Turnover,
    /// TeraSort against GNU sort.
    Sort,
}

impl Measurement {
    fn run(self, options: &Options, report: &mut Report) {
        let runs = options.runs;
        match self {
            Self::Warm => warm::measure(runs, report),
            Self::Cold => cold::measure(runs, report),
            Self::Prewarmed => prewarmed::measure(runs, report),
            Self::Cancelling => cancelling::measure(runs, report),
            Self::Failing => failing::measure(runs, report),
            Self::Fairness => fairness::measure(runs, report),
            Self::Large => large::measure(report),
            Self::Invocations => invocations::measure(runs, report),
            Self::Lists => lists::measure(runs, report),
            Self::Neighbours => neighbours::measure(runs, report),
            Self::Overload => overload::measure(report),
            Self::Spread => spread::measure(runs.min(5), report),
            Self::Crowd => crowd::measure(report),
            Self::Turnover => turnover::measure(runs.min(5), report),
            Self::Sort => sorting::measure(options.sort_bytes, 3, report),
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut report = Report::default();
    for which in Measurement::value_variants() {
        if options.which.is_empty() || options.which.contains(which) {
            which.run(&options, &mut report);
        }
    }
    println!("{report}");
    match report.write(&options.results.join("platform.csv")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Deploys one of the executables that `make build` laid out.
fn deploy(platform: &Platform, name: &str) {
    deploy_as(platform.api(), name);
}

fn deploy_as(api: &Api, name: &str) {
    let code = std::fs::read(built::dist(&format!("examples/{name}"))).unwrap();
    api.deploy(name, &code);
}

/// Runs a flare that must succeed.
fn run(platform: &Platform, name: &str, request: Value) -> Flare {
    let id = platform.api().flare(name, &request);
    let flare = platform.api().ended(&id);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    flare
}
