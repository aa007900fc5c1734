//! Reproduces the published figures about messages on this machine: numbers as CSV, and plots.

use crate::collectives;
use crate::plot::{Plot, PlotError};
use crate::results::WriteError;
use crate::servers::Server;
use crate::summary::Summary;
use crate::transfer::{self, Load};
use burst_bcm::default_chunk_size;
use std::collections::BTreeMap;
use std::path::Path;

/// Why a figure could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    #[error(transparent)]
    Numbers(#[from] WriteError),
    #[error(transparent)]
    Plot(#[from] PlotError),
}

/// A point of figures 10a and 10b.
#[derive(serde::Serialize)]
struct Rate {
    backend: String,
    chunk_size: usize,
    pairs: u32,
    message: usize,
    min: f64,
    median: f64,
    max: f64,
}

/// A point of figure 11.
#[derive(serde::Serialize)]
struct Latency {
    operation: &'static str,
    workers: u32,
    granularity: u32,
    packs: u32,
    min_ms: f64,
    median_ms: f64,
    max_ms: f64,
    /// The reduction compared with granularity 1.
    reduction: f64,
    remote_bytes: u64,
}

/// Figure 10a: throughput of one message by chunk size, with `samples` times two measurements per
/// size.
pub fn chunk_sizes(samples: usize, backends: &[String], results: &Path) -> Result<(), FigureError> {
    // A load that a machine with two cores completes in minutes, for all backends and sizes
    // together.
    let load = Load {
        pairs: 1,
        bytes: 512 << 20,
        samples: 2,
    };
    let mut rates = Vec::new();
    for backend in backends {
        let server = Server::of(backend);
        let sizes = [16, 18, 20, 22, 24, 26].map(|shift| 1 << shift);
        let mut series = vec![Vec::new(); sizes.len()];
        // The sizes take turns, so that changes of the machine's load affect all of them.
        for _ in 0..samples {
            for (chunk_size, series) in sizes.iter().zip(&mut series) {
                let config = server.config(backend).with_chunk_size(*chunk_size);
                series.extend(transfer::rates(&config, load));
            }
        }
        for (chunk_size, series) in sizes.into_iter().zip(series) {
            rates.push(Rate::of(backend.clone(), chunk_size, load, series));
        }
    }
    let plot = Plot {
        title: "Two packs, one message of 512 MiB, by chunk size".to_owned(),
        x: "chunk size",
        y: "GB/s",
        x_label: bytes,
        lines: lines(&rates, |rate| rate.chunk_size as f64),
    };
    plot.write(&results.join("chunk-size.svg"))?;
    Ok(crate::results::write(
        &results.join("chunk-size.csv"),
        &rates,
    )?)
}

/// Figure 10b: total throughput by the number of pairs of workers that send at the same time.
pub fn pairs(samples: usize, backends: &[String], results: &Path) -> Result<(), FigureError> {
    let mut rates = Vec::new();
    for backend in backends {
        let server = Server::of(backend);
        let config = server.config(backend);
        for pairs in [1, 2, 4, 8] {
            let load = Load {
                pairs,
                bytes: 64 << 20,
                samples,
            };
            let series = transfer::rates(&config, load);
            let chunk_size = default_chunk_size(backend);
            rates.push(Rate::of(backend.clone(), chunk_size, load, series));
        }
    }
    let plot = Plot {
        title: "Two packs, each worker sends 64 MiB to one of the other pack".to_owned(),
        x: "pairs of workers",
        y: "GB/s, all together",
        x_label: |pairs| format!("{pairs:.0}"),
        lines: lines(&rates, |rate| rate.pairs.into()),
    };
    plot.write(&results.join("pairs.svg"))?;
    Ok(crate::results::write(&results.join("pairs.csv"), &rates)?)
}

/// Figure 11: time of collectives by granularity.
pub fn granularity(samples: usize, results: &Path) -> Result<(), FigureError> {
    let server = Server::of("redis-list");
    let config = server.config("redis-list");
    let mut latencies = Vec::new();
    for operation in [collectives::BROADCAST, collectives::ALL_TO_ALL] {
        let mut plot = Plot {
            title: format!("{}, redis-list, {}", operation.name, operation.data),
            x: "workers per pack",
            y: "ms",
            x_label: |granularity| format!("{granularity:.0}"),
            lines: Vec::new(),
        };
        for workers in [8, 16, 32] {
            let mut line = Vec::new();
            let mut alone = None;
            for granularity in (0..6).map(|shift| 1 << shift).filter(|&g| g <= workers) {
                let measured = operation.measure(
                    &config,
                    collectives::Shape {
                        workers,
                        granularity,
                    },
                    samples,
                );
                let time = Summary::of(measured.milliseconds);
                let alone = *alone.get_or_insert(time.median);
                line.push((f64::from(granularity), time.median));
                latencies.push(Latency {
                    operation: operation.name,
                    workers,
                    granularity,
                    packs: workers / granularity,
                    min_ms: time.min,
                    median_ms: time.median,
                    max_ms: time.max,
                    reduction: 1.0 - time.median / alone,
                    remote_bytes: measured.remote_bytes,
                });
            }
            plot.lines.push((format!("{workers} workers"), line));
        }
        plot.write(&results.join(format!("granularity-{}.svg", operation.name)))?;
    }
    Ok(crate::results::write(
        &results.join("granularity.csv"),
        &latencies,
    )?)
}

impl Rate {
    fn of(backend: String, chunk_size: usize, load: Load, series: Vec<f64>) -> Self {
        let Summary { min, median, max } = Summary::of(series);
        let (pairs, message) = (load.pairs, load.bytes);
        eprintln!("{backend}, {pairs} x {message} B in chunks of {chunk_size} B: {median:.2} GB/s");
        Self {
            backend,
            chunk_size,
            pairs,
            message,
            min,
            median,
            max,
        }
    }
}

/// Returns one line per backend.
fn lines(rates: &[Rate], x: impl Fn(&Rate) -> f64) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut lines = BTreeMap::<_, Vec<_>>::new();
    for rate in rates {
        let line = lines.entry(rate.backend.clone()).or_default();
        line.push((x(rate), rate.median));
    }
    lines.into_iter().collect()
}

/// Formats a number of bytes with a unit.
fn bytes(bytes: f64) -> String {
    match bytes / 1024.0 {
        kib if kib < 1024.0 => format!("{kib:.0} KiB"),
        kib => format!("{:.0} MiB", kib / 1024.0),
    }
}
