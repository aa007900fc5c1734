//! The output of concurrent calls, and which of them it blocks.

use std::fs;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{all, beside, call, meet, meeting, output, waiting};
use crate::support::{Package, act, assert_at_once, end, logs, named};

#[test]
fn output_of_one_call_does_not_delay_others() {
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
fn a_calls_output_is_limited_by_its_flare() {
    let runtime = beside(2);
    let printed = |limit: usize| {
        let mut run = call(json!({"act": "flood", "of": 1}));
        run.log_limit = Some(limit);
        let events = runtime.events(&run);
        assert_eq!(end(&events)["reusable"], true, "{:?}", events.last());
        logs(&events, json!(0), "stdout")
    };
    assert_eq!(printed(0).len(), 0);
    let lines = printed(3 << 20);
    assert!(
        lines.last().unwrap().contains("exceeds 3 MiB"),
        "{:.80?}",
        lines.last()
    );
}

#[test]
fn output_after_the_end_of_a_call_does_not_delay_others() {
    let runtime = beside(4);
    let directory = Package::empty();
    let (stays, file) = waiting(&runtime, &directory);
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
fn a_client_that_does_not_read_does_not_delay_others() {
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
    // The rest of the output is still available.
    let mut rest = 0;
    let mut buffer = vec![0; 1 << 16];
    while rest < 15 << 20 {
        rest += slow.read(&mut buffer).unwrap();
    }
    meet(&runtime, 3);
}

#[test]
fn a_callback_outside_its_call_has_its_result_and_its_output() {
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
fn output_of_no_call_is_the_packs() {
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
