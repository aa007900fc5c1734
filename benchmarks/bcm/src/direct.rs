//! Between two packs over `direct`, against a bare connection.

use crate::report::Report;
use crate::summary::Summary;
use crate::tcp::{self, Iperf};
use burst_bcm::{BackendConfig, PackConfig, testing};
use std::time::Instant;

/// One-way time of eight bytes.
pub fn latency(turns: usize, report: &mut Report) {
    let (rounds, samples) = (2_000, 10);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        theirs.extend(tcp::ping_pong(rounds, samples).iter().map(|ns| ns / 1e3));
        ours.extend(ping_pong(rounds, samples).iter().map(|ns| ns / 1e3));
    }
    report.add(
        "direct one-way, 8 B, two packs",
        "µs",
        Summary::of(ours),
        Some(("bare TCP in Rust", Summary::of(theirs))),
        "ratio <= 1.5",
    );
}

fn ping_pong(rounds: u32, samples: usize) -> Vec<f64> {
    let backend = BackendConfig::new("direct");
    let results = testing::run(&[1, 1], &backend, |worker| {
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

/// What one message of 256 MB gets through, from the start of `send` to the end of `recv`.
pub fn throughput(turns: usize, report: &mut Report) {
    let bytes = 256 << 20;
    let iperf = Iperf::start();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        theirs.push(iperf.run(bytes));
        ours.extend(one_message(bytes, 4));
    }
    report.add(
        "direct, one message of 256 MB, two packs",
        "GB/s",
        Summary::of(ours),
        Some(("iperf3, one stream", Summary::of(theirs))),
        "ratio >= 0.9",
    );
}

fn one_message(bytes: usize, samples: usize) -> Vec<f64> {
    let backend = BackendConfig::new("direct");
    let configure = |config: &mut PackConfig| config.max_bytes_in_flight = 1 << 30;
    let results = testing::run_with(&[1, 1], &backend, configure, |worker| {
        let mut rates = Vec::new();
        let mut value = vec![1u8; bytes];
        for sample in 0..=samples {
            worker.barrier()?;
            let start = Instant::now();
            if worker.worker_id() == 0 {
                worker.send(value, 1)?;
                value = Vec::new();
            } else {
                value = worker.recv(0)?;
            }
            let took = start.elapsed().as_secs_f64();
            if worker.worker_id() == 1 {
                assert!(value.len() == bytes && value[bytes - 1] == 1);
                if sample > 0 {
                    rates.push(bytes as f64 / 1e9 / took);
                }
                value = Vec::new();
            } else {
                value = vec![1u8; bytes];
            }
        }
        Ok(rates)
    });
    results[1].clone().unwrap()
}
