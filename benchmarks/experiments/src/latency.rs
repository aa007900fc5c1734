//! Invocation latency by granularity.

use crate::bed::{self, Bed};
use crate::findings::{self, Findings};
use crate::size::Size;
use burst_client::Flare;
use burst_tests::Driver;
use serde_json::json;

pub fn measure(size: &Size, findings: &mut Findings) {
    findings.about(
        "Invocation latency by granularity (Fig. 7)",
        "The paper: 48 and 960 workers on up to 20 machines with 48 vCPUs each, FaaS being g = 1. Here: 48 workers of one \
         machine with two processors, each container with a share of them. Cold: every container is created for the \
         flare; prewarmed: containers without a package wait for it, as many as are needed; warm: the containers of the \
         flare before serve it. All running: from the request until the last worker's function is entered. Spread: from \
         the first worker that runs to the last; MAD: the median absolute deviation of the starts.",
    );
    let workers = size.workers;
    let granularities = bed::granularities(workers);
    let run = |bed: &Bed, granularity| {
        let more = json!({"memory": 16});
        bed.flare("noop", workers, granularity, json!({}), more)
    };
    let bed = Bed::start_cold(Driver::Docker, workers);
    bed.deploy("noop");
    // The first flare warms up the JVM and the daemon.
    run(&bed, workers);
    bed.settle();
    for &granularity in &granularities {
        for _ in 0..size.runs {
            keep(findings, &run(&bed, granularity), granularity, "cold");
            bed.settle();
        }
    }
    drop(bed);
    for &granularity in &granularities {
        let packs = workers / granularity;
        let bed = Bed::start_prewarmed(Driver::Docker, workers, packs);
        bed.deploy("noop");
        for number in 0..=size.runs {
            let flare = bed.prewarmed(packs, || run(&bed, granularity));
            if number > 0 {
                keep(findings, &flare, granularity, "prewarmed");
            }
        }
    }
    for &granularity in &granularities {
        let bed = Bed::start(Driver::Docker, workers);
        bed.deploy("noop");
        run(&bed, granularity);
        for _ in 0..size.runs {
            keep(findings, &run(&bed, granularity), granularity, "warm");
        }
    }
    let all = format!("g={workers}");
    for kind in ["cold", "prewarmed", "warm"] {
        let figure = |setting: &str, name| findings.median(kind, setting, name);
        let running = figure("g=1", "all running") / figure(&all, "all running");
        let (paper, goal) = match kind {
            "cold" => ("11.5 × (960 workers, g = 48)", 11.5),
            _ => ("not measured", 1.0),
        };
        let what = format!("{kind}: all {workers} running, {all} faster than g = 1 by");
        findings.at_least(&what, running, paper, goal);
    }
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
