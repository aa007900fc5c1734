//! A cold flare of one pack on every driver, until all workers run, compared with a `docker run` of the same image:
//! on Docker's default network, and on a network created for it, as used to isolate packs.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings, docker, times};
use serde_json::json;
use std::time::{Duration, Instant};

const IMAGE: &str = "burst-runtime:latest";

/// Returns the goal for a driver's flare relative to the container.
fn goal(driver: Driver) -> &'static str {
    match driver {
        Driver::Sandbox => "<= 0.15 x; process + 10 ms",
        Driver::Docker => "<= reference + 60 ms",
        _ => "",
    }
}

pub fn measure(runs: usize, report: &mut Report) {
    let platforms = Driver::ALL.map(|driver| {
        let settings = Settings::new(driver)
            .slots(8)
            .idle_timeout(Duration::from_millis(1));
        let platform = Platform::start(settings);
        crate::deploy(&platform, "noop");
        (driver, platform, goal(driver))
    });
    let network = Network::make();
    let (mut flares, mut containers, mut apart) =
        (Driver::ALL.map(|_| Vec::new()), Vec::new(), Vec::new());
    for run in 0..=runs {
        let cold: Vec<_> = (platforms.iter())
            .map(|(_, platform, _)| cold_flare(platform))
            .collect();
        let on_dockers = docker_run("bridge");
        let on_its_own = docker_run(&network.0);
        // The first run warms up the JVM and the daemon.
        if run > 0 {
            for (all, took) in flares.iter_mut().zip(cold) {
                all.push(took);
            }
            containers.push(on_dockers);
            apart.push(on_its_own);
        }
    }
    let container = (
        "docker run --detach of the same image",
        Summary::of(containers),
    );
    for ((driver, _, goal), took) in platforms.iter().zip(flares) {
        let what = driver.name();
        report.add(
            format!("cold flare of 8 workers in one {what} pack, request to all running"),
            "ms",
            Summary::of(took),
            Some(container),
            goal,
        );
    }
    report.add(
        "docker run --detach of the same image, on a network made for it",
        "ms",
        Summary::of(apart),
        Some(container),
        "",
    );
}

/// A Docker network. Dropping it removes the network.
struct Network(String);

impl Network {
    fn make() -> Self {
        let name = format!("burst-benchmark-{}", std::process::id());
        docker::docker(&["network", "create", &name]);
        Self(name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        docker::docker(&["network", "rm", &self.0]);
    }
}

fn cold_flare(platform: &Platform) -> f64 {
    let flare = crate::run(
        platform,
        "noop",
        json!({"size": 8, "params": {}, "granularity": 8}),
    );
    assert_eq!(flare.packs[0].start, Some("cold".into()));
    burst_tests::wait::until_seen(
        "no pack is left",
        Duration::from_secs(10),
        || (platform.containers().len(), platform.api().warm_packs()),
        |left| *left == (0, 0),
    );
    let all_running = flare
        .workers
        .iter()
        .filter_map(|w| w.started)
        .max()
        .unwrap();
    times::milliseconds_between(flare.created, all_running)
}

/// Measures until the command returns, which is when the container's process has been started.
fn docker_run(network: &str) -> f64 {
    let asked = Instant::now();
    let id = docker::docker(&[
        "run",
        "--detach",
        "--network",
        network,
        IMAGE,
        "serve",
        "--listen",
        "0.0.0.0:8080",
        "--keep-open",
    ]);
    let took = asked.elapsed();
    docker::remove(id.trim());
    took.as_secs_f64() * 1e3
}
