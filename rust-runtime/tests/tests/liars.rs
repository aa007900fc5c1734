//! Programs that use the control socket directly, without the limits of the SDK.

use std::time::Duration;

use crate::support::{Run, Runtime, end, failure, logs, named, now_micros};
use serde_json::{Value, json};

const MIB: usize = 1 << 20;

fn ready() -> Value {
    json!({"say": {"event": "ready", "endpoint": null, "at": 1}})
}

fn started() -> Value {
    json!({"say": {"event": "worker-started", "worker": 0, "at": 1}})
}

fn succeeded(output: &str) -> Value {
    json!({"say": {"event": "worker-succeeded", "worker": 0, "output": output, "at": 1}})
}

fn ended() -> Value {
    json!({"say": {"event": "pack-ended", "reusable": true, "at": 1}})
}

/// A flare of one worker, whose program takes these steps.
fn script(steps: &[Value]) -> Run {
    Run::new(&[json!(steps)])
}

/// Returns the events of a program that takes these steps.
fn plays(steps: &[Value]) -> Vec<Value> {
    Runtime::with_liar().events(&script(steps))
}

/// Returns the events of a program that sends this event this many times while its worker runs.
fn told(event: &Value, times: u32) -> Vec<Value> {
    let lie = json!({"times": [times, event]});
    plays(&[ready(), started(), lie, succeeded("own"), ended()])
}

/// Returns the message of the pack's failure, which must blame the program.
fn violation(events: &[Value]) -> String {
    let message = end(events)["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("the program broke the protocol: "),
        "{message}"
    );
    message.to_owned()
}

fn bytes(events: &[Value]) -> usize {
    events.iter().map(|event| event.to_string().len()).sum()
}

