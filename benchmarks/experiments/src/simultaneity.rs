//! How long workers that sleep five seconds live at the same time.

use crate::bed::{self, Bed};
use crate::findings::{self, Findings};
use crate::size::Size;
use burst_client::Flare;
use burst_tests::Driver;
use serde_json::json;
use std::time::SystemTime;

/// How long each worker sleeps, in milliseconds.
const SLEEP: u64 = 5000;

/// The name of the system in which workers run as separate functions, without packs and groups.
const FUNCTIONS: &str = "functions";

pub fn measure(size: &Size, findings: &mut Findings) {
    findings.about(
        "Simultaneity of workers that sleep five seconds (Fig. 8)",
        "The paper: 960 workers on 20 machines, FaaS being g = 1 there, where each function is invoked by itself. Here: 48 \
         workers on one machine, cold, in three ways. Functions: 48 flares of one worker, asked for at once, which is what \
         FaaS does. g=1: one flare in 48 containers; its workers start together once all packs are ready, which at g = 1 is \
         late, but not ragged. g=48: one flare in one container. MAD: the median absolute deviation of the starts.",
    );
    let workers = size.workers;
    let bed = Bed::start_cold(Driver::Docker, workers);
    bed.deploy("probe");
    let run = |granularity| {
        let (input, more) = (json!({"sleep": SLEEP}), json!({"memory": 16}));
        let flare = bed.flare("probe", workers, granularity, input, more);
        bed.settle();
        vec![flare]
    };
    let functions = || {
        let flares = bed.flares_of_one("probe", workers, json!({"sleep": SLEEP}), 16);
        bed.settle();
        flares
    };
    run(workers);
    let all = format!("g={workers}");
    for number in 0..size.runs {
        for (system, flares) in [
            (FUNCTIONS, functions()),
            ("g=1", run(1)),
            (all.as_str(), run(workers)),
        ] {
            keep(findings, system, &flares);
            if number == 0 {
                keep_lifetimes(findings, &bed, system, &flares);
            }
        }
    }
    let ratio = |system: &str, figure| {
        findings.median(system, "cold", figure) / findings.median(&all, "cold", figure)
    };
    let ratios = [(FUNCTIONS, "functions"), ("g=1", "g = 1")].map(|(system, name)| {
        (
            name,
            ratio(system, "MAD of starts"),
            ratio(system, "range of starts"),
        )
    });
    for (name, mad, range) in ratios {
        let what = format!("MAD of starts, {all} lower than {name} by");
        let why = "At g = 1 a flare starts its workers together too, unlike the paper's FaaS: the starts of 48 containers \
                   spread over milliseconds instead of seconds, so there is less to be narrower than.";
        findings
            .at_least(&what, mad, "26.5 × (than FaaS)", 26.5)
            .if_missed(why);
        let what = format!("range of starts, {all} narrower than {name} by");
        findings
            .at_least(&what, range, "43 × (than FaaS)", 43.0)
            .if_missed(why);
    }
    let paper = |system: &str, range, mad, findings: &mut Findings| {
        findings.cite(system, "range of starts", "s", &[("960 workers", range)]);
        findings.cite(system, "MAD of starts", "s", &[("960 workers", mad)]);
    };
    paper("FaaS", 18.8, 2.65, findings);
    paper("g=48", 0.44, 0.1, findings);
}

fn keep(findings: &mut Findings, system: &str, flares: &[Flare]) {
    let asked = flares.iter().map(|flare| flare.created).min().unwrap();
    let workers = || flares.iter().flat_map(|flare| &flare.workers);
    let since = |at: Option<SystemTime>| bed::seconds(asked, at.unwrap());
    let starts: Vec<f64> = workers().map(|worker| since(worker.started)).collect();
    let ends = workers().map(|worker| since(worker.ended));
    let first_end = ends.fold(f64::INFINITY, f64::min);
    let last = starts.iter().copied().fold(0.0, f64::max);
    let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
    let mad = findings::deviation(&starts);
    findings.add(system, "cold", "all running", "s", last);
    findings.add(system, "cold", "range of starts", "s", last - first);
    findings.add(system, "cold", "MAD of starts", "s", mad);
    findings.add(
        system,
        "cold",
        "all running at a time",
        "s",
        first_end - last,
    );
}

fn keep_lifetimes(findings: &mut Findings, bed: &Bed, system: &str, flares: &[Flare]) {
    let asked = flares.iter().map(|flare| flare.created).min().unwrap();
    for (number, flare) in (0..).zip(flares) {
        let mut timeline = bed.timeline(flare);
        if flares.len() > 1 {
            // Each is worker 0 of its own flare.
            timeline.workers[0].worker = number;
        }
        bed::keep_spans(findings, system, &timeline, asked);
    }
}
