//! Flares that run in one program at the same time, as calls of a Node function do.

mod ends;
mod liars;
mod output;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Events, Package, Run, Runtime, act, end, logs, named};

const BESIDE: &str = include_str!("../launchers/beside.js");
const PYTHON: &str =
    "def main(args):\n    import time\n    time.sleep(args.get('time', 0))\n    return {}";

/// A runtime with a function of which this many calls can run concurrently.
fn runtime(kind: &str, source: &str, concurrency: usize) -> Runtime {
    with(Runtime::start(), kind, source, concurrency)
}

fn with(mut runtime: Runtime, kind: &str, source: &str, concurrency: usize) -> Runtime {
    let package = Package::empty();
    fs::write(package.path().join("source"), source).unwrap();
    let value = json!({"path": package.path(), "kind": kind, "concurrency": concurrency});
    let answer = runtime.post("/init", &json!({ "value": value }));
    assert_eq!(answer, (200, json!({"ok": true})));
    runtime.hold(package);
    runtime
}

fn beside(concurrency: usize) -> Runtime {
    runtime("nodejs", BESIDE, concurrency)
}

/// A call with an activation id.
fn call(act: Value) -> Run {
    let mut run = Run::new(&[act]);
    run.invocation = json!({"activation_id": run.flare_id});
    run
}

/// Returns the events of flares that run at the same time.
fn all(runtime: &Runtime, runs: &[Run]) -> Vec<Vec<Value>> {
    thread::scope(|scope| {
        let calls: Vec<_> = runs
            .iter()
            .map(|run| scope.spawn(|| runtime.events(run)))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    })
}

/// Starts a call that never ends, and returns once it runs.
fn staying(runtime: &Runtime) -> Events {
    let mut events = runtime.flare(&call(act("stay")));
    events.until("log");
    events
}

/// Starts a call that ends once a file exists, and returns once it runs.
fn waiting(runtime: &Runtime, directory: &Package) -> (Events, PathBuf) {
    let file = directory.path().join("go");
    let mut events = runtime.flare(&call(json!({"act": "until", "file": file})));
    events.until("log");
    (events, file)
}

fn output(events: &[Value]) -> Value {
    assert_eq!(named(events, "worker-succeeded").len(), 1, "{events:?}");
    named(events, "worker-succeeded")[0]["output"].clone()
}

fn meeting(calls: usize) -> Vec<Run> {
    let act = |n| call(json!({"act": "meet", "n": n, "of": calls}));
    (0..calls).map(act).collect()
}

/// Checks that all calls run in one process, and that the output of each is logged as its own.
fn meet(runtime: &Runtime, calls: usize) {
    let runs = meeting(calls);
    let mut processes = BTreeSet::new();
    for (n, (run, events)) in runs.iter().zip(all(runtime, &runs)).enumerate() {
        assert_eq!(end(&events)["reusable"], true, "{events:?}");
        let output = output(&events);
        assert_eq!(output["n"], n);
        assert_eq!(output["id"], run.flare_id.as_str());
        processes.insert(output["process"].to_string());
        assert_eq!(logs(&events, json!(0), "stdout"), [format!("in {n}")]);
        assert_eq!(logs(&events, json!(0), "stderr"), [format!("out {n}")]);
    }
    assert_eq!(processes.len(), 1);
}

#[test]
fn calls_run_at_the_same_time_with_separate_logs() {
    let runtime = beside(8);
    for calls in [8, 1, 5] {
        meet(&runtime, calls);
    }
    // Long enough for the idle program to be stopped.
    thread::sleep(Duration::from_millis(400));
    meet(&runtime, 8);
}

#[test]
fn two_hundred_calls_run_at_the_same_time() {
    // The limit on open files per process on most machines.
    let mut command = Command::new("sh");
    let limited = r#"ulimit -n 1024 && exec "$0" "$@""#;
    command.args([
        "-c",
        limited,
        env!("CARGO_BIN_EXE_burst-runtime-under-test"),
    ]);
    let runtime = with(Runtime::start_with(command), "nodejs", BESIDE, 200);
    meet(&runtime, 200);
    meet(&runtime, 200);
}

