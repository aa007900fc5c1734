//! TeraSort on two workers, in one pack and in two, compared with GNU sort with two threads on the
//! same file.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings, account, times};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use terasort::{generate::Records, record::RECORD, validate};

pub fn measure(bytes: u64, runs: usize, report: &mut Report) {
    let scratch = account::directory("burst-sorting-");
    let input = scratch.path().join("input");
    Records {
        count: bytes / RECORD as u64,
        seed: 1,
    }
    .write(&input, 2)
    .unwrap();
    let expected = validate::summarise(&input).unwrap();

    let platform = Platform::start(
        Settings::new(Driver::Process)
            .slots(2)
            .limit(Duration::from_secs(1800)),
    );
    crate::deploy(&platform, "terasort");
    let sort = |granularity: u32| {
        let output = account::directory_in(scratch.path());
        let flare = crate::run(
            &platform,
            "terasort",
            json!({"size": 2, "granularity": granularity, "packing": "homogeneous", "timeout": 300_000,
                   "memory": 8192, "params": {"input": input, "output": output.path()}}),
        );
        assert_eq!(validate::check_sorted(output.path()).unwrap(), expected);
        let took = times::between(flare.created, flare.ended.unwrap());
        rate(bytes, took.as_secs_f64())
    };

    let (mut one, mut two, mut gnu) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        one.push(sort(2));
        two.push(sort(1));
        gnu.push(gnu_sort(&input, scratch.path(), bytes));
    }
    let gnu = Summary::of(gnu);
    for (what, ours) in [("one pack", one), ("two packs, direct", two)] {
        report.add(
            format!(
                "TeraSort of {} MB, n=2, {what}, request to end",
                bytes / 1_000_000
            ),
            "MB/s",
            Summary::of(ours),
            Some(("sort --parallel=2, same file", gnu)),
            "",
        );
    }
}

fn gnu_sort(input: &Path, scratch: &Path, bytes: u64) -> f64 {
    let output = scratch.join("gnu");
    let asked = Instant::now();
    let status = Command::new("sort")
        .args(["--parallel=2", "--buffer-size=8G", "--temporary-directory"])
        .args([scratch, Path::new("--output"), &output, input])
        .env("LC_ALL", "C")
        .status()
        .unwrap();
    let took = asked.elapsed();
    assert!(status.success());
    std::fs::remove_file(output).unwrap();
    rate(bytes, took.as_secs_f64())
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / 1e6 / seconds
}
