//! How a program begins and ends, or fails to.

use serde_json::json;

use super::frames::{DIED, say, started, succeeded};
use super::script::{Ends, Script, honest, script, within};

/// Programs that do not end, or end in an unusual way.
pub fn unending() -> Vec<Script> {
    let hang = json!({"do": "hang"});
    let done = say(&succeeded(0, &json!("done")));
    vec![
        script("never ready", Ends::Late, json!([hang])).timeout(700),
        script(
            "never ready, and at work",
            Ends::Late,
            json!([{"do": "loop"}]),
        )
        .timeout(700),
        script("one pack of two is never ready", Ends::Late, json!([hang]))
            .and(honest(json!([])))
            .timeout(700),
        script(
            "one pack of two ends before it is ready",
            Ends::Badly(&["exit", "internal", "error", "start-failed"]),
            json!([{"do": "exit"}]),
        )
        .and(honest(json!([]))),
        within("never ending", Ends::Late, json!([hang])).timeout(700),
        within(
            "never ending, and deaf",
            Ends::Late,
            json!([{"do": "deaf"}, {"do": "loop"}]),
        )
        .timeout(700),
        script(
            "an answer and no end",
            Ends::Somehow,
            json!([{"do": "begin"}, done, hang]),
        )
        .timeout(700),
        script(
            "an answer and then exit",
            Ends::Somehow,
            json!([{"do": "begin"}, done, {"do": "exit"}]),
        ),
        within(
            "exit and leave a child with all that was open",
            Ends::Badly(DIED),
            json!([{"do": "daemon"}, {"do": "exit"}]),
        ),
        within(
            "exit and let a child speak",
            Ends::Badly(DIED),
            json!([{"do": "fork"}, {"do": "exit", "code": 3}]),
        ),
        within(
            "the control socket is closed",
            Ends::Badly(DIED),
            json!([{"do": "close", "descriptors": [3]}, hang]),
        ),
        within(
            "the standard streams are closed",
            Ends::Well,
            json!([{"do": "close", "descriptors": [0, 1, 2]}]),
        ),
        within(
            "another program in its place",
            Ends::Somehow,
            json!([{"do": "exec"}]),
        )
        .timeout(700),
        within(
            "stopped by itself",
            Ends::Late,
            json!([{"do": "kill", "who": "self", "signal": 19}]),
        )
        .timeout(700),
    ]
}

/// What a program does before it is up, or instead of coming up.
pub fn before() -> Vec<Script> {
    let stillborn = Ends::Badly(&["start-failed"]);
    let before = |name, ends, deeds| within(name, ends, json!([])).before(deeds);
    vec![
        before(
            "no hello, but a party",
            stillborn,
            json!([say(&json!({"event": "party"}))]),
        ),
        before(
            "no hello, but a frame of four gigabytes",
            stillborn,
            json!([{"do": "send", "length": u32::MAX}]),
        ),
        before(
            "two hellos",
            Ends::Well,
            json!([say(&json!({"event": "hello", "sdk": "x"}))]),
        ),
        before("no hello, but the end", stillborn, json!([{"do": "exit"}])),
        before(
            "no hello, but a child that lives on",
            stillborn,
            json!([{"do": "daemon"}, {"do": "fork"}, {"do": "exit"}]),
        ),
        before(
            "no hello, but a closed socket and silence",
            stillborn,
            json!([{"do": "close", "descriptors": [3]}, {"do": "exit"}]),
        ),
        before(
            "a daemon before the hello",
            Ends::Well,
            json!([{"do": "daemon", "lives": "spin"}]),
        ),
        before(
            "a flood before the hello",
            Ends::Well,
            json!([{"do": "print", "text": "x\n", "times": 2_000_000}]),
        ),
        before(
            "a gigabyte before the hello",
            stillborn,
            json!([{"do": "touch", "mebibytes": 1024}]),
        ),
        before(
            "an output before the hello",
            stillborn,
            json!([say(&started()), say(&succeeded(0, &json!("early")))]),
        ),
    ]
}
