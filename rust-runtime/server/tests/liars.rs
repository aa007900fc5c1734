//! Programs that speak to the runtime themselves: they keep to no limit of the SDK's.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::{Runtime, act, end, failure, logs, named, now_micros};

const MIB: usize = 1 << 20;

/// What comes of a worker that says this so often.
fn told(frame: &Value, times: u32) -> Vec<Value> {
    let say = json!({"act": "say", "frame": frame.to_string(), "times": times});
    Runtime::with_acts().act(&[say])
}

fn bytes(events: &[Value]) -> usize {
    events.iter().map(|event| event.to_string().len()).sum()
}

#[test]
fn empty_lines_are_not_free_whoever_writes_them() {
    for worker in [json!(0), Value::Null] {
        let line =
            json!({"event": "log", "worker": worker, "stream": "stdout", "line": "", "at": 1});
        let events = told(&line, 200_000);
        let lines = logs(&events, worker, "stdout");
        assert!(lines.len() < 20_000, "{} lines", lines.len());
        assert!(lines.last().unwrap().contains("exceeds 1 MiB"));
        assert!(bytes(&events) < MIB / 8, "{} bytes", bytes(&events));
        assert_eq!(end(&events)["reusable"], true);
    }
}

#[test]
fn lines_that_come_together_travel_together() {
    let runtime = Runtime::with_acts();
    let print = json!({"act": "print-much", "bytes": 100_000});
    let events = runtime.act(&vec![print; 4]);
    for worker in 0..4 {
        assert_eq!(logs(&events, json!(worker), "stdout").len(), 1000);
    }
    assert!(named(&events, "log").len() < 400);
}

#[test]
fn times_that_cannot_be_are_the_runtimes_own() {
    for at in [0, 1 << 63, u64::MAX] {
        let phase = json!({"event": "phase", "worker": 0, "name": "x", "at": at});
        let events = told(&phase, 1);
        let marked = named(&events, "phase")[0]["at"].as_u64().unwrap();
        assert!(now_micros().abs_diff(marked) < 600_000_000, "{marked}");
        assert_eq!(end(&events)["reusable"], true);
    }
}

#[test]
fn failures_are_cut_and_name_nobody_there_is_not() {
    let long = "é".repeat(MIB);
    let failed = json!({
        "event": "worker-failed", "worker": 0, "at": 1, "surplus": long,
        "error": {"kind": "error", "message": long, "operation": long, "invoker": long,
            "worker": u32::MAX, "pack": u32::MAX},
    });
    let events = told(&failed, 1);
    let error = failure(&events, 0);
    assert!(error["message"].as_str().unwrap().ends_with("é…"));
    assert_eq!((&error["worker"], &error["pack"]), (&json!(0), &json!(0)));
    assert!(bytes(&events) < MIB / 8, "{} bytes", bytes(&events));
    let ended =
        json!({"event": "pack-ended", "reusable": false, "at": 1, "error": failed["error"]});
    let events = told(&ended, 1);
    assert_eq!(end(&events)["error"]["kind"], "error");
    assert!(bytes(&events) < MIB / 8, "{} bytes", bytes(&events));
}

#[test]
fn what_happens_once_is_heard_once() {
    let started = json!({"event": "worker-started", "worker": 0, "at": 1});
    assert_eq!(named(&told(&started, 1000), "worker-started").len(), 1);
    let ready = json!({"event": "ready", "endpoint": null, "at": 1});
    assert_eq!(named(&told(&ready, 1000), "ready").len(), 1);
    let phase = json!({"event": "phase", "worker": 0, "name": "x".repeat(2000), "at": 1});
    let events = told(&phase, 5000);
    let phases = named(&events, "phase");
    assert_eq!(phases.len(), 1000);
    assert_eq!(phases[0]["name"].as_str().unwrap().len(), 200);
}

#[test]
fn what_is_no_event_ends_the_pack_and_says_whose_fault_it_is() {
    let endpoint = "x".repeat(MIB);
    for nonsense in [
        json!({"event": "party", "at": 1}),
        json!({"event": "phase", "worker": 0, "name": "x", "at": 1e30}),
        json!({"event": "phase", "worker": -1, "name": "x", "at": 1}),
        json!({"event": "ready", "endpoint": endpoint, "at": 1}),
        json!(["hunter2"]),
    ] {
        let events = told(&nonsense, 1);
        let error = &end(&events)["error"];
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with("the program broke the protocol: "),
            "{message}"
        );
        assert!(
            message.len() < 1000 && !message.contains("hunter2"),
            "{message}"
        );
    }
}

#[test]
fn a_worker_of_another_pack_cannot_be_blamed() {
    let runtime = Runtime::with_acts();
    let frame = json!({"event": "dying", "worker": 7, "signal": 6}).to_string();
    let say = json!({"act": "say", "frame": frame, "times": 1});
    let events = runtime.act(&[say, act("kill")]);
    assert_ne!(end(&events)["error"]["worker"], 7);
}