#[test]
fn calls_beyond_the_concurrency_are_refused() {
    for (runtime, long, there) in [
        (beside(2), act("stay"), 2),
        (beside(1), act("stay"), 1),
        (runtime("python:3", PYTHON, 4), json!({"time": 600}), 1),
    ] {
        let mut running = Vec::new();
        for _ in 0..there {
            let mut events = runtime.flare(&call(long.clone()));
            events.until("worker-started");
            running.push(events);
        }
        let (status, answer) = runtime.post("/packs", &call(act("quiet")).body());
        assert_eq!(status, 409, "{answer}");
    }
}

#[test]
fn each_call_has_its_own_variables_besides_the_shared_ones() {
    let runtime = beside(2);
    let mut runs: Vec<_> = (0..2).map(|_| call(act("variables"))).collect();
    for run in &mut runs {
        run.invocation["action_name"] = json!("x");
    }
    for (run, events) in runs.iter().zip(all(&runtime, &runs)) {
        let output = output(&events);
        assert_eq!(output["own"], run.flare_id.as_str());
        assert_eq!(output["shared"], "set");
        assert_eq!(output["gone"], Value::Null);
        assert_eq!(output["child"], format!("{} mine\n", run.flare_id));
        let mut listed: Vec<_> = output["listed"].as_array().unwrap().iter().collect();
        listed.sort_by_key(|name| name.to_string());
        assert_eq!(
            json!(listed),
            json!(["SHARED", "__OW_ACTIVATION_ID", "__OW_DEADLINE"])
        );
    }
}

#[test]
fn a_flare_with_other_packs_has_the_program_for_itself() {
    let runtime = beside(4);
    let several = runtime.act(&vec![act("quiet"); 3]);
    assert_eq!(end(&several)["reusable"], true, "{several:?}");
    meet(&runtime, 4);
    let stays = staying(&runtime);
    let (status, _) = runtime.post("/packs", &Run::new(&vec![act("quiet"); 2]).body());
    assert_eq!(status, 409);
    drop(stays);
    let runtime = beside(4);
    let mut waits = Run::new(&[act("quiet")]);
    waits.autostart = false;
    let mut events = runtime.flare(&waits);
    events.until("ready");
    assert_eq!(runtime.post("/packs", &call(act("quiet")).body()).0, 409);
    let path = format!("/packs/{}/start", waits.flare_id);
    assert_eq!(runtime.post(&path, &json!({"endpoints": [null]})).0, 204);
    assert_eq!(end(&events.collect::<Vec<_>>())["reusable"], true);
    // With several workers, one of which floods, their threads wait for room.
    let flood = runtime.act(&[json!({"act": "flood", "of": 1}), act("quiet")]);
    assert_eq!(end(&flood)["reusable"], true, "{:?}", flood.last());
    meet(&runtime, 4);
}

#[test]
fn the_concurrency_may_be_in_a_query() {
    let package = Package::empty();
    fs::write(package.path().join("source"), BESIDE).unwrap();
    let path = package.path().to_str().unwrap();
    for (said, status) in [("201", 400), ("0", 400), ("many", 400), ("2", 200)] {
        let runtime = Runtime::start();
        let query = format!("/packs?init={path}&kind=nodejs&concurrency={said}");
        let runs = meeting(2);
        if status != 200 {
            assert_eq!(runtime.post(&query, &runs[0].body()).0, status, "{said}");
            continue;
        }
        let mut first = runtime.flare_at(&query, &runs[0]);
        first.until("log");
        assert_eq!(output(&runtime.events(&runs[1]))["n"], 1);
        assert_eq!(output(&first.collect::<Vec<_>>())["n"], 0);
    }
    let runtime = Runtime::start();
    let value = json!({"value": {"path": path, "kind": "nodejs"}});
    assert_eq!(runtime.post("/init?concurrency=2", &value).0, 200);
    meet(&runtime, 2);
}
