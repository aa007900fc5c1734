//! Flares on a real program, over HTTP: success, reuse, logs, timeouts, aborts.

use std::time::{Duration, Instant};

use crate::support::{
    Run, Runtime, act, assert_at_once, end, failure, logs, named, process_exists, wait_until_gone,
};
use serde_json::{Value, json};

#[test]
fn every_worker_answers_at_any_size() {
    let runtime = Runtime::with_acts();
    for size in [1, 2, 7, 48] {
        let mut run = Run::new(&vec![act("hello"); size]);
        if size == 7 {
            run.inputs = json!({"shared": act("hello")});
        }
        let events = runtime.events(&run);
        assert_eq!(events[0]["event"], "ready");
        assert_eq!(named(&events, "worker-started").len(), size);
        let mut workers: Vec<_> = named(&events, "worker-succeeded")
            .into_iter()
            .map(|event| {
                let worker = event["worker"].as_u64().unwrap();
                assert_eq!(event["output"]["worker"], worker);
                assert_eq!(event["output"]["size"], size);
                assert_eq!(event["output"]["flare"], run.flare_id);
                assert_eq!(event["output"]["thread"], format!("worker-{worker}"));
                worker
            })
            .collect();
        workers.sort_unstable();
        assert_eq!(workers, (0..size as u64).collect::<Vec<_>>());
        assert_eq!(
            (&end(&events)["reusable"], &end(&events)["error"]),
            (&json!(true), &Value::Null)
        );
    }
}

#[test]
fn a_warm_program_is_used_again() {
    let runtime = Runtime::with_acts();
    let outputs: Vec<Value> = (0..3)
        .map(|_| {
            let events = runtime.act(&[act("hello")]);
            named(&events, "worker-succeeded")[0]["output"].clone()
        })
        .collect();
    assert_eq!(outputs[0]["process"], outputs[2]["process"]);
    let seen: Vec<_> = outputs
        .iter()
        .map(|output| output["seen"].as_u64().unwrap())
        .collect();
    assert_eq!(seen, [0, 1, 2]);
}

#[test]
fn output_of_workers_is_theirs_and_other_output_is_the_packs() {
    let runtime = Runtime::with_acts();
    let print = json!({"act": "print", "lines": ["one", "two"]});
    let elsewhere = json!({"act": "print-elsewhere", "line": "from a helper"});
    // In separate flares: an unfinished line waits in the standard library's buffer, which all threads share.
    let events = runtime.act(&[print]);
    assert_eq!(logs(&events, json!(0), "stdout"), ["one", "two", "unended"]);
    assert_eq!(
        logs(&events, json!(0), "stderr"),
        ["aside: one", "aside: two"]
    );
    no_log_after_the_end(&events);
    let events = runtime.act(&[elsewhere]);
    assert_eq!(logs(&events, Value::Null, "stdout"), ["from a helper"]);
    no_log_after_the_end(&events);
}

fn no_log_after_the_end(events: &[Value]) {
    let last_log = events
        .iter()
        .rposition(|event| event["event"] == "log")
        .unwrap();
    assert!(last_log < events.len() - 1, "a log came after the end");
}

#[test]
fn a_workers_output_is_bounded() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[json!({"act": "print-much", "bytes": 3 << 20})]);
    let lines = logs(&events, json!(0), "stdout");
    // Each line counts 64 bytes more than its length.
    assert_eq!(lines.len(), (1 << 20) / (99 + 64) + 1);
    assert!(lines.last().unwrap().contains("exceeds 1 MiB"));
    assert_eq!(end(&events)["reusable"], true);
}

#[test]
fn a_flare_says_how_much_its_workers_may_log() {
    let runtime = Runtime::with_acts();
    let run = |limit: usize| {
        let mut run = Run::new(&[json!({"act": "print-much", "bytes": 5 << 20})]);
        run.log_limit = Some(limit);
        let events = runtime.events(&run);
        assert_eq!(end(&events)["reusable"], true);
        logs(&events, json!(0), "stdout")
    };
    for mib in [0, 3] {
        let lines = run(mib << 20);
        let notice = usize::from(mib > 0);
        assert_eq!(lines.len(), (mib << 20) / (99 + 64) + notice);
        let said = lines
            .last()
            .is_none_or(|last| last.contains("exceeds 3 MiB"));
        assert!(said, "{:?}", lines.last());
    }
}

