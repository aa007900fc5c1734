//! Request to result of 48 workers that do nothing, on a warm pack, as an HTTP client sees it.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings};
use serde_json::{Value, json};
use std::time::Instant;

/// Flares before the counted ones: the JVM compiles what is used often.
const WARM_UP: usize = 200;

pub fn measure(runs: usize, report: &mut Report) {
    for driver in [Driver::Process, Driver::Docker] {
        let platform = Platform::start(Settings::new(driver).slots(48));
        crate::deploy(&platform, "noop");
        let flare = || {
            let asked = Instant::now();
            let answer = platform.api().post(
                "bursts/noop?blocking=true&result=true",
                &json!({"size": 48, "params": {}, "granularity": 48, "memory": 16}),
            );
            let took = asked.elapsed();
            let result: Value = answer.expect(200);
            assert_eq!(result["outputs"].as_array().map(Vec::len), Some(48));
            took.as_secs_f64() * 1e3
        };
        (0..WARM_UP).for_each(|_| {
            flare();
        });
        let ours = Summary::of((0..runs * 10).map(|_| flare()).collect());
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
    }
}
