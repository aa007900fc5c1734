//! Measures the message-passing library, and a reference for each figure in the same run.
//!
//! The references are Open MPI over shared memory; a bare TCP connection and `iperf3` between packs;
//! and, for servers, clients that only move the same bytes. The library and the reference take turns,
//! so that changes of the machine's load affect both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bare_rabbitmq;
mod bare_s3;
mod collectives;
mod crowd;
mod direct;
mod exchange;
mod figures;
mod local;
mod mpi;
mod next_flare;
mod plot;
mod redis_benchmark;
mod servers;
mod tcp;
mod throughput;
mod transfer;

use benchmark_report::{report, results, summary};
use burst_test_servers::s3_process;
use clap::builder::PossibleValuesParser;
use clap::{Parser, ValueEnum};
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measures the message-passing library and its references.
#[derive(Parser)]
struct Options {
    /// The measurements to run; all by default.
    #[arg(value_enum)]
    which: Vec<Measurement>,
    /// How often the library and the reference take turns.
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// The backends to measure separately; `bcm.csv` is written only when all are measured.
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(burst_bcm::backends()),
        default_values_t = servers::backends())]
    backends: Vec<String>,
    /// The numbers of packs for `crowd`, instead of the default ones.
    #[arg(long, value_delimiter = ',')]
    packs: Vec<u32>,
    /// The directory for the figures' numbers and plots, and for `bcm.csv`, which is written only when
    /// the whole table was measured.
    #[arg(long, default_value = "benchmarks/results")]
    results: PathBuf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Measurement {
    /// One-way time inside a pack, by size.
    OneWay,
    /// Broadcast inside a pack, by size.
    Broadcast,
    /// All-to-all inside a pack, by size.
    AllToAll,
    /// Element-wise sum of vectors inside a pack, by size.
    Reduce,
    /// One-way time between two packs over TCP.
    DirectLatency,
    /// One large message between two packs through each backend.
    Throughput,
    /// The next flare of packs that stay connected, compared with connecting again, for each backend.
    NextFlare,
    /// All-to-all between packs, compared with one message per pair.
    Exchange,
    /// All-to-all of many packs of one machine, each a process: time, threads and memory.
    Crowd,
    /// Throughput by chunk size, for each backend.
    ChunkSizes,
    /// Throughput by number of pairs, for each backend.
    Pairs,
    /// Collectives by granularity.
    Granularity,
}

impl Options {
    fn measures(&self, which: Measurement) -> bool {
        self.which.is_empty() || self.which.contains(&which)
    }
}

impl Measurement {
    /// Whether the measurement has files of its own and no rows in the table.
    fn is_figure(self) -> bool {
        matches!(self, Self::ChunkSizes | Self::Pairs | Self::Granularity)
    }

    fn run(self, options: &Options, report: &mut Report) -> Result<(), figures::FigureError> {
        let Options {
            turns,
            backends,
            packs,
            results,
            ..
        } = options;
        let turns = *turns;
        match self {
            Self::OneWay => local::against_mpi(local::ONE_WAY, turns, report),
            Self::Broadcast => local::against_mpi(local::BROADCAST, turns, report),
            Self::AllToAll => local::against_mpi(local::ALL_TO_ALL, turns, report),
            Self::Reduce => local::against_mpi(local::REDUCE, turns, report),
            Self::DirectLatency => direct::latency(turns, report),
            Self::Throughput => {
                for backend in backends {
                    throughput::through(backend, turns, report);
                }
            }
            Self::NextFlare => {
                for backend in backends {
                    next_flare::latency(backend, turns, report);
                }
            }
            Self::Exchange => exchange::all_to_all(turns, report),
            Self::Crowd => crowd::all_to_all(packs, report),
            Self::ChunkSizes => figures::chunk_sizes(turns, backends, results)?,
            Self::Pairs => figures::pairs(turns, backends, results)?,
            Self::Granularity => figures::granularity(turns, results)?,
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    if s3_process::serve_if_requested().unwrap() {
        return ExitCode::SUCCESS;
    }
    if let [_, role, pack, packs] = &std::env::args().collect::<Vec<_>>()[..]
        && role == crowd::PACK
    {
        crowd::pack(pack.parse().unwrap(), packs.parse().unwrap());
        return ExitCode::SUCCESS;
    }
    match measure(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<(), figures::FigureError> {
    let mut report = Report::default();
    for &which in Measurement::value_variants() {
        if options.measures(which) {
            which.run(options, &mut report)?;
        }
    }
    println!("{report}");
    // The table is written only if all of it was measured in one run.
    let whole = options.packs.is_empty()
        && options.backends.len() == servers::backends().len()
        && (Measurement::value_variants().iter())
            .all(|which| which.is_figure() || options.measures(*which));
    if whole {
        report.write(&options.results.join("bcm.csv"))?;
    }
    Ok(())
}