#[test]
fn empty_lines_count_towards_the_limit() {
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
fn lines_that_come_together_are_sent_together() {
    let runtime = Runtime::with_acts();
    let print = json!({"act": "print-much", "bytes": 100_000});
    let events = runtime.act(&vec![print; 4]);
    for worker in 0..4 {
        assert_eq!(logs(&events, json!(worker), "stdout").len(), 1000);
    }
    assert!(named(&events, "log").len() < 400);
}

#[test]
fn a_program_waits_for_a_client_that_does_not_read() {
    // More than fits into sockets and a frame.
    let (workers, output) = (64, MIB);
    let steps = json!([ready(), {"outputs": [workers, output]}, ended()]);
    let mut run = Run::new(&vec![steps; workers]);
    // The program waits until then. On a busy machine it needs much of this time to begin.
    run.timeout = Duration::from_secs(30);
    let runtime = Runtime::with_liar();
    let events = runtime.flare(&run);
    // It ends only at the deadline: it could never send everything, though it had enough time.
    runtime.wait_until_programs_end();
    let events: Vec<Value> = events.collect();
    assert_eq!(end(&events)["error"]["kind"], "timeout");
    let told = named(&events, "worker-succeeded").len();
    assert!((1..workers / 2).contains(&told), "{told} outputs");
}

#[test]
fn impossible_times_are_replaced_by_the_runtimes() {
    for at in [0, 1 << 63, u64::MAX] {
        let phase = json!({"event": "phase", "worker": 0, "name": "x", "at": at});
        let events = told(&phase, 1);
        let marked = named(&events, "phase")[0]["at"].as_u64().unwrap();
        assert!(now_micros().abs_diff(marked) < 600_000_000, "{marked}");
        assert_eq!(end(&events)["reusable"], true);
    }
}

#[test]
fn failures_are_cut_and_name_only_existing_workers() {
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
fn repeated_events_are_dropped() {
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
fn an_invalid_event_is_a_violation_that_ends_the_pack() {
    let endpoint = "x".repeat(MIB);
    for nonsense in [
        json!({"event": "party", "at": 1}),
        json!({"event": "phase", "worker": 0, "name": "x", "at": 1e30}),
        json!({"event": "phase", "worker": -1, "name": "x", "at": 1}),
        json!({"event": "ready", "endpoint": endpoint, "at": 1}),
        json!(["hunter2"]),
    ] {
        let events = told(&nonsense, 1);
        let message = violation(&events);
        assert!(
            message.len() < 1000 && !message.contains("hunter2"),
            "{message}"
        );
    }
}

#[test]
fn a_worker_of_another_pack_cannot_be_blamed() {
    let dying = json!({"say": {"event": "dying", "worker": 7, "signal": 6}});
    let events = plays(&[ready(), started(), dying, json!("stay")]);
    assert_ne!(end(&events)["error"]["worker"], 7);
}

#[test]
fn an_output_left_by_the_previous_flare_is_not_the_next_ones() {
    let runtime = Runtime::with_liar();
    let steps = [ready(), started(), succeeded("own"), ended()];
    let events = runtime.events(&script(&steps));
    assert_eq!(end(&events)["reusable"], true);
    let mut left = succeeded("left");
    left["say"]["run"] = json!("last");
    let steps = [&[left][..], &steps[..]].concat();
    let events = runtime.events(&script(&steps));
    let outputs = named(&events, "worker-succeeded");
    assert_eq!(outputs.len(), 1);
    assert_eq!(outputs[0]["output"], "own");
    // The runtime does not reuse a program that sends events out of turn.
    assert_eq!(end(&events)["reusable"], false);
    assert_eq!(runtime.post("/packs", &script(&steps).body()).0, 409);
}

#[test]
fn events_after_the_packs_end_prevent_its_reuse() {
    let runtime = Runtime::with_liar();
    let own = [ready(), started(), succeeded("own"), ended()];
    let steps = [&own[..], &[succeeded("left"), ended()]].concat();
    let events = runtime.events(&script(&steps));
    assert_eq!(named(&events, "worker-succeeded").len(), 1);
    // The runtime reads the extra events by the end of this flare, or only in the next one.
    if end(&events)["reusable"] == true {
        let events = runtime.events(&script(&own));
        assert_eq!(named(&events, "worker-succeeded")[0]["output"], "own");
        assert_eq!(end(&events)["reusable"], false);
    }
    assert_eq!(runtime.post("/packs", &script(&own).body()).0, 409);
}

#[test]
fn a_program_that_names_no_run_has_only_one() {
    let runtime = Runtime::with_liar();
    let mut steps = [ready(), started(), succeeded("own"), ended()];
    for step in &mut steps {
        step["say"]["run"] = Value::Null;
    }
    let events = runtime.events(&script(&steps));
    assert_eq!(named(&events, "worker-succeeded")[0]["output"], "own");
    assert_eq!(end(&events)["reusable"], false);
    assert_eq!(runtime.post("/packs", &script(&steps).body()).0, 409);
}

#[test]
fn early_events_end_the_pack() {
    let at_work = "its worker 0 is at work but never began";
    let early = "its worker 0 began before the flare did";
    let phase = json!({"say": {"event": "phase", "worker": 0, "name": "x", "at": 1}});
    for (steps, why) in [
        (vec![ready(), succeeded("own"), ended()], at_work),
        (vec![ready(), phase], at_work),
        (vec![started()], early),
    ] {
        let message = violation(&plays(&steps));
        assert!(message.contains(why), "{message}");
    }
    let mut run = script(&[ready(), started(), succeeded("own"), ended()]);
    run.autostart = false;
    let message = violation(&Runtime::with_liar().events(&run));
    assert!(message.contains(early), "{message}");
}

#[test]
fn a_program_cannot_report_failures_of_machines() {
    let error = json!({"kind": "invoker-lost", "message": "gone", "invoker": "invoker7", "operation": "create"});
    let failed = json!({"event": "worker-failed", "worker": 0, "at": 1, "error": error});
    let ended = json!({"event": "pack-ended", "reusable": false, "at": 1, "error": error});
    let events = told(&failed, 1);
    for told in [failure(&events, 0), end(&told(&ended, 1))["error"].clone()] {
        assert_eq!(told["kind"], "error", "{told}");
        assert_eq!(told["invoker"], Value::Null);
        assert_eq!(told["operation"], "work");
    }
}

#[test]
fn an_endpoint_at_another_host_is_a_violation() {
    let elsewhere = json!({"say": {"event": "ready", "endpoint": "169.254.169.254:80", "at": 1}});
    let message = violation(&plays(&[elsewhere]));
    assert!(message.contains("where it was not told to be"), "{message}");
}

#[test]
fn a_program_that_does_not_join_its_flare_is_given_up() {
    let events = plays(&[json!("stay")]);
    let error = &end(&events)["error"];
    assert_eq!(
        (&error["kind"], &error["operation"]),
        (&json!("start-failed"), &json!("start"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("did not join the flare within 20 s"),
        "{message}"
    );
    assert_eq!(failure(&events, 0)["kind"], "peer-failed");
}
