//! Time until workers begin to work.

use crate::bed::{self, Bed};
use crate::findings::Findings;
use crate::peers::Peers;
use crate::size::Size;
use burst_client::Flare;
use burst_tests::{Driver, docker};
use serde_json::json;
use std::time::Instant;

/// The paper's Table 1: the best of Spark, Dask and Ray, compared with burst computing.
const PAPER: &str = "56 × (95 s and 1.7 s)";

const IMAGE: &str = "burst-runtime:latest";

pub fn measure(size: &Size, peers: &Peers, findings: &mut Findings) {
    findings.about(
        "Start-up (Table 1)",
        "The paper: clusters of many machines, from 1.7 s (burst computing, 960 workers) to 431 s (EMR Spark). Here: one \
         machine. Ours: from the request until all workers run, in one pack, on a platform that runs; starting the platform \
         itself, once, has a row of its own. The peers: from the \
         start of the process until every worker has done a task, so with starting Python or the JVM and importing the \
         package, which is what one waits for; docker: until `docker run` has returned for each of as many containers, \
         one after another.",
    );
    for workers in [8, size.workers] {
        let setting = format!("{workers} workers");
        for driver in Driver::ALL {
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
    for kind in ["prewarmed", "cold"] {
        let ours = findings.median(&format!("burst, docker, {kind}"), setting, "start-up");
        let container = findings.median("docker run", setting, "start-up") / 8.0;
        let what =
            format!("8 workers {kind} in docker, sooner than the best of Dask, Ray and Spark by");
        let why = format!(
            "One `docker run` of the same image takes {container:.2} s of it, so that the best of them is {:.1} × slower \
             than docker itself. As it comes, the platform keeps one pre-warmed container.",
            best / container
        );
        findings
            .at_least(&what, best / ours, PAPER, 10.0)
            .if_missed(&why);
    }
    let sandbox = findings.median("burst, sandbox, cold", setting, "start-up");
    let what = "8 workers cold in a sandbox, sooner than the best of Dask, Ray and Spark by";
    findings.at_least(what, best / sandbox, PAPER, 60.0);
    for (system, time) in [
        ("EMR Spark, 96 vCPUs, 6 nodes", 296.0),
        ("EMR Spark, 96 vCPUs, 24 nodes", 431.0),
        ("Dataproc, 96 vCPUs, 6 nodes", 95.0),
        ("Dataproc, 96 vCPUs, 24 nodes", 113.0),
        ("Dask, 128 vCPUs, 8 nodes", 184.0),
        ("Dask, 128 vCPUs, 64 nodes", 253.0),
        ("Ray, 128 vCPUs, 8 nodes", 187.0),
        ("Ray, 128 vCPUs, 64 nodes", 229.0),
        ("Knative", 54.0),
        ("OpenWhisk", 21.0),
        ("AWS Lambda", 6.0),
        ("burst computing", 1.7),
    ] {
        findings.cite(system, "start-up", "s", &[("", time)]);
    }
}

fn ours(driver: Driver, workers: u32, runs: usize, setting: &str, findings: &mut Findings) {
    let run = |bed: &Bed| {
        let more = json!({"memory": 16});
        bed.flare("noop", workers, workers, json!({}), more)
    };
    let mut keep = |kind: &str, flare: &Flare| {
        assert_eq!(bed::start_kind(flare), kind);
        let took = bed::starts(flare).into_iter().fold(0.0, f64::max);
        let system = format!("burst, {}, {kind}", driver.name());
        findings.add(&system, setting, "start-up", "s", took);
    };
    // The first flare of each platform warms up the JVM and the daemon.
    let bed = Bed::start_cold(driver, workers);
    bed.deploy("noop");
    for number in 0..=runs {
        let flare = run(&bed);
        bed.settle();
        if number > 0 {
            keep("cold", &flare);
        }
    }
    drop(bed);
    let bed = Bed::start_prewarmed(driver, workers, 1);
    bed.deploy("noop");
    for number in 0..=runs {
        let flare = bed.prewarmed(1, || run(&bed));
        if number > 0 {
            keep("prewarmed", &flare);
        }
    }
    drop(bed);
    let bed = Bed::start(driver, workers);
    bed.deploy("noop");
    run(&bed);
    for _ in 0..runs {
        keep("warm", &run(&bed));
    }
    findings.add(
        &format!("burst, {}, the platform itself", driver.name()),
        setting,
        "start-up",
        "s",
        bed.start,
    );
}

/// Starts this many containers and removes them. Returns the seconds until the last one had been
/// started.
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
