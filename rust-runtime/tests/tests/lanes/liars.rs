//! Functions that tamper with the sockets of concurrent calls.

use std::fs;

use serde_json::{Value, json};

use super::{beside, call, output, staying, waiting};
use crate::support::{Package, act, end, failure};

/// A complete frame that is not an event: `{}`.
const LIE: [u8; 6] = [2, 0, 0, 0, 0x7b, 0x7d];

#[test]
fn a_protocol_violation_ends_all_flares_and_blames_no_lane() {
    // The first call has the first socket.
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

/// The first two calls have the sockets 3 and 5. The deed is done to the next one, which belongs to
/// no call.
#[track_caller]
fn is_found_before_its_next_call(done: Value) {
    let runtime = beside(3);
    let directory = Package::empty();
    let (other, file) = waiting(&runtime, &directory);
    let mut liar = runtime.flare(&call(done));
    liar.until("log");
    let (status, answer) = runtime.post("/packs", &call(act("quiet")).body());
    assert_eq!(status, 409, "{answer}");
    fs::write(file, "").unwrap();
    let other: Vec<_> = other.collect();
    assert_eq!(output(&other), json!({}));
    assert_eq!(end(&other)["reusable"], false, "{other:?}");
    drop(liar);
    runtime.wait_until_programs_end();
}

#[test]
fn half_an_event_on_an_idle_lane_is_found_before_its_next_call() {
    is_found_before_its_next_call(json!({"act": "lie", "to": 6, "bytes": [9, 0, 0, 0, 0x7b]}));
}

#[test]
fn a_lane_closed_while_idle_gets_no_call_and_harms_no_other() {
    is_found_before_its_next_call(json!({"act": "close", "what": 6}));
}

#[test]
fn a_false_event_on_an_idle_lane_ends_its_next_call_and_the_others() {
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
