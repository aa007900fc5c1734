//! Measures from the call that cancels a flare whose workers never return until all its slots, processes,
//! containers and keys are gone.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Redis, Settings, failing, wait};
use serde_json::json;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);

pub fn measure(runs: usize, report: &mut Report) {
    for driver in Driver::ALL {
        let redis = Redis::start_at(&driver.host());
        let settings = Settings::new(driver).backend("redis-list", &redis.uri());
        let platform = Platform::start(settings.limit(Duration::from_secs(600)));
        failing::deploy(&platform);
        // The first run warms up the JVM and the daemon.
        let times = (0..=runs).map(|_| cancel(&platform, &redis)).skip(1);
        report.add(
            format!(
                "cancelling 8 workers that never return, 2 packs, call to all free, {}",
                driver.name()
            ),
            "ms",
            Summary::of(times.collect()),
            None,
            "< 1000",
        );
    }
}

fn cancel(platform: &Platform, redis: &Redis) -> f64 {
    let look = || (platform.footprint(), redis.keys(), redis.users());
    let before = look();
    let request = json!({"size": 8, "params": {"how": "loop"}, "granularity": 4,
                         "packing": "homogeneous"});
    let id = platform.api().flare(failing::NAME, &request);
    platform.api().all_wrote(&id, failing::MARK);
    let asked = Instant::now();
    platform.api().cancel(&id);
    wait::until_seen("all is as before", LIMIT, look, |now| *now == before);
    let took = asked.elapsed();
    // The flare counts as ended once its record is stored, which is later.
    assert_eq!(platform.api().ended(&id).state, "cancelled");
    took.as_secs_f64() * 1e3
}
