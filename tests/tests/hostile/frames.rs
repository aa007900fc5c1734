//! What a program can say to the runtime, and on its standard streams.

use serde_json::{Value, json};

use crate::script::{Ends, Script, honest, script, within};

/// What the platform says of a program that cannot be understood.
const BROKE: &[&str] = &["internal", "error", "exit"];
/// What a program may be said to have failed of when it says so itself.
const OWN: &[&str] = &["error", "panic", "internal", "start-failed"];
/// How a process ends that said nothing.
const DIED: &[&str] = &["exit", "signal", "abort", "internal", "error"];

fn started() -> Value {
    json!({"event": "worker-started", "worker": 0})
}

fn succeeded(worker: u32, output: &Value) -> Value {
    json!({"event": "worker-succeeded", "worker": worker, "output": output})
}

fn ended() -> Value {
    json!({"event": "pack-ended", "reusable": true, "error": null})
}

fn say(frame: &Value) -> Value {
    json!({"do": "say", "frame": frame})
}

/// Once begun, it says this and nothing more.
fn only(name: &'static str, ends: Ends, frame: &Value) -> Script {
    let steps = json!([{"do": "begin"}, say(frame), {"do": "hang"}]);
    script(name, ends, steps).timeout(2_000)
}

/// Frames that are none.
pub fn malformed() -> Vec<Script> {
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

/// Frames that are well-formed and wrong.
pub fn untrue() -> Vec<Script> {
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
        within("a failure for the next flare", Ends::Well, json!([])).then(json!([failed("error")])),
        within("marks and lines for the next flare", Ends::Well, json!([])).then(json!([
            {"do": "say", "times": 5000,
             "frame": {"event": "phase", "worker": 0, "name": "left by the last flare"}},
            {"do": "print", "text": "left by the last flare\n", "times": 5000}
        ])),
        within("half a frame for the next flare", Ends::Well, json!([]))
            .behind(json!([{"do": "send", "length": 1000, "sent": 10}])),
        within("a death announced for the next flare", Ends::Well, json!([]))
            .then(json!([say(&json!({"event": "dying", "worker": 0, "signal": 6}))])),
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
        )
        .timeout(20_000),
        within(
            "a million lines of the log",
            Ends::Well,
            json!([{
                "do": "say", "times": 1_000_000,
                "frame": {"event": "log", "worker": 0, "stream": "stdout", "text": "x"}
            }]),
        )
        .timeout(20_000),
        within(
            "a million lines of output",
            Ends::Well,
            json!([{"do": "print", "text": "x\n", "times": 1_000_000}]),
        )
        .timeout(20_000),
        within(
            "fifty megabytes that are no text, in one line",
            Ends::Well,
            json!([{"do": "print", "text": "\u{0}\u{ff}\u{1b}[2J", "times": 8_000_000, "to": "stderr"}]),
        )
        .timeout(20_000),
    ]
}

/// Programs that do not come to an end, or come to it in another way.
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

/// What a program does before it is up, or in place of it.
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
