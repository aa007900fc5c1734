//! Request to result of 48 workers that do nothing, on a warm pack and on a group's, as an HTTP
//! client sees it.

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
        let flare = |path: &str, body: &Value| {
            let asked = Instant::now();
            let answer = platform
                .api()
                .post(&format!("{path}?blocking=true&result=true"), body);
            let took = asked.elapsed();
            let result: Value = answer.expect(200);
            assert_eq!(result["outputs"].as_array().map(Vec::len), Some(48));
            took.as_secs_f64() * 1e3
        };
        let many = |path: &str, body: Value| {
            (0..WARM_UP).for_each(|_| {
                flare(path, &body);
            });
            Summary::of((0..runs * 10).map(|_| flare(path, &body)).collect())
        };
        let ours = many(
            "bursts/noop",
            json!({"size": 48, "params": {}, "granularity": 48, "memory": 16}),
        );
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
        let opened: Value = platform.api().post("groups", &terms).expect(202);
        let group = format!("groups/{}", opened["groupId"].as_str().unwrap());
        report.add(
            format!(
                "flare of 48 no-op workers on a group, request to result, {}",
                driver.name()
            ),
            "ms",
            many(&group, json!({"params": {}})),
            Some(("the same on a warm pack", ours)),
            "",
        );
    }
}
