//! Time until all workers of a grid search are ready to train.

use crate::bed::{self, Bed};
use crate::findings::Findings;
use crate::size::Size;
use burst_tests::{Driver, S3Server, docker};
use serde_json::json;
use std::fmt::Write;

pub fn measure(size: &Size, findings: &mut Findings) {
    findings.about(
        "Ready time of a grid search (Table 3)",
        "The paper: 96 workers, 500 MB of Amazon reviews, Python; g = 1 is AWS Lambda. Here: the descriptions of Debian's \
         packages, several times over, from an S3 server on the same machine; docker, cold. Ready is when the last worker \
         begins to train: containers started, data loaded and turned into numbers. At g = 1 every worker turns all texts \
         into numbers by itself; in a pack each does a share.",
    );
    let workers = size.loaders;
    let store = S3Server::fast(&docker::bridge_gateway());
    let packages = debian::read().unwrap();
    let mut text = String::new();
    for package in &packages.list {
        let library = u8::from(package.is_library());
        writeln!(text, "{library}\t{}", package.description).unwrap();
    }
    let text = text.repeat(size.texts as usize);
    std::fs::write(store.file("texts"), &text).unwrap();
    let bed = Bed::start_cold_near(Driver::Docker, workers, &store.address());
    bed.deploy("gridsearch");
    let memory = (text.len() >> 20) * 4 + 64;
    // One epoch, and one combination for each worker, because only the time before training is
    // measured.
    let rates: Vec<f64> = (1..=workers)
        .map(|worker| f64::from(worker) / 100.0)
        .collect();
    let input =
        json!({"data": store.url("texts"), "rates": rates, "penalties": [0.0], "epochs": [1]});
    for granularity in bed::granularities(workers) {
        for _ in 0..size.runs {
            let more = json!({"memory": memory / granularity as usize + 64});
            let flare = bed.flare("gridsearch", workers, granularity, input.clone(), more);
            let timeline = bed.timeline(&flare);
            let setting = format!("g={granularity}");
            let mut add = |figure, seconds| findings.add("burst", &setting, figure, "s", seconds);
            add("ready", bed::entered(&timeline, "train"));
            add("all running", bed::entered(&timeline, "load"));
            add("loading", bed::extent(&timeline, "load"));
            add("parsing", bed::extent(&timeline, "parse"));
            bed.settle();
        }
    }
    let all = format!("g={workers}");
    let faster = findings.median("burst", "g=1", "ready") / findings.median("burst", &all, "ready");
    let what = format!("ready, {all} sooner than g = 1 by");
    let times = [
        ("g=1", 17.51),
        ("g=6", 5.65),
        ("g=12", 3.64),
        ("g=24", 3.18),
        ("g=48", 2.96),
        ("g=96", 2.57),
    ];
    findings.cite("96 workers", "ready", "s", &times);
    let part = |figure| findings.median("burst", &all, figure);
    let why = format!(
        "Of the {:.2} s at {all}, {:.2} s start the container, and {:.2} s load and parse on the same two processors that \
         all granularities have; the paper's machines have a processor for each worker.",
        part("ready"),
        part("all running"),
        part("loading") + part("parsing")
    );
    findings
        .at_least(&what, faster, "6.8 × (17.51 s and 2.57 s, 96 workers)", 6.8)
        .if_missed(&why);
}
