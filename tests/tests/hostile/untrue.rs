//! False claims of a program, to the runtime and on its standard streams.

use serde_json::json;

use super::frames::{BROKE, DIED, OWN, ended, say, started, succeeded};
use super::script::{Ends, Script, honest, script, within};

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
        script(name, Ends::Badly(OWN), steps)
    };
    let stolen = honest(json!([
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
        within(
            "ready a thousand times",
            Ends::Well,
            json!([{"do": "say", "frame": {"event": "ready", "endpoint": null}, "times": 1000}]),
        ),
        within(
            "started a thousand times",
            Ends::Well,
            json!([{"do": "say", "frame": started(), "times": 1000}]),
        ),
        within(
            "hello in the middle",
            Ends::Well,
            json!([say(&json!({"event": "hello", "sdk": "other"}))]),
        ),
        script(
            "two outputs of one worker",
            Ends::Well,
            json!([{"do": "begin"}, own("first"), own("second"), say(&ended())]),
        ),
        script(
            "a success and then a failure",
            Ends::Well,
            json!([{"do": "begin"}, own("first"), failed("error"), say(&ended())]),
        ),
        script(
            "a failure and then a success",
            Ends::Badly(OWN),
            json!([{"do": "begin"}, failed("error"), own("late"), say(&ended())]),
        ),
        script("outputs of other workers", Ends::Somehow, stolen.clone()).and(honest(json!([]))),
        script(
            "an output before the beginning",
            Ends::Somehow,
            json!([own("early"), {"do": "begin"}, say(&ended())]),
        ),
        script(
            "an end before the beginning",
            Ends::Badly(BROKE),
            json!([say(&ended()), {"do": "sleep"}]),
        ),
        script(
            "an end without outputs",
            Ends::Badly(BROKE),
            json!([{"do": "begin"}, say(&ended())]),
        ),
        within("an output for the next flare", Ends::Well, json!([]))
            .then(json!([own("left by the last flare")])),
        script(
            "an output with its end, and another one",
            Ends::Well,
            json!([{"do": "begin"}, own("first"), say(&ended()), own("left by the last flare")]),
        ),
        within("an end for the next flare", Ends::Well, json!([])).then(json!([
            say(&json!({"event": "ready", "endpoint": null})),
            own("left by the last flare"),
            say(&ended())
        ])),
        within("a failure for the next flare", Ends::Well, json!([]))
            .then(json!([failed("error")])),
        within("marks and lines for the next flare", Ends::Well, json!([])).then(json!([
            {"do": "say", "times": 5000,
             "frame": {"event": "phase", "worker": 0, "name": "left by the last flare"}},
            {"do": "print", "text": "left by the last flare\n", "times": 5000}
        ])),
        within("half a frame for the next flare", Ends::Well, json!([]))
            .behind(json!([{"do": "send", "length": 1000, "sent": 10}])),
        within(
            "a death announced for the next flare",
            Ends::Well,
            json!([]),
        )
        .then(json!([say(
            &json!({"event": "dying", "worker": 0, "signal": 6})
        )])),
        failing("a failure that is the machine's", "invoker-lost"),
        failing("a failure that is the platform's", "start-failed"),
        failing("a failure that is the controller's", "controller-restarted"),
        failing("a failure that is the user's wish", "cancelled"),
        Script {
            ends: Ends::Somehow,
            ..failing("a failure that is the clock's", "timeout")
        },
        failing("a failure that is nobody's", "rapture"),
        script(
            "a pack that blames the machine",
            Ends::Badly(OWN),
            json!([{"do": "begin"}, say(&claimed("invoker-lost"))]),
        ),
        script(
            "a pack that succeeded and blames the machine",
            Ends::Somehow,
            json!([{"do": "begin"}, own("done"), say(&claimed("pack-lost"))]),
        ),
        within(
            "a death announced, and life after it",
            Ends::Badly(DIED),
            json!([say(&json!({"event": "dying", "worker": 0, "signal": 11})), {"do": "hang"}]),
        ),
        within(
            "a million phases",
            Ends::Well,
            json!([{"do": "say", "times": 1_000_000, "frame": {"event": "phase", "worker": 0, "name": "x"}}]),
        ),
        within(
            "a million lines of the log",
            Ends::Well,
            json!([{
                "do": "say", "times": 1_000_000,
                "frame": {"event": "log", "worker": 0, "stream": "stdout", "text": "x"}
            }]),
        ),
        within(
            "a million lines of output",
            Ends::Well,
            json!([{"do": "print", "text": "x\n", "times": 1_000_000}]),
        ),
        within(
            "fifty megabytes that are no text, in one line",
            Ends::Well,
            json!([{"do": "print", "text": "\u{0}\u{ff}\u{1b}[2J", "times": 8_000_000, "to": "stderr"}]),
        ),
    ]
}
