//! Flares that run on one program at the same time, as calls of a function of Node do.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{
    Events, Package, Run, Runtime, act, assert_at_once, end, failure, logs, named,
};

const BESIDE: &str = include_str!("launchers/beside.js");
const PYTHON: &str =
    "def main(args):\n    import time\n    time.sleep(args.get('time', 0))\n    return {}";

/// A whole frame that is no event: `{}`.
const LIE: [u8; 6] = [2, 0, 0, 0, 0x7b, 0x7d];

/// A runtime with a function of which so many calls run at once.
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

/// A call with an activation's name.
fn call(act: Value) -> Run {
    let mut run = Run::new(&[act]);
    run.invocation = json!({"activation_id": run.flare_id});
    run
}

/// The events of flares that run at the same time.
fn all(runtime: &Runtime, runs: &[Run]) -> Vec<Vec<Value>> {
    thread::scope(|scope| {
        let calls: Vec<_> = runs
            .iter()
            .map(|run| scope.spawn(|| runtime.events(run)))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    })
}

/// A call that stays, once it runs.
fn staying(runtime: &Runtime) -> Events {
    let mut events = runtime.flare(&call(act("stay")));
    events.until("log");
    events
}

/// A call that ends once there is this file, when it runs.
fn waiting(runtime: &Runtime, place: &Package) -> (Events, PathBuf) {
    let file = place.path().join("go");
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

/// All run in one process, and what each prints is its own.
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
fn calls_run_at_the_same_time_each_with_a_log_of_its_own() {
    let runtime = beside(8);
    for calls in [8, 1, 5] {
        meet(&runtime, calls);
    }
    // Long enough for the program to be stopped meanwhile.
    thread::sleep(Duration::from_millis(400));
    meet(&runtime, 8);
}

#[test]
fn as_many_as_there_may_be() {
    // As many files as a process may have on most machines.
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
fn no_more_than_it_was_started_for_and_none_beside_other_kinds() {
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
fn each_call_has_variables_of_its_own_beside_those_of_all() {
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
fn who_ends_the_process_is_named_and_the_others_are_told() {
    for (deed, how) in [
        ("exit", "exit code 3"),
        ("thrown", "exit code 1"),
        ("rejected", "exit code 1"),
    ] {
        let runtime = beside(3);
        let others = [staying(&runtime), staying(&runtime)];
        let events = runtime.act(&[act(deed)]);
        let error = failure(&events, 0);
        assert_eq!(error["kind"], "exit", "{deed} {error}");
        assert!(error["message"].to_string().contains(how), "{deed} {error}");
        for other in others {
            let events: Vec<_> = other.collect();
            let error = failure(&events, 0);
            assert_eq!(error["kind"], "pack-lost", "{deed} {error}");
            let message = error["message"].as_str().unwrap();
            assert!(
                message.contains("another call in it ended the process"),
                "{message}"
            );
            assert!(message.contains(how), "{message}");
            assert_eq!(end(&events)["reusable"], false);
        }
        runtime.wait_until_programs_end();
    }
}

#[test]
fn who_does_not_end_takes_the_others_along_and_they_are_told() {
    for (deed, how) in [
        ("stay", "did not end in time"),
        ("spin", "did not end in time"),
    ] {
        let runtime = beside(2);
        let other = staying(&runtime);
        let mut late = call(act(deed));
        late.timeout = Duration::from_millis(700);
        assert_eq!(
            failure(&runtime.events(&late), 0)["kind"],
            "timeout",
            "{deed}"
        );
        let error = failure(&other.collect::<Vec<_>>(), 0);
        assert_eq!(error["kind"], "pack-lost", "{deed} {error}");
        assert!(error["message"].as_str().unwrap().contains(how), "{error}");
        runtime.wait_until_programs_end();
    }
}

#[test]
fn one_that_is_cancelled_takes_the_others_along_and_they_are_told() {
    let runtime = beside(2);
    let (other, mut cancelled) = (staying(&runtime), staying(&runtime));
    let path = format!("/packs/{}/abort", cancelled.flare_id);
    let reason = json!({"kind": "cancelled", "message": "no more"});
    assert_eq!(runtime.post(&path, &reason).0, 204);
    assert_eq!(
        cancelled.until("worker-failed")["error"]["kind"],
        "cancelled"
    );
    let error = failure(&other.collect::<Vec<_>>(), 0);
    assert!(
        error["message"].to_string().contains("was cancelled"),
        "{error}"
    );
}

#[test]
fn a_call_that_fails_leaves_the_others_alone_and_none_comes_after_it() {
    let runtime = beside(3);
    let place = Package::empty();
    let (other, file) = waiting(&runtime, &place);
    let failed = runtime.act(&[act("fail")]);
    assert!(
        failure(&failed, 0)["message"]
            .to_string()
            .contains("at once")
    );
    assert_eq!(end(&failed)["reusable"], false);
    let (status, answer) = runtime.post("/packs", &call(act("quiet")).body());
    assert_eq!(status, 409, "{answer}");
    fs::write(file, "").unwrap();
    let other: Vec<_> = other.collect();
    assert_eq!(output(&other), json!({}));
    assert_eq!(end(&other)["reusable"], false);
    runtime.wait_until_programs_end();
}

#[test]
fn what_one_prints_keeps_no_other_waiting() {
    let runtime = beside(5);
    let mut runs = meeting(5);
    runs[0] = call(json!({"act": "flood", "of": 5}));
    for (n, events) in all(&runtime, &runs).iter().enumerate() {
        assert_eq!(end(events)["reusable"], true, "{events:?}");
        let own = logs(events, json!(0), "stdout");
        if n > 0 {
            assert_eq!(own, [format!("in {n}")]);
        } else {
            assert!(
                own.last().unwrap().contains("exceeds 1 MiB"),
                "{:?}",
                own.last()
            );
            assert!(own.len() > 5000, "{}", own.len());
        }
    }
}

#[test]
fn what_is_printed_after_a_calls_end_keeps_no_other_waiting() {
    let runtime = beside(4);
    let place = Package::empty();
    let (stays, file) = waiting(&runtime, &place);
    assert_eq!(end(&runtime.act(&[act("haunt")]))["reusable"], true);
    for _ in 0..10 {
        meet(&runtime, 3);
    }
    fs::write(file, "").unwrap();
    let stays: Vec<_> = stays.collect();
    assert_eq!(output(&stays), json!({}));
    let packs = logs(&stays, Value::Null, "stdout");
    assert!(
        packs.last().unwrap().contains("exceeds 1 MiB"),
        "{:.80?}",
        packs.last()
    );
}

#[test]
fn whoever_does_not_read_keeps_no_other_waiting() {
    let runtime = beside(4);
    let unread = call(json!({"act": "large"})).body().to_string();
    let mut slow = runtime.connect();
    write!(
        slow,
        "POST /packs HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nContent-Type: application/json\r\n\r\n{unread}",
        unread.len()
    )
    .unwrap();
    slow.read_exact(&mut [0; 64]).unwrap();
    let began = Instant::now();
    meet(&runtime, 3);
    assert_at_once(began);
    // It is still there for whoever goes on.
    let mut rest = 0;
    let mut buffer = vec![0; 1 << 16];
    while rest < 15 << 20 {
        rest += slow.read(&mut buffer).unwrap();
    }
    meet(&runtime, 3);
}

#[test]
fn who_is_called_from_elsewhere_has_its_result_and_prints_where_it_can() {
    let runtime = beside(4);
    let runs: Vec<_> = (0..4)
        .map(|n| call(json!({"act": "pooled", "n": n, "of": 4})))
        .collect();
    let mut asked = 0;
    for (n, events) in all(&runtime, &runs).iter().enumerate() {
        assert_eq!(output(events)["n"], n);
        let said = [
            logs(events, json!(0), "stdout"),
            logs(events, Value::Null, "stdout"),
        ]
        .concat();
        assert!(said.contains(&format!("answered {n}")), "{said:?}");
        asked += said.iter().filter(|line| line.starts_with("asked")).count();
    }
    assert_eq!(asked, 4, "nothing is lost");
}

#[test]
fn what_is_nobodys_is_the_packs() {
    let runtime = beside(2);
    let mut first = runtime.flare(&call(json!({"act": "meet", "n": 0, "of": 2})));
    first.until("log");
    assert!(named(&runtime.act(&[act("native")]), "log").is_empty());
    let events = runtime.act(&[act("later")]);
    assert_eq!(logs(&events, json!(0), "stdout"), ["now"]);
    thread::sleep(Duration::from_millis(100));
    runtime.events(&meeting(2)[1]);
    let events: Vec<_> = first.collect();
    assert_eq!(
        logs(&events, Value::Null, "stdout"),
        ["from below", "afterwards"]
    );
    assert_eq!(logs(&events, json!(0), "stderr"), ["out 0"]);
}

#[test]
fn who_breaks_the_protocol_is_not_told_from_whose_lane_it_was_but_all_end() {
    // The first one has the first socket.
    for deed in [
        json!({"act": "lie", "to": 3, "bytes": LIE}),
        json!({"act": "close", "what": 3}),
    ] {
        let runtime = beside(3);
        let (first, other) = (staying(&runtime), staying(&runtime));
        let events = runtime.act(std::slice::from_ref(&deed));
        let first = failure(&first.collect::<Vec<_>>(), 0);
        for error in [failure(&events, 0), failure(&other.collect::<Vec<_>>(), 0)] {
            assert_eq!(error["kind"], "pack-lost", "{deed} {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("another call in it"), "{deed}: {message}");
        }
        assert_ne!(first["kind"], "pack-lost", "{deed} {first}");
        runtime.wait_until_programs_end();
    }
}

/// The first two calls have the sockets 3 and 5: what is said on the next one is nobody's.
#[test]
fn half_an_event_on_a_lane_that_rests_is_found_before_its_next_call() {
    let runtime = beside(3);
    let place = Package::empty();
    let (other, file) = waiting(&runtime, &place);
    let half = json!({"act": "lie", "to": 6, "bytes": [9, 0, 0, 0, 0x7b]});
    let mut liar = runtime.flare(&call(half));
    liar.until("log");
    let (status, answer) = runtime.post("/packs", &call(act("quiet")).body());
    assert_eq!(status, 409, "{answer}");
    fs::write(file, "").unwrap();
    assert_eq!(output(&other.collect::<Vec<_>>()), json!({}));
    drop(liar);
    runtime.wait_until_programs_end();
}

#[test]
fn a_lie_on_a_lane_that_rests_ends_its_next_call_and_the_others() {
    let runtime = beside(3);
    let other = staying(&runtime);
    let whole = json!({"act": "lie", "to": 6, "bytes": LIE});
    let mut liar = runtime.flare(&call(whole));
    liar.until("log");
    let error = failure(&runtime.act(&[act("quiet")]), 0);
    assert!(
        error["message"].to_string().contains("broke the protocol"),
        "{error}"
    );
    let error = failure(&other.collect::<Vec<_>>(), 0);
    assert!(
        error["message"]
            .to_string()
            .contains("another call in it broke"),
        "{error}"
    );
    runtime.wait_until_programs_end();
}

#[test]
fn who_needs_others_has_the_program_for_itself() {
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
    // Of several workers one floods: their threads wait for room.
    let flood = runtime.act(&[json!({"act": "flood", "of": 1}), act("quiet")]);
    assert_eq!(end(&flood)["reusable"], true, "{:?}", flood.last());
    meet(&runtime, 4);
}

#[test]
fn how_many_is_told_in_a_query_as_well() {
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
