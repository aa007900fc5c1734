//! `make bench`: measures the whole platform, and a reference for each figure in the same run.
//!
//! It starts platforms with the tests' harness, and like a test it stops at the first failure: a figure of an
//! operation that failed is worth nothing.
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

/// Measures the whole platform and its references.
#[derive(Parser)]
struct Options {
    /// The measurements to run; all by default.
    #[arg(value_enum)]
    which: Vec<Measurement>,
    /// Number of counted runs of each measurement that takes less than a second.
    #[arg(long, default_value_t = 15)]
    runs: usize,
    /// Bytes to sort.
    #[arg(long, default_value_t = 1_000_000_000)]
    sort_bytes: u64,
    /// The directory for `platform.csv`.
    #[arg(long, default_value = "benchmarks/results")]
    results: PathBuf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Measurement {
    /// Request to result of 48 workers that do nothing, on a warm pack.
    Warm,
    /// A cold flare of one pack, compared with `docker run`.
    Cold,
    /// A cold flare on a pre-warmed container, compared with one on a warm pack.
    Prewarmed,
    /// Cancelling a flare whose workers never return.
    Cancelling,
    /// A flare with a worker that fails, and one that reaches its timeout.
    Failing,
    /// A namespace's flares while another one is at its limits.
    Fairness,
    /// Outputs of 1 GiB through a small JVM.
    Large,
    /// Blocking invocations of no-ops by one and by 32 clients of `wrk`, compared with flares and a bare HTTP server.
    Invocations,
    /// Lists of a million activations, compared with a thousand, and invocations while the million is deleted.
    Lists,
    /// Invocations while another namespace's actions fail.
    Neighbours,
    /// Twice the invocations that can be served: responses and memory.
    Overload,
    /// 48 workers in one pack, compared with 48 packs of one worker.
    Spread,
    /// An all-to-all of 48 packs of one worker: time, threads and memory of each.
    Crowd,
    /// Packs created and removed per second, and the memory of one that waits.
    Turnover,
    /// TeraSort, compared with GNU sort.
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

/// Deploys one of the executables that `make build` has put into the distribution.
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
