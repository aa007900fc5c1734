//! Measures from the event that ends a flare early, a worker's failure or the flare's timeout, until the flare has
//! ended and all its workers have been notified.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings, failing, times};
use serde_json::json;
use std::time::Duration;

/// The worker that fails. It is in the second of two packs, so that the failure has to cross from pack to pack.
const WHO: u32 = 7;

pub fn measure(runs: usize, report: &mut Report) {
    for driver in Driver::ALL {
        let platform = Platform::start(Settings::new(driver).limit(Duration::from_secs(600)));
        failing::deploy(&platform);
        for (how, from) in [("panic", "that"), ("loop", "its time-out")] {
            // The first run warms up the JVM and the daemon.
            let times = (0..=runs).map(|_| fail(&platform, how)).skip(1);
            report.add(
                format!(
                    "flare of 8 workers, 2 packs, one does `{how}`: {from} to its end, {}",
                    driver.name()
                ),
                "ms",
                Summary::of(times.collect()),
                None,
                "< 1000",
            );
        }
    }
}

fn fail(platform: &Platform, how: &str) -> f64 {
    let api = platform.api();
    let request = json!({"size": 8, "params": failing::input(how, WHO), "granularity": 4,
                         "packing": "homogeneous", "timeout": 3_000});
    let flare = api.ended(&api.flare(failing::NAME, &request));
    let begin = match how {
        "loop" => api.deadline(&flare),
        _ => failing::marked(api, &flare, WHO),
    };
    times::milliseconds_between(begin, flare.ended.unwrap())
}
