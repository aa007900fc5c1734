//! PageRank by phase, and its remote traffic by granularity.

use crate::bed::{self, Bed};
use crate::findings::Findings;
use crate::size::Size;
use burst_tests::{Driver, Redis, account};
use pagerank::generate::PowerLaw;
use serde_json::json;
use std::fs::File;
use std::io::BufWriter;

/// The number of workers. Its divisors are the granularities.
const WORKERS: u32 = 16;

const ITERATIONS: u32 = 10;

/// The result of profiling the small size without a platform, for the page.
const ALONE: &str = "By itself, on threads without a platform, the communication of the small size takes 0.3 ms per iteration \
                     at g=16, 0.2 of them to add sixteen vectors. In the flare some iterations take several times as \
                     long, where a thread has to wait for its turn on a processor, and there are only ten.";

pub fn measure(size: &Size, findings: &mut Findings) {
    findings.about(
        "PageRank by phase and its remote traffic (Fig. 12, Table 4)",
        "The paper: 50 million nodes, 256 workers on four machines, ten iterations, messages through DragonflyDB. Here: an \
         R-MAT graph, 16 workers that are processes on one machine, ten iterations; messages straight between the packs \
         (direct), and through Redis. Phases are the mean of the workers, all iterations together; wait is for \
         the workers that still compute, and for those that do not have the result yet, since 16 share two processors. \
         Traffic: the bytes that Redis received while the \
         flare ran.",
    );
    let scratch = account::directory("burst-experiment-");
    let graph = scratch.path().join("graph");
    PowerLaw {
        scale: size.graph,
        edges: 16,
        seed: 1,
    }
    .write(BufWriter::new(File::create(&graph).unwrap()))
    .unwrap();
    let redis = Redis::start();
    let bed = Bed::start_with_redis(Driver::Process, WORKERS, &redis);
    bed.deploy("pagerank");
    let input = json!({"graph": graph, "iterations": ITERATIONS, "tolerance": 0.0, "top": 1});
    let mut best = None;
    for backend in ["direct", "redis-list"] {
        for granularity in bed::granularities(WORKERS) {
            for _ in 0..size.runs {
                let before = sent(&redis);
                let more = json!({"memory": 512, "backend": backend});
                let flare = bed.flare("pagerank", WORKERS, granularity, input.clone(), more);
                let traffic = sent(&redis) - before;
                let top = bed.outputs(&flare)[0]["top"][0]["rank"].as_f64().unwrap();
                let expected = *best.get_or_insert(top);
                assert!((top - expected).abs() < 1e-12, "{top} and {expected}");
                let setting = format!("g={granularity}");
                let timeline = bed.timeline(&flare);
                let phases = bed::phases(&timeline);
                for phase in ["load", "degrees", "compute", "wait", "communicate"] {
                    findings.add(backend, &setting, phase, "s", phases[phase]);
                }
                findings.add(backend, &setting, "all", "s", bed::duration(&flare));
                if backend == "redis-list" {
                    findings.add(backend, &setting, "traffic", "MB", traffic as f64 / 1e6);
                }
            }
        }
    }
    let all = format!("g={WORKERS}");
    for backend in ["direct", "redis-list"] {
        let figure = |setting: &str, name| findings.median(backend, setting, name);
        let faster = figure("g=1", "communicate") / figure(&all, "communicate");
        let what = format!("{backend}: communication, {all} faster than g = 1 by");
        let spent = |setting| figure(setting, "communicate") / f64::from(ITERATIONS) * 1e3;
        let mut why = format!(
            "An iteration communicates for {:.1} ms at g = 1 and for {:.1} at {all}, where {WORKERS} threads take turns \
             on two processors. {ALONE}",
            spent("g=1"),
            spent(&all),
        );
        if backend == "direct" {
            let slower =
                findings.median("redis-list", "g=1", "communicate") / figure("g=1", "communicate");
            why += &format!(
                " And the paper's g = 1 talks through a server, as redis-list does here: packs that talk straight to each \
                 other are {slower:.1} × faster than that at g = 1 already."
            );
        }
        findings
            .at_least(&what, faster, "13 × (g = 64, all phases)", 13.0)
            .if_missed(&why);
    }
    let traffic = |setting| findings.median("redis-list", setting, "traffic");
    let halving = traffic("g=1") / traffic("g=2");
    let volumes = [
        ("g=1", 3068.0),
        ("g=2", 1532.0),
        ("g=4", 764.0),
        ("g=8", 380.0),
        ("g=16", 188.0),
        ("g=32", 92.0),
        ("g=64", 44.0),
    ];
    findings.cite("256 workers", "traffic", "GiB", &volumes);
    let what = "traffic, g = 2 less than g = 1 by";
    findings.at_least(what, halving, "2.0 × (3068 and 1532 GiB)", 1.9);
}

/// Returns the bytes that packs have sent to Redis so far.
fn sent(redis: &Redis) -> u64 {
    let mut connection = redis::Client::open(redis.uri())
        .unwrap()
        .get_connection()
        .unwrap();
    let info: redis::InfoDict = redis::cmd("INFO")
        .arg("stats")
        .query(&mut connection)
        .unwrap();
    info.get("total_net_input_bytes").unwrap()
}
