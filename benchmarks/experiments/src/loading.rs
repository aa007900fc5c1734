//! Collective data loading by granularity.

use crate::bed::{self, Bed};
use crate::findings::Findings;
use crate::size::Size;
use burst_tests::{Driver, S3Server, docker};
use serde_json::json;

pub fn measure(size: &Size, findings: &mut Findings) {
    findings.about(
        "Collective loading of one object by granularity (Fig. 9)",
        "The paper: 96 workers load 1 GB from Amazon S3. Here: fewer workers, since at g = 1 each holds a copy, from an S3 \
         server on the same two processors, which has to produce every byte that is fetched; so there is no \
         bandwidth to gain by fetching in parallel, only fewer bytes. Fetched: what the server gave out, but for the one \
         byte per pack by which its size is asked for.",
    );
    let workers = size.loaders;
    let store = S3Server::fast(&docker::bridge_gateway());
    let bytes: Vec<u8> = (0..size.object)
        .map(|place| ((place * 31) >> 7) as u8)
        .collect();
    std::fs::write(store.file("object"), &bytes).unwrap();
    drop(bytes);
    let bed = Bed::start_cold_near(Driver::Docker, workers, &store.address());
    bed.deploy("probe");
    let memory = (size.object >> 20) + 64;
    let granularities = bed::granularities(workers);
    for &granularity in &granularities {
        let packs = u64::from(workers / granularity);
        for _ in 0..size.runs {
            let before = store.sent_bytes();
            let more = json!({"memory": memory / granularity as usize + 16});
            let input = json!({"load": store.url("object")});
            let flare = bed.flare("probe", workers, granularity, input, more);
            let fetched = store.sent_bytes() - before - packs;
            for output in bed.outputs(&flare) {
                assert_eq!(output["bytes"], size.object, "{output}");
            }
            let setting = format!("g={granularity}");
            let took = bed::extent(&bed.timeline(&flare), "load");
            findings.add("burst", &setting, "loading", "s", took);
            findings.add("burst", &setting, "fetched", "MB", fetched as f64 / 1e6);
            bed.settle();
        }
    }
    let exact = granularities.iter().all(|&granularity| {
        let fetched = findings.median("burst", &format!("g={granularity}"), "fetched");
        let expected = size.object as f64 * f64::from(workers / granularity) / 1e6;
        (fetched - expected).abs() < 1e-6
    });
    findings.claim(
        "bytes fetched are 1/g of those at g = 1",
        if exact { "exactly" } else { "not" },
        "once per pack",
        "exactly",
        exact,
    );
    let all = format!("g={workers}");
    let faster =
        findings.median("burst", "g=1", "loading") / findings.median("burst", &all, "loading");
    let what = format!("loading, {all} faster than g = 1 by");
    findings.at_least(&what, faster, "32.6 × (96 workers, g = 48)", 1.0);
}
