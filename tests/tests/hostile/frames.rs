//! Frames from a program that the runtime cannot understand.

use serde_json::{Value, json};

use super::script::{Expected, Script, in_flare, script};

/// The kinds of failure that the platform reports for a program that it cannot understand.
pub const PROTOCOL_ERROR: &[&str] = &["internal", "error", "exit"];
/// The kinds of failure that a program can report about itself.
pub const REPORTED: &[&str] = &["error", "panic", "internal", "start-failed"];
/// The kinds of failure of a process that ends without a report.
pub const CRASH: &[&str] = &["exit", "signal", "abort", "internal", "error"];

/// Events, as programs send them.
pub fn started() -> Value {
    json!({"event": "worker-started", "worker": 0})
}

pub fn succeeded(worker: u32, output: &Value) -> Value {
    json!({"event": "worker-succeeded", "worker": worker, "output": output})
}

pub fn ended() -> Value {
    json!({"event": "pack-ended", "reusable": true, "error": null})
}

pub fn say(frame: &Value) -> Value {
    json!({"do": "say", "frame": frame})
}

/// A script that begins, sends this frame, and then nothing more.
fn only(name: &'static str, expected: Expected, frame: &Value) -> Script {
    let steps = json!([{"do": "begin"}, say(frame), {"do": "hang"}]);
    let script = script(name, expected, steps);
    match expected {
        Expected::Timeout => script.timeout(2_000),
        _ => script,
    }
}

/// Invalid frames.
pub fn scripts() -> Vec<Script> {
    let protocol_error = Expected::Failure(PROTOCOL_ERROR);
    let hang = json!({"do": "hang"});
    let text = json!("text");
    vec![
        in_flare(
            "a frame of four gigabytes",
            protocol_error,
            json!([{"do": "send", "length": u32::MAX}, hang]),
        ),
        in_flare(
            "a frame one byte too long",
            protocol_error,
            json!([{"do": "send", "length": (16 << 20) + (64 << 10) + 1}, hang]),
        ),
        in_flare(
            "a frame of nothing",
            protocol_error,
            json!([{"do": "send", "length": 0}, hang]),
        ),
        in_flare(
            "half a frame and silence",
            Expected::Timeout,
            json!([{"do": "send", "length": 100, "sent": 50}, hang]),
        )
        .timeout(700),
        in_flare(
            "half a frame and the end",
            Expected::Failure(CRASH),
            json!([{"do": "send", "length": 100, "sent": 50}, {"do": "exit"}]),
        ),
        in_flare(
            "half a frame of fifteen megabytes",
            Expected::Timeout,
            json!([{"do": "send", "length": 16 << 20, "sent": 15 << 20}, hang]),
        )
        .timeout(700),
        only("no JSON", protocol_error, &json!("{\"event\":")),
        only(
            "bytes that are no text",
            protocol_error,
            &json!("{\"event\":\"\u{ff}\u{fe}\"}"),
        ),
        only(
            "an unknown event",
            protocol_error,
            &json!({"event": "party"}),
        ),
        only(
            "a list in place of an event",
            protocol_error,
            &json!("[1,2,3]"),
        ),
        only(
            "a field twice",
            protocol_error,
            &json!("{\"event\":\"ready\",\"event\":\"pack-ended\",\"at\":1}"),
        ),
        only(
            "a number that is none",
            protocol_error,
            &json!(
                "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":NaN,\"at\":1}"
            ),
        ),
        only(
            "a worker of less than nothing",
            protocol_error,
            &json!({"event": "worker-started", "worker": -1}),
        ),
        in_flare(
            "an event of a hundred thousand levels",
            protocol_error,
            json!([
                {"do": "nested", "levels": 100_000,
                 "frame": "{\"event\":\"phase\",\"run\":RUN,\"worker\":0,\"name\":$,\"at\":1}"},
                hang
            ]),
        ),
        in_flare(
            "an output of a hundred thousand levels",
            Expected::Failure(REPORTED),
            json!([{
                "do": "nested", "levels": 100_000,
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":$,\"at\":1}"
            }]),
        ),
        in_flare(
            "an output of fifteen megabytes",
            Expected::Success,
            json!([{
                "do": "long", "bytes": 15_000_000,
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":\"$\",\"at\":1}"
            }]),
        ),
        in_flare(
            "an output of more than may be",
            Expected::Failure(REPORTED),
            json!([{
                "do": "long", "bytes": (16 << 20) + 1000,
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":\"$\",\"at\":1}"
            }]),
        ),
        in_flare(
            "an output of a million digits",
            Expected::Anything,
            json!([{
                "do": "long", "bytes": 1_000_000, "letter": "7",
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":$,\"at\":1}"
            }]),
        ),
        in_flare(
            "an output of five million lists",
            Expected::Anything,
            json!([{
                "do": "long", "bytes": 15_000_000, "letter": "[],",
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":[$0],\"at\":1}"
            }]),
        ),
        in_flare(
            "an output with half a letter",
            Expected::Anything,
            json!([say(&json!(
                "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":\"\\ud800\",\"at\":1}"
            ))]),
        ),
        in_flare(
            "a phase of fifteen megabytes",
            Expected::Success,
            json!([{
                "do": "long", "bytes": 15_000_000,
                "frame": "{\"event\":\"phase\",\"run\":RUN,\"worker\":0,\"name\":\"$\",\"at\":1}"
            }]),
        ),
        in_flare(
            "a line of fifteen megabytes",
            Expected::Success,
            json!([{
                "do": "long", "bytes": 15_000_000,
                "frame": "{\"event\":\"log\",\"run\":RUN,\"worker\":0,\"stream\":\"stdout\",\"text\":\"$\",\"at\":1}"
            }]),
        ),
        in_flare(
            "fifteen megabytes of empty lines in one event",
            Expected::Success,
            json!([{
                "do": "long", "bytes": 15_000_000, "letter": "\\n",
                "frame": "{\"event\":\"log\",\"run\":RUN,\"worker\":null,\"stream\":\"stderr\",\"text\":\"$\",\"at\":1}"
            }]),
        ),
        in_flare(
            "an event byte by byte",
            Expected::Success,
            json!([{"do": "trickle", "frame": started(), "millis": 2}]),
        ),
        in_flare(
            "a failure that says fifteen megabytes",
            Expected::Failure(REPORTED),
            json!([{
                "do": "long", "bytes": 15_000_000,
                "frame": "{\"event\":\"worker-failed\",\"run\":RUN,\"worker\":0,\"at\":1,\"error\":{\"kind\":\"error\",\"message\":\"$\"}}"
            }]),
        ),
        only(
            "a hello in place of an end",
            Expected::Timeout,
            &json!({"event": "hello", "sdk": text}),
        ),
    ]
}
