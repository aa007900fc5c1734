//! How a program begins and ends, or fails to.

use serde_json::json;

use super::frames::{CRASH, say, started, succeeded};
use super::script::{Expected, Script, begin_and_end, in_flare, script};

/// Programs that do not end, or end in an unusual way.
pub fn unending() -> Vec<Script> {
    let hang = json!({"do": "hang"});
    let done = say(&succeeded(0, &json!("done")));
    vec![
        script("never ready", Expected::Timeout, json!([hang])).timeout(700),
        script(
            "never ready, and at work",
            Expected::Timeout,
            json!([{"do": "loop"}]),
        )
        .timeout(700),
        script(
            "one pack of two is never ready",
            Expected::Timeout,
            json!([hang]),
        )
        .and(begin_and_end(json!([])))
        .timeout(700),
        script(
            "one pack of two ends before it is ready",
            Expected::Failure(&["exit", "internal", "error", "start-failed"]),
            json!([{"do": "exit"}]),
        )
        .and(begin_and_end(json!([]))),
        in_flare("never ending", Expected::Timeout, json!([hang])).timeout(700),
        in_flare(
            "never ending, and deaf",
            Expected::Timeout,
            json!([{"do": "deaf"}, {"do": "loop"}]),
        )
        .timeout(700),
        script(
            "an answer and no end",
            Expected::Anything,
            json!([{"do": "begin"}, done, hang]),
        )
        .timeout(700),
        script(
            "an answer and then exit",
            Expected::Anything,
            json!([{"do": "begin"}, done, {"do": "exit"}]),
        ),
        in_flare(
            "exit and leave a child with all that was open",
            Expected::Failure(CRASH),
            json!([{"do": "daemon"}, {"do": "exit"}]),
        ),
        in_flare(
            "exit and let a child speak",
            Expected::Failure(CRASH),
            json!([{"do": "fork"}, {"do": "exit", "code": 3}]),
        ),
        in_flare(
            "the control socket is closed",
            Expected::Failure(CRASH),
            json!([{"do": "close", "descriptors": [3]}, hang]),
        ),
        in_flare(
            "the standard streams are closed",
            Expected::Success,
            json!([{"do": "close", "descriptors": [0, 1, 2]}]),
        ),
        in_flare(
            "another program in its place",
            Expected::Anything,
            json!([{"do": "exec"}]),
        )
        .timeout(700),
        in_flare(
            "stopped by itself",
            Expected::Timeout,
            json!([{"do": "kill", "who": "self", "signal": 19}]),
        )
        .timeout(700),
    ]
}

/// What a program does before it is up, or instead of coming up.
pub fn before() -> Vec<Script> {
    let start_failed = Expected::Failure(&["start-failed"]);
    let before = |name, expected, steps| in_flare(name, expected, json!([])).before(steps);
    vec![
        before(
            "no hello, but a party",
            start_failed,
            json!([say(&json!({"event": "party"}))]),
        ),
        before(
            "no hello, but a frame of four gigabytes",
            start_failed,
            json!([{"do": "send", "length": u32::MAX}]),
        ),
        before(
            "two hellos",
            Expected::Success,
            json!([say(&json!({"event": "hello", "sdk": "x"}))]),
        ),
        before(
            "no hello, but the end",
            start_failed,
            json!([{"do": "exit"}]),
        ),
        before(
            "no hello, but a child that lives on",
            start_failed,
            json!([{"do": "daemon"}, {"do": "fork"}, {"do": "exit"}]),
        ),
        before(
            "no hello, but a closed socket and silence",
            start_failed,
            json!([{"do": "close", "descriptors": [3]}, {"do": "exit"}]),
        ),
        before(
            "a daemon before the hello",
            Expected::Success,
            json!([{"do": "daemon", "lives": "spin"}]),
        ),
        before(
            "a flood before the hello",
            Expected::Success,
            json!([{"do": "print", "text": "x\n", "times": 2_000_000}]),
        ),
        before(
            "a gigabyte before the hello",
            start_failed,
            json!([{"do": "touch", "mebibytes": 1024}]),
        ),
        before(
            "an output before the hello",
            start_failed,
            json!([say(&started()), say(&succeeded(0, &json!("early")))]),
        ),
    ]
}
