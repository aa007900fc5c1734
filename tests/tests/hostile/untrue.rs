//! False claims of a program, to the runtime and on its standard streams.

use serde_json::json;

use super::frames::{CRASH, PROTOCOL_ERROR, REPORTED, ended, say, started, succeeded};
use super::script::{Expected, Script, begin_and_end, in_flare, script};

/// Frames that are well-formed but false.
pub fn scripts() -> Vec<Script> {
    let own = |output: &str| say(&succeeded(0, &json!(output)));
    let failed = |kind: &str| {
        let error = json!({"kind": kind, "message": "it was not me", "worker": 4096, "pack": 77,
            "invoker": "invoker0"});
        say(&json!({"event": "worker-failed", "worker": 0, "error": error}))
    };
    let failing = |name, kind: &str| {
        let steps = json!([{"do": "begin"}, failed(kind), say(&ended())]);
        script(name, Expected::Failure(REPORTED), steps)
    };
    let stolen = begin_and_end(json!([
        say(&succeeded(0, &json!("stolen"))),
        say(&succeeded(1, &json!("stolen"))),
        say(&succeeded(2, &json!("stolen"))),
        say(&succeeded(u32::MAX, &json!("stolen")))
    ]));
    let claimed = |kind: &str| {
        let error = json!({"kind": kind, "message": "the machine is gone"});
        json!({"event": "pack-ended", "reusable": true, "error": error})
    };
    vec![
        in_flare(
            "ready a thousand times",
            Expected::Success,
            json!([{"do": "say", "frame": {"event": "ready", "endpoint": null}, "times": 1000}]),
        ),
        in_flare(
            "started a thousand times",
            Expected::Success,
            json!([{"do": "say", "frame": started(), "times": 1000}]),
        ),
        in_flare(
            "hello in the middle",
            Expected::Success,
            json!([say(&json!({"event": "hello", "sdk": "other"}))]),
        ),
        script(
            "two outputs of one worker",
            Expected::Success,
            json!([{"do": "begin"}, own("first"), own("second"), say(&ended())]),
        ),
        script(
            "a success and then a failure",
            Expected::Success,
            json!([{"do": "begin"}, own("first"), failed("error"), say(&ended())]),
        ),
        script(
            "a failure and then a success",
            Expected::Failure(REPORTED),
            json!([{"do": "begin"}, failed("error"), own("late"), say(&ended())]),
        ),
        script(
            "outputs of other workers",
            Expected::Anything,
            stolen.clone(),
        )
        .and(begin_and_end(json!([]))),
        script(
            "an output before the beginning",
            Expected::Anything,
            json!([own("early"), {"do": "begin"}, say(&ended())]),
        ),
        script(
            "an end before the beginning",
            Expected::Failure(PROTOCOL_ERROR),
            json!([say(&ended()), {"do": "sleep"}]),
        ),
        script(
            "an end without outputs",
            Expected::Failure(PROTOCOL_ERROR),
            json!([{"do": "begin"}, say(&ended())]),
        ),
        in_flare("an output for the next flare", Expected::Success, json!([]))
            .after_flare(json!([own("left by the last flare")])),
        script(
            "an output with its end, and another one",
            Expected::Success,
            json!([{"do": "begin"}, own("first"), say(&ended()), own("left by the last flare")]),
        ),
        in_flare("an end for the next flare", Expected::Success, json!([])).after_flare(json!([
            say(&json!({"event": "ready", "endpoint": null})),
            own("left by the last flare"),
            say(&ended())
        ])),
        in_flare("a failure for the next flare", Expected::Success, json!([]))
            .after_flare(json!([failed("error")])),
        in_flare(
            "marks and lines for the next flare",
            Expected::Success,
            json!([]),
        )
        .after_flare(json!([
            {"do": "say", "times": 5000,
             "frame": {"event": "phase", "worker": 0, "name": "left by the last flare"}},
            {"do": "print", "text": "left by the last flare\n", "times": 5000}
        ])),
        in_flare(
            "half a frame for the next flare",
            Expected::Success,
            json!([]),
        )
        .right_after_flare(json!([{"do": "send", "length": 1000, "sent": 10}])),
        in_flare(
            "a death announced for the next flare",
            Expected::Success,
            json!([]),
        )
        .after_flare(json!([say(
            &json!({"event": "dying", "worker": 0, "signal": 6})
        )])),
        failing("a failure that is the machine's", "invoker-lost"),
        failing("a failure that is the platform's", "start-failed"),
        failing("a failure that is the controller's", "controller-restarted"),
        failing("a failure that is the user's wish", "cancelled"),
        Script {
            expected: Expected::Anything,
            ..failing("a failure that is the clock's", "timeout")
        },
        failing("a failure that is nobody's", "rapture"),
        script(
            "a pack that blames the machine",
            Expected::Failure(REPORTED),
            json!([{"do": "begin"}, say(&claimed("invoker-lost"))]),
        ),
        script(
            "a pack that succeeded and blames the machine",
            Expected::Anything,
            json!([{"do": "begin"}, own("done"), say(&claimed("pack-lost"))]),
        ),
        in_flare(
            "a death announced, and life after it",
            Expected::Failure(CRASH),
            json!([say(&json!({"event": "dying", "worker": 0, "signal": 11})), {"do": "hang"}]),
        ),
        in_flare(
            "a million phases",
            Expected::Success,
            json!([{"do": "say", "times": 1_000_000, "frame": {"event": "phase", "worker": 0, "name": "x"}}]),
        ),
        in_flare(
            "a million lines of the log",
            Expected::Success,
            json!([{
                "do": "say", "times": 1_000_000,
                "frame": {"event": "log", "worker": 0, "stream": "stdout", "text": "x"}
            }]),
        ),
        in_flare(
            "a million lines of output",
            Expected::Success,
            json!([{"do": "print", "text": "x\n", "times": 1_000_000}]),
        ),
        in_flare(
            "fifty megabytes that are no text, in one line",
            Expected::Success,
            json!([{"do": "print", "text": "\u{0}\u{ff}\u{1b}[2J", "times": 8_000_000, "to": "stderr"}]),
        ),
    ]
}
