//! How long workers that sleep five seconds live at the same time.

use crate::bed::{self, Bed};
use crate::findings::{self, Findings};
use crate::size::Size;
use burst_tests::Driver;
use serde_json::json;

/// Milliseconds.
const SLEEP: u64 = 5000;

pub fn measure(size: &Size, findings: &mut Findings) {
    findings.about(
        "Simultaneity of workers that sleep five seconds (Fig. 8)",
        "The paper: 960 workers on 20 machines. Here: 48 on one, cold. Workers of a flare start together once all packs \
         are ready, whatever the granularity: at g = 1 that is late, but not ragged as it is where each function is \
         invoked by itself. MAD: the median absolute deviation of the starts.",
    );
    let bed = Bed::start_cold(Driver::Docker, size.workers);
    bed.deploy("probe");
    let run = |granularity| {
        let flare = bed.flare(
            "probe",
            size.workers,
            granularity,
            json!({"sleep": SLEEP}),
            json!({"memory": 16}),
        );
        bed.settle();
        flare
    };
    run(size.workers);
    for granularity in [1, size.workers] {
        let system = format!("g={granularity}");
        for number in 0..size.runs {
            let flare = run(granularity);
            if number == 0 {
                bed::keep_spans(findings, &system, &bed.timeline(&flare), flare.created);
            }
            let starts = bed::starts(&flare);
            let ends = flare.workers.iter().map(|worker| worker.ended.unwrap());
            let first_end = bed::seconds(ends.min().unwrap() - flare.created);
            let last = starts.iter().copied().fold(0.0, f64::max);
            let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
            findings.add(&system, "cold", "range of starts", "s", last - first);
            findings.add(
                &system,
                "cold",
                "MAD of starts",
                "s",
                findings::deviation(&starts),
            );
            findings.add(
                &system,
                "cold",
                "time all were running",
                "s",
                first_end - last,
            );
        }
    }
    let all = format!("g={}", size.workers);
    let ratio =
        |figure| findings.median("g=1", "cold", figure) / findings.median(&all, "cold", figure);
    let (mad, range) = (ratio("MAD of starts"), ratio("range of starts"));
    findings.at_least(
        &format!("MAD of starts, {all} lower than g = 1 by"),
        mad,
        "26.5 ×",
        26.5,
    );
    findings.at_least(
        &format!("range of starts, {all} narrower than g = 1 by"),
        range,
        "43 ×",
        43.0,
    );
}
