//! The time from request to result of 48 workers that do nothing, on a warm pack and on a group's,
//! as seen by an HTTP client.

use crate::report::Report;
use crate::summary::Summary;
use burst_client::{Error, Waited};
use burst_tests::{Driver, Platform, Settings};
use serde_json::json;
use std::time::Instant;

/// Flares before the counted ones, in which the JVM compiles frequently used code.
const WARM_UP: usize = 200;

pub fn measure(runs: usize, report: &mut Report) {
    for driver in Driver::ALL {
        let platform = Platform::start(Settings::new(driver).slots(48));
        crate::deploy(&platform, "noop");
        let client = platform.api().client();
        let many = |flare: &dyn Fn() -> Result<Waited, Error>| {
            (0..WARM_UP).for_each(|_| {
                timed(flare);
            });
            Summary::of((0..runs * 10).map(|_| timed(flare)).collect())
        };
        let shape = json!({"size": 48, "params": {}, "granularity": 48, "memory": 16});
        let ours = many(&|| client.flare_and_wait("noop", &shape));
        report.add(
            format!(
                "flare of 48 no-op workers, warm pack, request to result, {}",
                driver.name()
            ),
            "ms",
            ours,
            None,
            "<= 10",
        );
        let terms = json!({"definition": "noop", "size": 48, "granularity": 48, "memory": 16});
        let opened = client.open_group(&terms).unwrap();
        let group = opened.read().unwrap().group_id;
        let input = json!({"params": {}});
        report.add(
            format!(
                "flare of 48 no-op workers on a group, request to result, {}",
                driver.name()
            ),
            "ms",
            many(&|| client.flare_on_group_and_wait(&group, &input)),
            Some(("the same on a warm pack", ours)),
            "",
        );
    }
}

/// Returns the time from request to result, in milliseconds.
fn timed(flare: &dyn Fn() -> Result<Waited, Error>) -> f64 {
    let asked = Instant::now();
    let waited = flare().unwrap();
    let took = asked.elapsed();
    let Waited::Ended(answer) = waited else {
        panic!("it goes on");
    };
    assert_eq!(answer.read().unwrap().outputs.len(), 48);
    took.as_secs_f64() * 1e3
}