#[test]
fn phases_are_reported() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[json!({"act": "phase", "name": "read"})]);
    let phase = named(&events, "phase")[0];
    assert_eq!(
        (&phase["worker"], &phase["name"]),
        (&json!(0), &json!("read"))
    );
    assert!(crate::support::now_micros().abs_diff(phase["at"].as_u64().unwrap()) < 60_000_000);
}

#[test]
fn a_large_output_passes_and_a_huge_one_is_refused() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[json!({"act": "large", "bytes": 8 << 20})]);
    let output = named(&events, "worker-succeeded")[0]["output"]
        .as_str()
        .unwrap();
    assert_eq!(output.len(), 8 << 20);
    let events = runtime.act(&[json!({"act": "large", "bytes": 17 << 20})]);
    let failure = failure(&events, 0);
    assert_eq!(failure["kind"], "error");
    assert!(
        failure["message"].as_str().unwrap().contains("16 MiB"),
        "{failure}"
    );
}

#[test]
fn an_input_that_does_not_fit_is_named_without_its_value() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[json!({"act": "exit", "code": "hunter2"})]);
    let failure = failure(&events, 0);
    assert_eq!(failure["kind"], "invalid-input");
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.contains("expected i32") && !message.contains("hunter2"),
        "{message}"
    );
}

#[test]
fn a_flare_past_its_deadline_ends_within_the_grace_period() {
    let runtime = Runtime::with_acts();
    let mut run = Run::new(&[act("forever"), act("nothing")]);
    run.timeout = Duration::from_millis(100);
    let started = Instant::now();
    let events = runtime.events(&run);
    assert_at_once(started);
    assert_eq!(failure(&events, 0)["kind"], "timeout");
    assert_eq!(end(&events)["error"]["kind"], "timeout");
    assert_eq!(end(&events)["reusable"], false);
    let (status, body) = runtime.post("/packs", &Run::new(&[act("hello")]).body());
    assert_eq!(status, 409);
    assert!(
        body["error"].as_str().unwrap().contains("deadline"),
        "{body}"
    );
}

#[test]
fn a_pack_killed_past_the_deadline_is_overdue_though_a_peer_met_it_first() {
    let runtime = Runtime::with_acts();
    let mut run = Run::new(&[act("forever")]);
    // Shorter than the grace period.
    run.timeout = Duration::from_millis(200);
    let mut all = runtime.flare(&run);
    let mut events = Vec::new();
    // On a busy machine it may not start in time.
    for event in all.by_ref() {
        let begun = event["event"] != "ready";
        events.push(event);
        if begun {
            break;
        }
    }
    let path = format!("/packs/{}/abort", run.flare_id);
    let order = json!({"kind": "peer-failed", "message": "worker 7 timed out in barrier"});
    // This can be too late, too, and then changes nothing.
    runtime.post(&path, &order);
    events.extend(all);
    assert_eq!(failure(&events, 0)["kind"], "timeout");
}

