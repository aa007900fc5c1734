//! Invocation latency by granularity.

use crate::bed::{self, Bed};
use crate::findings::{self, Findings};
use crate::size::Size;
use burst_tests::Driver;
use burst_tests::model::Flare;
use serde_json::json;

pub fn measure(size: &Size, findings: &mut Findings) {
    findings.about(
        "Invocation latency by granularity (Fig. 7)",
        "The paper: 48 and 960 workers on up to 20 machines with 48 vCPUs each, FaaS being g = 1. Here: 48 workers of one \
         machine with two processors, each container with a share of them. Cold: every container is created for the \
         flare; warm: the containers of the flare before serve it. All running: from the request until the last \
         worker's function is entered.",
    );
    let workers = size.workers;
    let bed = Bed::start_cold(Driver::Docker, workers);
    bed.deploy("noop");
    // The first flare warms up the JVM and the daemon.
    run(&bed, workers, workers);
    bed.settle();
    for granularity in bed::granularities(workers) {
        for _ in 0..size.runs {
            keep(
                findings,
                &run(&bed, workers, granularity),
                granularity,
                "cold",
            );
            bed.settle();
        }
    }
    drop(bed);
    for granularity in bed::granularities(workers) {
        let bed = Bed::start(Driver::Docker, workers);
        bed.deploy("noop");
        run(&bed, workers, granularity);
        for _ in 0..size.runs {
            keep(
                findings,
                &run(&bed, workers, granularity),
                granularity,
                "warm",
            );
        }
    }
    let all = format!("g={workers}");
    for kind in ["cold", "warm"] {
        let figure = |setting: &str, name| findings.median(kind, setting, name);
        let running = figure("g=1", "all running") / figure(&all, "all running");
        let spread = figure("g=1", "spread") / figure(&all, "spread");
        let (paper, goal) = match kind {
            "cold" => ("11.5 × (960 workers, g = 48)", 11.5),
            _ => ("not measured", 1.0),
        };
        let what = format!("{kind}: all {workers} running, {all} faster than g = 1 by");
        findings.at_least(&what, running, paper, goal);
        if kind == "cold" {
            let what = format!("cold: spread of the starts, {all} narrower than g = 1 by");
            findings.at_least(&what, spread, "43 × (960 workers)", 43.0);
        }
    }
}

fn run(bed: &Bed, workers: u32, granularity: u32) -> Flare {
    bed.flare(
        "noop",
        workers,
        granularity,
        json!({}),
        json!({"memory": 16}),
    )
}

fn keep(findings: &mut Findings, flare: &Flare, granularity: u32, kind: &str) {
    assert_eq!(bed::start_kind(flare), kind);
    let starts = bed::starts(flare);
    let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
    let last = starts.iter().copied().fold(0.0, f64::max);
    let setting = format!("g={granularity}");
    let median = findings::median(starts.clone());
    findings.add(kind, &setting, "all running", "s", last);
    findings.add(kind, &setting, "median start", "s", median);
    findings.add(kind, &setting, "spread", "s", last - first);
    findings.add(kind, &setting, "MAD", "s", findings::deviation(&starts));
}
