//! A cold flare on a pre-warmed container, compared with the same flare on a warm pack: from the request
//! until all workers run.

use crate::report::Report;
use crate::summary::Summary;
use burst_client::Flare;
use burst_tests::{Driver, Platform, Settings, times, wait};
use serde_json::json;
use std::time::Duration;

/// The idle timeout of packs: longer than two flares take, and shorter than the platform takes to remove a
/// pack.
const IDLE: Duration = Duration::from_millis(700);

/// The time the daemon takes to remove a container.
const SETTLED: Duration = Duration::from_secs(1);

pub fn measure(runs: usize, report: &mut Report) {
    for driver in Driver::ALL {
        let settings = Settings::new(driver).prewarmed(1).idle_timeout(IDLE);
        let platform = Platform::start(settings.limit(Duration::from_secs(600)));
        crate::deploy(&platform, "noop");
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for run in 0..=runs {
            wait::until_seen(
                "nothing is warm and a container is ready",
                Duration::from_secs(20),
                || {
                    (
                        platform.api().warm_packs(),
                        platform.api().prewarmed_packs(),
                    )
                },
                |seen| *seen == (0, 1),
            );
            // The platform no longer counts the last pair's container, but the daemon is still removing it.
            std::thread::sleep(SETTLED);
            let pair = [flare(&platform, "prewarmed"), flare(&platform, "warm")];
            // The first pair warms up the JVM and the daemon.
            if run > 0 {
                cold.push(pair[0]);
                warm.push(pair[1]);
            }
        }
        report.add(
            format!(
                "cold flare of 8 workers in one pre-warmed pack, request to all running, {}",
                driver.name()
            ),
            "ms",
            Summary::of(cold),
            Some(("the same on a warm pack", Summary::of(warm))),
            "ratio <= 2",
        );
    }
}

fn flare(platform: &Platform, start: &str) -> f64 {
    let request = json!({"size": 8, "params": {}, "granularity": 8, "memory": 16});
    let flare: Flare = crate::run(platform, "noop", request);
    assert_eq!(flare.packs[0].start, Some(start.into()));
    let running = flare.workers.iter().filter_map(|w| w.started).max();
    times::milliseconds_between(flare.created, running.unwrap())
}
