//! Outputs of a gigabyte through a platform whose JVM has 512 MiB of heap, and how fast a client
//! reads them.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings};
use serde_json::json;
use std::time::{Duration, Instant};

const WORKERS: u64 = 64;
/// The maximum output of a worker, minus its quotes.
const OUTPUT: u64 = (16 << 20) - 2;

pub fn measure(report: &mut Report) {
    let settings = Settings::new(Driver::Process)
        .slots(WORKERS as u32)
        .surroundings("export JDK_JAVA_OPTIONS=-Xmx512m")
        .limit(Duration::from_secs(900));
    let platform = Platform::start(settings);
    crate::deploy(&platform, "burden");
    let start = Instant::now();
    let flare = crate::run(
        &platform,
        "burden",
        json!({"size": WORKERS, "params": {"output": OUTPUT}, "granularity": 8, "timeout": 300_000}),
    );
    let stored = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let length = platform
        .api()
        .length(&format!("flares/{}/result", flare.flare_id));
    let read = start.elapsed().as_secs_f64();
    assert!(
        length > WORKERS * OUTPUT,
        "{length} bytes are not all of it"
    );
    let megabytes = (WORKERS * OUTPUT) as f64 / 1e6;
    for (what, seconds) in [("from the request until stored", stored), ("read", read)] {
        report.add(
            format!("outputs of 1 GiB, 64 workers, JVM of 512 MiB: {what}"),
            "MB/s",
            Summary::of(vec![megabytes / seconds]),
            None,
            "",
        );
    }
    report.add(
        "the same: most memory of the JVM's process",
        "MiB",
        Summary::of(vec![platform.peak_memory() as f64 / f64::from(1 << 20)]),
        None,
        "",
    );
}
