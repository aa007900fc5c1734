//! Time until workers do work.

use crate::bed::{self, Bed};
use crate::findings::Findings;
use crate::peers::Peers;
use crate::size::Size;
use burst_tests::{Driver, docker};
use serde_json::json;
use std::time::Instant;

const IMAGE: &str = "burst-runtime:latest";

pub fn measure(size: &Size, peers: &Peers, findings: &mut Findings) {
    findings.about(
        "Start-up (Table 1)",
        "The paper: clusters of many machines, from 1.7 s (burst computing, 960 workers) to 431 s (EMR Spark). Here: one \
         machine. Ours: from the request until all workers run, in one pack, on a platform that runs; the peers: from the \
         start of the process until every worker has done a task, so with starting Python or the JVM and importing the \
         package, which is what one waits for; docker: until `docker run` has returned for each of as many containers, \
         one after another.",
    );
    for workers in [8, size.workers] {
        let setting = format!("{workers} workers");
        for driver in [Driver::Docker, Driver::Process] {
            ours(driver, workers, size.runs, &setting, findings);
        }
        for _ in 0..size.runs.min(2) {
            findings.add("docker run", &setting, "start-up", "s", containers(workers));
        }
    }
    for &workers in size.peer_workers {
        let setting = format!("{workers} workers");
        let count = workers.to_string();
        for (system, script) in [
            ("Dask", "run_dask.py"),
            ("Ray", "run_ray.py"),
            ("Spark", "run_spark.py"),
        ] {
            for _ in 0..size.runs.min(2) {
                let answer = peers.run(script, &[&"startup", &count]);
                assert_eq!(answer.result, json!(workers), "{answer:?}");
                findings.add(system, &setting, "start-up", "s", answer.ready);
            }
        }
    }
    let setting = "8 workers";
    let best = ["Dask", "Ray", "Spark"].map(|system| findings.median(system, setting, "start-up"));
    let best = best.into_iter().fold(f64::INFINITY, f64::min);
    let cold = findings.median("burst, docker, cold", setting, "start-up");
    let what = "8 workers cold in docker, sooner than the best of Dask, Ray and Spark by";
    findings.at_least(
        what,
        best / cold,
        "56 × and more (against Dataproc Spark and Dask)",
        10.0,
    );
}

fn ours(driver: Driver, workers: u32, runs: usize, setting: &str, findings: &mut Findings) {
    let name = driver.name();
    let flare = |bed: &Bed| bed.flare("noop", workers, workers, json!({}), json!({"memory": 16}));
    let running = |flare: &_| bed::starts(flare).into_iter().fold(0.0, f64::max);
    let bed = Bed::start_cold(driver, workers);
    bed.deploy("noop");
    for run in 0..=runs {
        let flare = flare(&bed);
        assert_eq!(bed::start_kind(&flare), "cold");
        bed.settle();
        // The first one warms up the JVM and the daemon.
        if run > 0 {
            findings.add(
                &format!("burst, {name}, cold"),
                setting,
                "start-up",
                "s",
                running(&flare),
            );
        }
    }
    drop(bed);
    let bed = Bed::start(driver, workers);
    bed.deploy("noop");
    flare(&bed);
    for _ in 0..runs {
        let flare = flare(&bed);
        assert_eq!(bed::start_kind(&flare), "warm");
        findings.add(
            &format!("burst, {name}, warm"),
            setting,
            "start-up",
            "s",
            running(&flare),
        );
    }
}

/// Starts this many containers and removes them; seconds until the last one was started.
fn containers(count: u32) -> f64 {
    let asked = Instant::now();
    let started: Vec<String> = (0..count)
        .map(|_| {
            let serve = ["serve", "--listen", "0.0.0.0:8080", "--keep-open"];
            docker::docker(&[&["run", "--detach", IMAGE], &serve[..]].concat())
        })
        .collect();
    let took = asked.elapsed().as_secs_f64();
    started.iter().for_each(|id| docker::remove(id.trim()));
    took
}
