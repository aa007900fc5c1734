//! Messages between two packs over `direct`, compared with a bare connection.

use crate::report::Report;
use crate::summary::Summary;
use crate::tcp;
use burst_bcm::{BackendConfig, testing};
use std::time::Instant;

/// The backend over TCP only, and with its default for packs of one machine.
fn ways() -> [(&'static str, BackendConfig); 2] {
    let direct = BackendConfig::new("direct");
    [
        ("TCP", direct.clone().with_uri("tcp:")),
        ("Unix socket", direct),
    ]
}

/// Measures the one-way time of eight bytes.
pub fn latency(turns: usize, report: &mut Report) {
    let (rounds, samples) = (2_000, 10);
    let mut theirs = Vec::new();
    let mut ours = [Vec::new(), Vec::new()];
    for _ in 0..turns {
        theirs.extend(tcp::ping_pong(rounds, samples).iter().map(|ns| ns / 1e3));
        for ((_, backend), ours) in ways().iter().zip(&mut ours) {
            ours.extend(
                ping_pong(backend, rounds, samples)
                    .iter()
                    .map(|ns| ns / 1e3),
            );
        }
    }
    for ((way, _), ours) in ways().iter().zip(ours) {
        report.add(
            format!("direct one-way, 8 B, two packs, {way}"),
            "µs",
            Summary::of(ours),
            Some(("bare TCP in Rust", Summary::of(theirs.clone()))),
            "ratio <= 1.5",
        );
    }
}

fn ping_pong(backend: &BackendConfig, rounds: u32, samples: usize) -> Vec<f64> {
    let results = testing::run(&[1, 1], backend, |worker| {
        let mut times = Vec::new();
        let mut number = 0u64;
        for sample in 0..=samples {
            let start = Instant::now();
            for _ in 0..rounds {
                if worker.worker_id() == 0 {
                    worker.send(number, 1)?;
                    number = worker.recv(1)?;
                } else {
                    number = worker.recv(0)?;
                    worker.send(number, 0)?;
                }
            }
            if sample > 0 {
                times.push(start.elapsed().as_nanos() as f64 / f64::from(rounds) / 2.0);
            }
        }
        Ok(times)
    });
    results[0].clone().unwrap()
}
