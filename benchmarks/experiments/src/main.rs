//! The paper's experiments on this machine, beside what one would use instead: `make experiments`.
//!
//! Everything goes through the platform, as a user does it: deploy, flare, look at the result. As in the benchmarks, an
//! experiment stops at the first thing that is not as promised: a figure of something that failed is worth nothing. The
//! others go on, and what had been published of the failed one stays as it is.
//!
//! | idea | file |
//! | --- | --- |
//! | one experiment, from set-up to findings | `latency`, `simultaneity`, `loading`, `ready`, `graph`, `sorting`, `startup`, `comparison` |
//! | what was found: figures, spans of time, goals met and missed | `findings` |
//! | how large everything is | `size` |
//! | a platform to run flares on | `bed` |
//! | an S3 server that counts what it gives out | `store` |
//! | the peers' virtual environment and scripts | `peers` |
//! | CSV, pictures and the page | `publish` |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;
mod comparison;
mod findings;
mod graph;
mod latency;
mod loading;
mod peers;
mod publish;
mod ready;
mod simultaneity;
mod size;
mod sorting;
mod startup;
mod store;

use clap::{Parser, ValueEnum};
use findings::Findings;
use peers::Peers;
use size::Size;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Which experiments, and how large.
#[derive(Parser)]
struct Options {
    /// Only these; all when none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Experiment>,
    /// How large.
    #[arg(long, value_enum, default_value_t = size::Name::Small)]
    size: size::Name,
    /// Where the CSV files, the pictures and the page go.
    #[arg(long, default_value = "benchmarks/results/experiments")]
    results: PathBuf,
    /// Where the peers' virtual environment is made.
    #[arg(long, default_value = "target/experiments/venv")]
    peers: PathBuf,
}

/// In the order of the page.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Experiment {
    /// Invocation latency by granularity (the paper's Fig. 7).
    Latency,
    /// Lifetimes of workers that sleep (Fig. 8).
    Simultaneity,
    /// Collective data loading (Fig. 9).
    Loading,
    /// Time until a grid search is ready to train (Table 3).
    Ready,
    /// PageRank by phase, and its remote traffic (Fig. 12, Table 4).
    Pagerank,
    /// TeraSort against serverless MapReduce (Fig. 13).
    Terasort,
    /// Start-up (Table 1).
    Startup,
    /// Against what one would use instead.
    Comparison,
}

impl Experiment {
    fn name(self) -> String {
        self.to_possible_value().unwrap().get_name().to_owned()
    }

    fn measure(self, size: &Size, peers: &Peers, findings: &mut Findings) {
        match self {
            Self::Latency => latency::measure(size, findings),
            Self::Simultaneity => simultaneity::measure(size, findings),
            Self::Loading => loading::measure(size, findings),
            Self::Ready => ready::measure(size, findings),
            Self::Pagerank => graph::measure(size, findings),
            Self::Terasort => sorting::measure(size, findings),
            Self::Startup => startup::measure(size, peers, findings),
            Self::Comparison => comparison::measure(size, peers, findings),
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let size = options.size.size();
    let peers = Peers::prepare(&options.peers);
    let order = Experiment::value_variants();
    let wanted = order
        .iter()
        .filter(|which| options.only.is_empty() || options.only.contains(which));
    let mut failed = Vec::new();
    for &which in wanted {
        let name = which.name();
        eprintln!("== {name}");
        let began = Instant::now();
        // What it started is stopped by being dropped, as in a test that fails.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let size_name = format!("{:?}", options.size).to_lowercase();
            let mut findings = Findings::new(&name, &size_name);
            which.measure(&size, &peers, &mut findings);
            publish::publish(&findings, began.elapsed(), &options.results, &peers);
        }));
        let took = began.elapsed().as_secs();
        if ended.is_ok() {
            eprintln!("== {name} took {took} s");
        } else {
            eprintln!("== {name} FAILED after {took} s; the reason is above");
            failed.push(name);
        }
    }
    let names: Vec<String> = order.iter().map(|which| which.name()).collect();
    publish::page(&names, &options.results);
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: failed: {}", failed.join(", "));
    ExitCode::FAILURE
}
