//! Frames from a program that the runtime cannot understand.

use serde_json::{Value, json};

use super::script::{Ends, Script, script, within};

/// The kinds of failure that the platform reports for a program that it cannot understand.
pub const BROKE: &[&str] = &["internal", "error", "exit"];
/// The kinds of failure that a program can report about itself.
pub const OWN: &[&str] = &["error", "panic", "internal", "start-failed"];
/// The kinds of failure of a process that ends without a report.
pub const DIED: &[&str] = &["exit", "signal", "abort", "internal", "error"];

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
fn only(name: &'static str, ends: Ends, frame: &Value) -> Script {
    let steps = json!([{"do": "begin"}, say(frame), {"do": "hang"}]);
    let script = script(name, ends, steps);
    match ends {
        Ends::Late => script.timeout(2_000),
        _ => script,
    }
}

/// Invalid frames.
pub fn scripts() -> Vec<Script> {
    let broke = Ends::Badly(BROKE);
    let hang = json!({"do": "hang"});
    let text = json!("text");
    vec![
        within(
            "a frame of four gigabytes",
            broke,
            json!([{"do": "send", "length": u32::MAX}, hang]),
        ),
        within(
            "a frame one byte too long",
            broke,
            json!([{"do": "send", "length": (16 << 20) + (64 << 10) + 1}, hang]),
        ),
        within(
            "a frame of nothing",
            broke,
            json!([{"do": "send", "length": 0}, hang]),
        ),
        within(
            "half a frame and silence",
            Ends::Late,
            json!([{"do": "send", "length": 100, "sent": 50}, hang]),
        )
        .timeout(700),
        within(
            "half a frame and the end",
            Ends::Badly(DIED),
            json!([{"do": "send", "length": 100, "sent": 50}, {"do": "exit"}]),
        ),
        within(
            "half a frame of fifteen megabytes",
            Ends::Late,
            json!([{"do": "send", "length": 16 << 20, "sent": 15 << 20}, hang]),
        )
        .timeout(700),
        only("no JSON", broke, &json!("{\"event\":")),
        only(
            "bytes that are no text",
            broke,
            &json!("{\"event\":\"\u{ff}\u{fe}\"}"),
        ),
        only("an unknown event", broke, &json!({"event": "party"})),
        only("a list in place of an event", broke, &json!("[1,2,3]")),
        only(
            "a field twice",
            broke,
            &json!("{\"event\":\"ready\",\"event\":\"pack-ended\",\"at\":1}"),
        ),
        only(
            "a number that is none",
            broke,
            &json!(
                "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":NaN,\"at\":1}"
            ),
        ),
        only(
            "a worker of less than nothing",
            broke,
            &json!({"event": "worker-started", "worker": -1}),
        ),
        within(
            "an event of a hundred thousand levels",
            broke,
            json!([
                {"do": "nested", "levels": 100_000,
                 "frame": "{\"event\":\"phase\",\"run\":RUN,\"worker\":0,\"name\":$,\"at\":1}"},
                hang
            ]),
        ),
        within(
            "an output of a hundred thousand levels",
            Ends::Badly(OWN),
            json!([{
                "do": "nested", "levels": 100_000,
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":$,\"at\":1}"
            }]),
        ),
        within(
            "an output of fifteen megabytes",
            Ends::Well,
            json!([{
                "do": "long", "bytes": 15_000_000,
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":\"$\",\"at\":1}"
            }]),
        ),
        within(
            "an output of more than may be",
            Ends::Badly(OWN),
            json!([{
                "do": "long", "bytes": (16 << 20) + 1000,
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":\"$\",\"at\":1}"
            }]),
        ),
        within(
            "an output of a million digits",
            Ends::Somehow,
            json!([{
                "do": "long", "bytes": 1_000_000, "letter": "7",
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":$,\"at\":1}"
            }]),
        ),
        within(
            "an output of five million lists",
            Ends::Somehow,
            json!([{
                "do": "long", "bytes": 15_000_000, "letter": "[],",
                "frame": "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":[$0],\"at\":1}"
            }]),
        ),
        within(
            "an output with half a letter",
            Ends::Somehow,
            json!([say(&json!(
                "{\"event\":\"worker-succeeded\",\"run\":RUN,\"worker\":0,\"output\":\"\\ud800\",\"at\":1}"
            ))]),
        ),
        within(
            "a phase of fifteen megabytes",
            Ends::Well,
            json!([{
                "do": "long", "bytes": 15_000_000,
                "frame": "{\"event\":\"phase\",\"run\":RUN,\"worker\":0,\"name\":\"$\",\"at\":1}"
            }]),
        ),
        within(
            "a line of fifteen megabytes",
            Ends::Well,
            json!([{
                "do": "long", "bytes": 15_000_000,
                "frame": "{\"event\":\"log\",\"run\":RUN,\"worker\":0,\"stream\":\"stdout\",\"text\":\"$\",\"at\":1}"
            }]),
        ),
        within(
            "fifteen megabytes of empty lines in one event",
            Ends::Well,
            json!([{
                "do": "long", "bytes": 15_000_000, "letter": "\\n",
                "frame": "{\"event\":\"log\",\"run\":RUN,\"worker\":null,\"stream\":\"stderr\",\"text\":\"$\",\"at\":1}"
            }]),
        ),
        within(
            "an event byte by byte",
            Ends::Well,
            json!([{"do": "trickle", "frame": started(), "millis": 2}]),
        ),
        within(
            "a failure that says fifteen megabytes",
            Ends::Badly(OWN),
            json!([{
                "do": "long", "bytes": 15_000_000,
                "frame": "{\"event\":\"worker-failed\",\"run\":RUN,\"worker\":0,\"at\":1,\"error\":{\"kind\":\"error\",\"message\":\"$\"}}"
            }]),
        ),
        only(
            "a hello in place of an end",
            Ends::Late,
            &json!({"event": "hello", "sdk": text}),
        ),
    ]
}
