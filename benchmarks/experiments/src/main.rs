//! `make experiments`: the paper's experiments on this machine, and a comparison with alternative systems.
//!
//! Everything goes through the platform, as for a user: deploy, flare, get the result. As in the benchmarks, an
//! experiment stops at the first failure, because a figure of an operation that failed is worth nothing. The other
//! experiments continue, and the published results of the failed one stay unchanged.
//!
//! | idea | file |
//! | --- | --- |
//! | one experiment, from set-up to findings | `latency`, `simultaneity`, `loading`, `ready`, `graph`, `sorting`, `startup`, `comparison` |
//! | the findings: figures, spans of time, goals met and missed | `findings` |
//! | the sizes of the experiments | `size` |
//! | a platform to run flares on | `bed` |
//! | an S3 server that counts the bytes it serves | `burst_test_servers` |
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

use clap::{Parser, ValueEnum};
use findings::Findings;
use peers::Peers;
use size::Size;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Runs the experiments.
#[derive(Parser)]
struct Options {
    /// Run only these experiments; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Experiment>,
    /// The size of the experiments.
    #[arg(long, value_enum, default_value_t = size::Name::Small)]
    size: size::Name,
    /// The directory for the CSV files, the pictures and the page.
    #[arg(long, default_value = "benchmarks/results/experiments")]
    results: PathBuf,
    /// The directory of the peers' virtual environment.
    #[arg(long, default_value = "target/experiments/venv")]
    peers: PathBuf,
}

/// The experiments, in the order of the page.
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
    /// Comparison with alternative systems.
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
        // If the experiment panics, whatever it started is dropped and thereby stopped, as in a test that fails.
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