/// Returns the events of a flare of one worker, whose program does not use the SDK and replies with this event.
fn answering(event: &str) -> String {
    let frame = |body: &str| {
        let bytes = (body.len() as u32).to_le_bytes();
        let header: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
        format!("{header}{body}")
    };
    let hello = frame(r#"{"event":"hello","sdk":"0"}"#);
    let ended = frame(r#"{"event":"pack-ended","reusable":true,"error":null,"at":1}"#);
    let ready = frame(r#"{"event":"ready","endpoint":null,"at":1}"#);
    let started = frame(r#"{"event":"worker-started","worker":0,"at":1}"#);
    let answer = format!("{ready}{started}{}", frame(event));
    let script = format!(
        "#!/bin/sh\nprintf '{hello}' >&3; head -c 1 <&3 >/dev/null; printf '{answer}{ended}' >&3; sleep 600\n"
    );
    let package = crate::support::exec_of(script.as_bytes());
    let runtime = Runtime::start();
    runtime.init(package.path());
    runtime.text("/packs", &Run::new(&[act("nothing")]).body())
}

fn events(lines: &str) -> Vec<Value> {
    let event = |line| serde_json::from_str(line).unwrap();
    lines.lines().map(event).collect()
}

#[test]
fn an_output_nested_too_deeply_fails_its_worker_and_is_not_passed_on() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        answering(&format!(
            r#"{{"event":"worker-succeeded","worker":0,"output":{open}{close},"at":1}}"#
        ))
    };
    for levels in [127, 129, 256] {
        let text = nested(levels);
        assert!(text.contains(r#""event":"worker-succeeded""#), "{text}");
    }
    for levels in [257, 3000, 20_000] {
        let events = events(&nested(levels));
        let failure = failure(&events, 0);
        assert_eq!(failure["kind"], "error");
        assert_eq!(failure["worker"], 0);
        let message = failure["message"].as_str().unwrap();
        assert!(message.contains("256 levels"), "{message}");
        assert_eq!(end(&events)["reusable"], false);
    }
    // Unknown fields of an event must not be nested too deeply, either.
    let junk = format!("{}{}", "[".repeat(3000), "]".repeat(3000));
    let phase = format!(r#"{{"event":"phase","worker":0,"name":"a","junk":{junk},"at":1}}"#);
    let events = events(&answering(&phase));
    assert_eq!(failure(&events, 0)["kind"], "internal", "{events:?}");
    assert_eq!(end(&events)["error"]["kind"], "internal");
}

#[test]
fn an_input_nested_too_deeply_is_refused_by_the_worker() {
    let runtime = Runtime::with_acts();
    for levels in [129, 3000, 100_000] {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let body = format!(r#"{{"value":{{"act":"print","lines":{open}{close}}}}}"#);
        let (status, answer) = runtime.post_text("/run", &body);
        assert!(matches!(status, 400 | 502 | 409), "{status} {answer}");
    }
    assert_eq!(runtime.get("/ping").0, 200);
    for call in ["/init", "/packs", "/packs/f/start", "/packs/f/abort"] {
        let (status, answer) = runtime.post_text(call, &"[".repeat(1_000_000));
        assert_eq!(status, 400, "{call} {answer}");
    }
}

/// Runs flares until one in which the waiting worker reports in the short time left after the deadline. On a busy
/// machine it may miss that time in some of them.
fn past_the_deadline(waits: &str) -> Vec<Value> {
    let mut flares = (0..5).map(|_| {
        let mut run = Run::new(&[json!({"act": waits, "from": 1}), act("forever")]);
        run.timeout = Duration::from_secs(12);
        Runtime::with_acts().events(&run)
    });
    let heard = |events: &Vec<Value>| failure(events, 0)["operation"] == "recv";
    (flares.find(heard)).unwrap_or_else(|| panic!("who waits was never heard"))
}

#[test]
fn past_the_deadline_waiting_and_running_workers_are_distinguished() {
    // In parallel, because both have to wait for the deadline, which is late because programs start slowly on a busy
    // machine.
    std::thread::scope(|scope| {
        for waits in ["receive", "receive-or-panic"] {
            scope.spawn(move || {
                let events = past_the_deadline(waits);
                let (waited, ran) = (failure(&events, 0), failure(&events, 1));
                assert_eq!(waited["kind"], "timeout", "{waited}");
                assert_eq!(waited["operation"], "recv", "{waited}");
                let message = waited["message"].as_str().unwrap();
                assert!(message.contains("worker 1"), "{message}");
                assert_eq!(ran["kind"], "timeout", "{ran}");
                assert_eq!(ran["operation"], "work", "{ran}");
                let message = ran["message"].as_str().unwrap();
                assert!(
                    message.contains("still computing") && !message.contains("worker 0"),
                    "{message}"
                );
                let error = &end(&events)["error"];
                assert_eq!(error["kind"], "timeout", "{error}");
                assert_eq!(error["worker"], Value::Null, "{error}");
            });
        }
    });
}

#[test]
fn an_abort_reaches_blocked_workers_and_kills_busy_ones() {
    let runtime = Runtime::with_acts();
    let run = Run::new(&[act("forever"), json!({"act": "receive", "from": 0})]);
    let mut events = runtime.flare(&run);
    events.until("worker-started");
    events.until("worker-started");
    let path = format!("/packs/{}/abort", run.flare_id);
    let order = json!({"kind": "cancelled", "message": "the user asked for it"});
    let aborted = Instant::now();
    assert_eq!(runtime.post(&path, &order).0, 204);
    let events: Vec<_> = events.collect();
    assert_at_once(aborted);
    let listening = failure(&events, 1);
    assert_eq!(listening["kind"], "cancelled");
    assert!(
        listening["message"]
            .as_str()
            .unwrap()
            .contains("the user asked for it")
    );
    assert_eq!(failure(&events, 0)["kind"], "cancelled");
    assert_eq!(end(&events)["error"]["kind"], "cancelled");
    assert_eq!(runtime.post(&path, &order).0, 404);
}

#[test]
fn a_pack_whose_lease_is_over_is_dead() {
    let runtime = Runtime::with_acts();
    let mut run = Run::new(&[act("forever"), act("forever")]);
    run.lease = Some(Duration::from_secs(3600));
    let mut events = runtime.flare(&run);
    events.until("worker-started");
    // Each renewal sets the time left from then on, even if it is shorter.
    let path = format!("/packs/{}/lease", run.flare_id);
    assert_eq!(runtime.post(&path, &json!({"millis": 1_800_000})).0, 204);
    assert_eq!(runtime.post(&path, &json!({"millis": "x"})).0, 400);
    assert_eq!(runtime.post(&path, &json!({"millis": 1})).0, 204);
    let events: Vec<_> = events.collect();
    assert_eq!(failure(&events, 0)["kind"], "peer-failed");
    assert_eq!(end(&events)["error"]["kind"], "invoker-lost");
    assert_eq!(runtime.post(&path, &json!({"millis": 9000})).0, 404);
}

#[test]
fn a_lease_that_nobody_renews_ends_the_pack() {
    let runtime = Runtime::with_acts();
    let mut run = Run::new(&[act("forever")]);
    run.lease = Some(Duration::from_millis(300));
    let events = runtime.events(&run);
    assert_eq!(end(&events)["error"]["kind"], "invoker-lost");
}

#[test]
fn a_pack_waits_for_its_start_and_can_be_aborted_before() {
    let runtime = Runtime::with_acts();
    let mut run = Run::new(&[act("hello"), act("hello")]);
    run.autostart = false;
    let mut events = runtime.flare(&run);
    assert_eq!(events.next().unwrap()["event"], "ready");
    let start = json!({"endpoints": ["127.0.0.1:1"]});
    assert_eq!(
        runtime
            .post(&format!("/packs/{}/start", run.flare_id), &start)
            .0,
        204
    );
    let rest: Vec<_> = events.collect();
    assert_eq!(named(&rest, "worker-succeeded").len(), 2);

    let mut run = Run::new(&[act("hello"), act("hello")]);
    run.autostart = false;
    let mut events = runtime.flare(&run);
    assert_eq!(events.next().unwrap()["event"], "ready");
    let order = json!({"kind": "pack-lost", "pack": 1, "message": "its machine is gone"});
    assert_eq!(
        runtime
            .post(&format!("/packs/{}/abort", run.flare_id), &order)
            .0,
        204
    );
    let rest: Vec<_> = events.collect();
    assert!(named(&rest, "worker-started").is_empty());
    assert_eq!(named(&rest, "worker-failed").len(), 2);
    assert_eq!(failure(&rest, 0)["kind"], "peer-failed");
    assert_eq!(end(&rest)["error"]["kind"], "pack-lost");
}

#[test]
fn one_flare_at_a_time_and_only_after_init() {
    let runtime = Runtime::start();
    assert_eq!(
        runtime.post("/packs", &Run::new(&[act("hello")]).body()).0,
        409
    );
    let package = crate::support::acts();
    runtime.init(package.path());
    let run = Run::new(&[act("forever")]);
    let mut events = runtime.flare(&run);
    events.until("worker-started");
    let (status, body) = runtime.post("/packs", &Run::new(&[act("hello")]).body());
    assert_eq!(status, 409);
    assert!(body["error"].as_str().unwrap().contains("busy"), "{body}");
    // The backend is not even asked for credentials: the running flare's group may have a user there.
    let mut stray = Run::new(&[act("hello"), act("hello")]);
    stray.pack_sizes = vec![1, 1];
    let mut body = stray.body();
    body["backend"] = json!({"kind": "redis-list", "uri": "redis://127.0.0.1:1", "chunkSize": 1});
    assert_eq!(runtime.post("/packs", &body).0, 409);
    assert_eq!(
        runtime
            .post("/packs/other/start", &json!({"endpoints": []}))
            .0,
        404
    );
}

#[test]
fn a_pack_may_bring_its_program() {
    let runtime = Runtime::start();
    let package = crate::support::acts();
    let run = Run::new(&[act("hello")]);
    let (status, body) = runtime.post("/packs?init=/nowhere", &run.body());
    assert_eq!(status, 502, "{body}");
    assert_eq!(runtime.post("/packs?init", &json!({})).0, 400);
    let calls = format!("/packs?init={}", package.path().display());
    let events: Vec<_> = runtime.flare_at(&calls, &run).collect();
    assert_eq!(end(&events)["reusable"], true, "{events:?}");
    let (status, body) = runtime.post(&calls, &run.body());
    assert_eq!(status, 403, "one program only: {body}");
    assert_eq!(end(&runtime.events(&run))["reusable"], true);
}

#[test]
fn the_program_ends_when_its_client_hangs_up() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[act("hello")]);
    let process = named(&events, "worker-succeeded")[0]["output"]["process"]
        .as_u64()
        .unwrap();
    let mut events = runtime.flare(&Run::new(&[act("forever")]));
    events.until("worker-started");
    assert!(process_exists(process));
    drop(events);
    wait_until_gone(process);
}

#[test]
fn a_client_that_does_not_read_cannot_keep_the_flare_from_ending() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[act("hello")]);
    let process = named(&events, "worker-succeeded")[0]["output"]["process"]
        .as_u64()
        .unwrap();
    let mut run = Run::new(&vec![json!({"act": "large", "bytes": 15 << 20}); 8]);
    run.timeout = Duration::from_secs(1);
    let unread = runtime.flare(&run);
    wait_until_gone(process);
    drop(unread);
}

#[test]
fn malformed_requests_say_what_is_wrong() {
    let runtime = Runtime::with_acts();
    let mut run = Run::new(&[act("hello")]);
    run.pack = 3;
    for body in [json!({}), json!([]), run.body(), json!({"flareId": 7})] {
        let (status, answer) = runtime.post("/packs", &body);
        assert_eq!(status, 400, "{body}");
        assert!(!answer["error"].as_str().unwrap().is_empty());
    }
    assert_eq!(runtime.post_text("/packs", "{").0, 400);
    assert_eq!(end(&runtime.act(&[act("hello")]))["reusable"], true);
    assert_eq!(runtime.get("/ping"), (200, json!({"ok": true})));
}

#[test]
fn each_worker_knows_its_trace_context() {
    let runtime = Runtime::with_acts();
    let mut run = Run::new(&[act("traceparent"), act("traceparent")]);
    let spans = ["00f067aa0ba902b7", "00f067aa0ba902b8"];
    run.trace = json!({"id": "4b".repeat(16), "sampled": true, "workers": spans});
    let events = runtime.events(&run);
    for (worker, span) in spans.iter().enumerate() {
        let ended = named(&events, "worker-succeeded");
        let own = ended
            .iter()
            .find(|event| event["worker"] == worker)
            .unwrap();
        let traceparent = format!("00-{}-{span}-01", "4b".repeat(16));
        assert_eq!(own["output"], traceparent);
    }
    // A request as sent by an invoker without traces, or of an older release.
    let events = runtime.act(&[act("traceparent")]);
    assert_eq!(named(&events, "worker-succeeded")[0]["output"], Value::Null);
}
