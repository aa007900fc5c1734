//! One flare in 48 packs, each a process or a container: what an all-to-all of all of them costs each of them.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

const PACKS: u32 = 48;
const BYTES: u32 = 1024;

/// What one pack found.
#[derive(Deserialize)]
struct Found {
    first_ms: f64,
    next_ms: f64,
    threads: f64,
    kib_per_peer: f64,
}

pub fn measure(report: &mut Report) {
    for driver in [Driver::Process, Driver::Sandbox, Driver::Docker] {
        let settings = Settings::new(driver)
            .slots(PACKS)
            .limit(Duration::from_secs(600));
        let platform = Platform::start(settings);
        crate::deploy(&platform, "crowd");
        let request = json!({"size": PACKS, "params": {"bytes": BYTES, "rounds": 10}, "granularity": 1,
                             "packing": "homogeneous", "memory": 64, "timeout": 120_000});
        let flare = crate::run(&platform, "crowd", request);
        assert_eq!(flare.packs.len() as u32, PACKS);
        let result = platform.api().result(&flare.flare_id);
        let found: Vec<Found> = result
            .outputs
            .iter()
            .map(|output| output.read().unwrap().unwrap())
            .collect();
        type Figure = fn(&Found) -> f64;
        let figures: [(&str, &'static str, Figure, &str); 4] = [
            ("the first", "ms", |it| it.first_ms, ""),
            ("the next", "ms", |it| it.next_ms, ""),
            ("threads of a pack", "", |it| it.threads, "<= 9"),
            ("memory for a peer", "KiB", |it| it.kib_per_peer, "<= 64"),
        ];
        for (what, unit, figure, goal) in figures {
            let name = driver.name();
            report.add(
                format!("{PACKS} packs, {name}, all-to-all of {BYTES} B, {what}"),
                unit,
                Summary::of(found.iter().map(figure).collect()),
                None,
                goal,
            );
        }
    }
}
