//! 48 workers in one container, compared with 48 containers of one worker and with 48 sandboxes: the time until all
//! run, and how far apart they start.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings, times};
use serde_json::json;
use std::time::{Duration, SystemTime};

const WORKERS: u32 = 48;

pub fn measure(runs: usize, report: &mut Report) {
    let platforms = [Driver::Docker, Driver::Sandbox].map(|driver| {
        let settings = Settings::new(driver)
            .slots(WORKERS)
            .idle_timeout(Duration::from_millis(1))
            .limit(Duration::from_secs(600));
        let platform = Platform::start(settings);
        crate::deploy(&platform, "noop");
        starts(&platform, WORKERS);
        platform
    });
    let [docker, sandbox] = &platforms;
    let (mut together, mut apart, mut shut_in) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        together.push(starts(docker, WORKERS));
        apart.push(starts(docker, 1));
        shut_in.push(starts(sandbox, 1));
    }
    report.add(
        "request to all 48 running, sandbox, cold, g=1",
        "ms",
        Summary::of(shut_in.iter().map(|it| it.all_running).collect()),
        Some((
            "the same with docker",
            Summary::of(apart.iter().map(|it| it.all_running).collect()),
        )),
        "ratio <= 0.1",
    );
    type Figure = fn(&Starts) -> f64;
    let figures: [(&str, Figure, &str); 2] = [
        (
            "request to all 48 running",
            |s| s.all_running,
            "ratio <= 0.087 (11.5 x faster)",
        ),
        (
            "spread of the 48 starts",
            |s| s.spread,
            "ratio <= 0.023 (43 x narrower)",
        ),
    ];
    for (what, figure, goal) in figures {
        report.add(
            format!("{what}, docker, cold, g=48"),
            "ms",
            Summary::of(together.iter().map(figure).collect()),
            Some((
                "the same at g=1",
                Summary::of(apart.iter().map(figure).collect()),
            )),
            goal,
        );
    }
}

/// In milliseconds.
struct Starts {
    all_running: f64,
    spread: f64,
}

fn starts(platform: &Platform, granularity: u32) -> Starts {
    let flare = crate::run(
        platform,
        "noop",
        json!({"size": WORKERS, "params": {}, "granularity": granularity, "packing": "homogeneous", "memory": 16,
               "timeout": 120_000}),
    );
    assert_eq!(flare.packs.len() as u32, WORKERS / granularity);
    burst_tests::wait::until_seen(
        "no pack is left",
        Duration::from_secs(60),
        || (platform.containers().len(), platform.api().warm_packs()),
        |left| *left == (0, 0),
    );
    let starts: Vec<SystemTime> = flare.workers.iter().map(|w| w.started.unwrap()).collect();
    let (first, last) = (*starts.iter().min().unwrap(), *starts.iter().max().unwrap());
    Starts {
        all_running: times::milliseconds_between(flare.created, last),
        spread: times::milliseconds_between(first, last),
    }
}
