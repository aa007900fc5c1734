//! The paper's experiments on this machine, beside what one would use instead: `make experiments`.
//!
//! Everything goes through the platform, as a user does it: deploy, flare, look at the result. As in the benchmarks, an
//! experiment stops at the first thing that is not as promised: a figure of something that failed is worth nothing.
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
use std::path::PathBuf;

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

fn main() {
    let options = Options::parse();
    let size = options.size.size();
    let peers = Peers::prepare(&options.peers);
    let all = Experiment::value_variants().iter();
    let wanted = all.filter(|which| options.only.is_empty() || options.only.contains(which));
    for &which in wanted {
        let name = which.to_possible_value().unwrap().get_name().to_owned();
        eprintln!("== {name}");
        let mut findings = Findings::new(&name, &format!("{:?}", options.size).to_lowercase());
        match which {
            Experiment::Latency => latency::measure(&size, &mut findings),
            Experiment::Simultaneity => simultaneity::measure(&size, &mut findings),
            Experiment::Loading => loading::measure(&size, &mut findings),
            Experiment::Ready => ready::measure(&size, &mut findings),
            Experiment::Pagerank => graph::measure(&size, &mut findings),
            Experiment::Terasort => sorting::measure(&size, &mut findings),
            Experiment::Startup => startup::measure(&size, &peers, &mut findings),
            Experiment::Comparison => comparison::measure(&size, &peers, &mut findings),
        }
        publish::publish(&findings, &options.results, &peers);
    }
    let order = Experiment::value_variants().iter();
    let order = order.map(|which| which.to_possible_value().unwrap().get_name().to_owned());
    publish::page(&order.collect::<Vec<_>>(), &options.results);
}
