//! `burst flare`, blocking and not.

use rustix::process::{Pid, Signal, kill_process};

use crate::platform::Platform;
use crate::program::{Burst, Ran};
use crate::samples;
use crate::terminal::Terminal;

pub const STARTED: &str = r#"{"flareId":"f1000000000000000000000000000001"}"#;
pub const RESULT: &str = r#"{"flareId":"f1000000000000000000000000000001","state":"succeeded","error":null,"outputs":[
    {"worker":0,"output":null},{"worker":1,"output":{"z":1,"a":12345678901234567890123}}]}"#;

pub fn flare(state: &str, error: &str) -> String {
    let error: serde_json::Value = serde_json::from_str(error).unwrap();
    samples::flare(serde_json::json!({"state": state, "error": error})).to_string()
}

/// A platform on which a flare goes through these states.
fn platform(states: &[&str]) -> Platform {
    let platform = Platform::start();
    platform.on("POST /bursts/hello", 202, STARTED);
    for state in states {
        platform.on(
            "GET /flares/f1000000000000000000000000000001",
            200,
            &flare(state, "null"),
        );
    }
    platform.on(
        "GET /flares/f1000000000000000000000000000001/result",
        200,
        RESULT,
    );
    platform
}

#[test]
fn a_flare_that_does_not_block_prints_its_id() {
    let platform = platform(&[]);
    let burst = Burst::of(&platform);
    assert_eq!(
        burst.run(&["flare", "hello"]).ok(),
        "ok: flare f1000000000000000000000000000001\n"
    );
    assert_eq!(platform.lines(), ["POST /bursts/hello"]);
    assert_eq!(
        platform.requests()[0].body,
        serde_json::json!({"size":1,"params":{}})
    );
    let json = burst.run(&["flare", "hello", "--output", "json"]).ok();
    assert_eq!(json, format!("{STARTED}\n"));
}

#[test]
fn inputs_and_options_are_sent() {
    let platform = platform(&[]);
    let burst = Burst::of(&platform);
    burst.file("shared.json", r#"{"a":1,"b":2}"#);
    burst.file("each.json", r#"[{"a":1},2]"#);
    let shared = [
        "-P",
        "shared.json",
        "-p",
        "b",
        "[3]",
        "--size",
        "7",
        "-g",
        "4",
    ];
    burst.run(&[&["flare", "hello"], &shared[..]].concat()).ok();
    let params = serde_json::json!({"a":1,"b":[3]});
    let expected = serde_json::json!({"size":7,"granularity":4,"params":params});
    assert_eq!(platform.requests()[0].body, expected);
    burst
        .run(&[
            "flare",
            "hello",
            "--params-file",
            "each.json",
            "--timeout",
            "1500ms",
            "--version",
            "0.0.2",
        ])
        .ok();
    let expected = serde_json::json!({"version":"0.0.2","params":[{"a":1},2],"timeout":1500});
    assert_eq!(platform.requests()[1].body, expected);
}

#[test]
fn a_parameter_is_one_argument_or_two() {
    let platform = platform(&["succeeded"]);
    let burst = Burst::of(&platform);
    let forms: [&[&str]; 4] = [
        &["--param", "name=Ada", "--result"],
        &["--param", "name", "Ada", "--result"],
        &["--result", "--param=name=Ada"],
        &["-rp", "name=Ada"],
    ];
    for form in forms {
        let out = burst.run(&[&["flare", "hello"], form].concat()).ok();
        assert!(out.starts_with("[\n  null"), "{form:?}: {out}");
    }
    burst
        .run(&["flare", "hello", "--param=flag=--x", "-p", "n", "-1e3"])
        .ok();
    let posted: Vec<_> = platform
        .requests()
        .into_iter()
        .filter(|request| request.line.starts_with("POST"))
        .map(|request| request.body["params"].clone())
        .collect();
    let ada = serde_json::json!({"name": "Ada"});
    assert!(
        posted[..4].iter().all(|params| *params == ada),
        "{posted:?}"
    );
    assert_eq!(posted[4], serde_json::json!({"flag": "--x", "n": -1e3}));
}

#[test]
fn a_parameter_without_a_value_is_a_usage_error() {
    let platform = platform(&["succeeded"]);
    let burst = Burst::of(&platform);
    let forms: [&[&str]; 4] = [
        &["--param", "name", "--result"],
        &["--param", "name"],
        &["-p", "name", "-r"],
        &["--param=name", "Ada"],
    ];
    for form in forms {
        let ran = burst.run(&[&["flare", "hello"], form].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("write --param name=VALUE"), "{ran:?}");
    }
    assert!(platform.requests().is_empty());
}

#[test]
fn quantities_have_units_and_errors_give_examples() {
    let platform = platform(&[]);
    let burst = Burst::of(&platform);
    let flare = |more: &[&str]| burst.run(&[&["flare", "hello"], more].concat());
    let options = [
        "--timeout",
        "1h30m",
        "--memory",
        "512M",
        "--chunk-size",
        "1M",
    ];
    flare(&options).ok();
    assert_eq!(
        platform.requests()[0].body,
        serde_json::json!({"size":1, "params":{}, "timeout":5_400_000, "memory":512,
            "chunkSize":1_048_576})
    );
    for (option, value, sentence) in [
        (
            "--timeout",
            "5",
            "write 5s for seconds or 5ms for milliseconds",
        ),
        ("--timeout", "soon", "such as 500ms, 90s, 15m or 1h30m"),
        ("--memory", "lots", "such as 512, 512M or 2G"),
        ("--chunk-size", "big", "such as 65536, 64K or 1MiB"),
    ] {
        let ran = flare(&[option, value]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(sentence), "{ran:?}");
    }
    let ran = burst.run(&["group", "open", "g", "--size", "1", "--idle-timeout", "60"]);
    assert!(ran.err.contains("write 60s"), "{ran:?}");
    let ran = burst.run(&["group", "flare", "g", "--timeout", "60"]);
    assert!(ran.err.contains("write 60s"), "{ran:?}");
    assert_eq!(platform.requests().len(), 1);
}

#[test]
fn invalid_inputs_are_usage_errors_and_start_nothing() {
    let platform = platform(&[]);
    let burst = Burst::of(&platform);
    burst.file("object.json", "{}");
    burst.file("none.json", "[]");
    burst.file("cut.json", "[1,");
    for (file, what) in [
        (
            "object.json",
            "is not a JSON array with one input per worker",
        ),
        ("none.json", "has no input for any worker"),
        ("cut.json", "is not a JSON array"),
        ("missing.json", "cannot read missing.json"),
    ] {
        let ran = burst.run(&["flare", "hello", "--params-file", file]);
        assert!(ran.fails(2).contains(what), "{ran:?}");
    }
    let ran = burst.run(&["flare", "hello", "--params-file", "cut.json", "--size", "3"]);
    assert_eq!(ran.code, Some(2));
    assert!(platform.requests().is_empty());
}

#[test]
fn the_result_is_an_array_with_one_output_per_worker() {
    let platform = platform(&["queued", "starting", "running", "succeeded"]);
    let burst = Burst::of(&platform);
    let out = burst
        .run(&["flare", "hello", "--size", "2", "--result"])
        .ok();
    let array = "[\n  null,\n  {\"z\":1,\"a\":12345678901234567890123}\n]\n";
    assert_eq!(out, array);
    let lines = [
        "POST /bursts/hello",
        "GET /flares/f1000000000000000000000000000001",
        "GET /flares/f1000000000000000000000000000001/result",
    ];
    assert_eq!(platform.lines(), lines);
    let json = burst
        .run(&["flare", "hello", "--result", "--output", "json"])
        .ok();
    assert_eq!(json, array);
    assert_eq!(
        burst
            .run(&[
                "result",
                "f1000000000000000000000000000001",
                "--output",
                "json"
            ])
            .ok(),
        array
    );
    platform
        .on(
            "GET /groups/a1000000000000000000000000000001",
            200,
            &samples::group(serde_json::json!({"state": "open"})).to_string(),
        )
        .on(
            "POST /groups/a1000000000000000000000000000001",
            202,
            STARTED,
        );
    assert_eq!(
        burst
            .run(&[
                "group",
                "flare",
                "a1000000000000000000000000000001",
                "--result"
            ])
            .ok(),
        array
    );
}

#[test]
fn blocking_without_result_shows_the_flare() {
    let platform = platform(&["succeeded"]);
    let burst = Burst::of(&platform);
    let out = burst.run(&["flare", "hello", "--blocking"]).ok();
    assert!(out.contains("state        succeeded"), "{out}");
    assert!(out.contains("invoker0"), "{out}");
    let json = burst
        .run(&["flare", "hello", "--blocking", "--output", "json"])
        .ok();
    assert_eq!(json.trim_end(), flare("succeeded", "null"));
}

#[test]
fn unsuccessful_flares_have_an_exit_code_and_one_sentence() {
    let failure = r#"{"kind":"panic","worker":1,"pack":0,"invoker":"invoker0",
        "operation":"work","message":"index out of bounds:\nthe len is 3"}"#;
    for (state, code, what) in [
        ("failed", 1, "failed"),
        ("timed-out", 9, "timed out"),
        ("cancelled", 10, "was cancelled"),
    ] {
        let platform = Platform::start();
        platform.on("POST /bursts/hello", 202, STARTED);
        platform.on(
            "GET /flares/f1000000000000000000000000000001",
            200,
            &flare(state, failure),
        );
        let result = format!(
            r#"{{"flareId":"f1000000000000000000000000000001","state":"{state}","error":null,"outputs":[
                {{"worker":0,"output":7}},{{"worker":1,"error":{failure}}}]}}"#
        );
        platform.on(
            "GET /flares/f1000000000000000000000000000001/result",
            200,
            &result,
        );
        let ran = Burst::of(&platform).run(&["flare", "hello", "--result"]);
        assert_eq!(ran.out, "[\n  7,\n  null\n]\n");
        assert_eq!(
            ran.fails(code),
            format!(
                "flare f1000000000000000000000000000001 {what}: worker 1 (pack 0 on invoker0) panicked in work: index out of \
                 bounds: the len is 3; see `burst logs f1000000000000000000000000000001 --worker 1`"
            )
        );
    }
}

#[test]
fn waiting_survives_a_platform_restart() {
    let platform = Platform::start();
    platform.on("POST /bursts/hello", 202, STARTED);
    platform.on(
        "GET /flares/f1000000000000000000000000000001",
        503,
        r#"{"error":"Starting.","code":"t"}"#,
    );
    platform.on(
        "GET /flares/f1000000000000000000000000000001",
        200,
        &flare("succeeded", "null"),
    );
    Burst::of(&platform)
        .run(&["flare", "hello", "--blocking"])
        .ok();
}

#[test]
fn a_missing_flare_is_named() {
    let platform = platform(&[]);
    let ran = Burst::of(&platform).run(&["flare", "hello", "--blocking"]);
    assert!(
        ran.fails(3)
            .contains("flare f1000000000000000000000000000001 may still be running"),
        "{ran:?}"
    );
}

#[test]
fn an_invalid_status_response_names_the_flare() {
    let platform = Platform::start();
    platform.on("POST /bursts/hello", 202, STARTED);
    platform.always("GET /flares/f1000000000000000000000000000001", 200, "{}");
    let ran = Burst::of(&platform).run(&["flare", "hello", "--blocking"]);
    let message = ran.fails(8);
    assert!(message.contains("could not be understood"), "{message}");
    assert!(
        message.contains("flare f1000000000000000000000000000001 may still be running"),
        "{message}"
    );
}

/// Interrupts a waiting program as soon as it waits.
fn interrupted(platform: &Platform, signal: Signal) -> Ran {
    let child = Burst::of(platform)
        .command(&["flare", "hello", "--blocking"])
        .spawn()
        .unwrap();
    platform.wait_for("GET /flares/f1000000000000000000000000000001");
    kill_process(Pid::from_child(&child), signal).unwrap();
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn an_interrupt_cancels_the_flare() {
    for signal in [Signal::INT, Signal::TERM] {
        let platform = platform(&["running"]);
        platform.on(
            "DELETE /flares/f1000000000000000000000000000001",
            202,
            STARTED,
        );
        let ran = interrupted(&platform, signal);
        assert!(
            ran.fails(10)
                .contains("was asked to cancel flare f1000000000000000000000000000001"),
            "{ran:?}"
        );
        assert_eq!(
            platform.lines().last().unwrap(),
            "DELETE /flares/f1000000000000000000000000000001"
        );
    }
}

#[test]
fn an_interrupt_cancels_while_the_platform_does_not_answer() {
    let platform = Platform::start();
    platform
        .on("POST /bursts/hello", 202, STARTED)
        .silent("GET /flares/f1000000000000000000000000000001")
        .on(
            "DELETE /flares/f1000000000000000000000000000001",
            202,
            STARTED,
        );
    let ran = interrupted(&platform, Signal::INT);
    assert!(
        ran.fails(10)
            .contains("asked to cancel flare f1000000000000000000000000000001"),
        "{ran:?}"
    );
}

#[test]
fn an_interrupt_reports_a_failed_cancellation() {
    let platform = platform(&["running"]);
    platform.on(
        "DELETE /flares/f1000000000000000000000000000001",
        500,
        r#"{"error":"Broken.","code":"t"}"#,
    );
    let ran = interrupted(&platform, Signal::INT);
    assert!(ran.fails(10).contains("may still be running"), "{ran:?}");
}

#[test]
fn an_interrupt_after_the_end_has_no_effect() {
    let platform = platform(&["running"]);
    platform.on(
        "DELETE /flares/f1000000000000000000000000000001",
        409,
        r#"{"error":"It had ended.","code":"t"}"#,
    );
    let child = Burst::of(&platform)
        .command(&["flare", "hello", "--result"])
        .spawn()
        .unwrap();
    platform.wait_for("GET /flares/f1000000000000000000000000000001");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    platform.wait_for("DELETE /flares/f1000000000000000000000000000001");
    platform.on(
        "GET /flares/f1000000000000000000000000000001",
        200,
        &flare("succeeded", "null"),
    );
    Ran::from(child.wait_with_output().unwrap()).ok();
}

#[test]
fn progress_is_shown_on_a_terminal() {
    let platform = platform(&["running", "running", "succeeded"]);
    let terminal = Terminal::open();
    let burst = Burst::of(&platform).with("TERM", "xterm");
    let mut command = burst.command(&["flare", "hello", "--size", "2", "--result"]);
    command.stderr(terminal.end());
    let child = command.spawn().unwrap();
    drop(command);
    let screen = terminal.screen();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.starts_with("[\n  null"), "{ran:?}");
    assert!(
        screen.contains("hello [") && screen.contains("/2 done"),
        "{screen:?}"
    );
}

#[test]
fn a_refused_flare_exits_with_the_code_of_the_refusal() {
    for (status, code) in [(400, 6), (401, 4), (404, 3), (413, 6), (429, 6), (503, 8)] {
        let platform = Platform::start();
        let refusal = r#"{"error":"Not so.","code":"t1"}"#;
        platform.on("POST /bursts/hello", status, refusal);
        for wait in [&[][..], &["--blocking"], &["--result"]] {
            let ran = Burst::of(&platform).run(&[&["flare", "hello"], wait].concat());
            let message = if status == 404 {
                "Not so; see `burst list` [t1]"
            } else {
                "Not so. [t1]"
            };
            assert_eq!(ran.fails(code), message);
            assert_eq!(ran.out, "");
        }
    }
}

#[test]
fn an_invalid_number_is_explained() {
    let platform = platform(&[]);
    let burst = Burst::of(&platform);
    for (value, message) in [
        ("x", "expected a whole number"),
        ("1.5", "expected a whole number"),
        ("4294967296", "that is too much"),
    ] {
        let ran = burst.run(&["flare", "hello", "--size", value]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let message = format!("invalid value '{value}' for '--size <N>': {message}\n");
        assert!(ran.err.contains(&message), "{ran:?}");
    }
    assert!(platform.requests().is_empty());
}

#[test]
fn an_unknown_version_points_to_the_history() {
    let platform = platform(&[]);
    platform.on(
        "POST /bursts/hello",
        404,
        r#"{"error":"Choose one of its versions.","code":"t1"}"#,
    );
    let burst = Burst::of(&platform);
    burst.run(&["flare", "hello"]).ok();
    let ran = burst.run(&["flare", "hello", "--version", "0.0.9"]);
    assert_eq!(
        ran.fails(3),
        "Choose one of its versions; see `burst history hello` [t1]"
    );
}

#[test]
fn a_queued_flare_shows_its_expected_wait_instead_of_a_bar() {
    let platform = Platform::start();
    let start = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros() + 90_000_000;
    let queue = serde_json::json!({"position": 2, "start": start, "waitsFor": null});
    let queued = serde_json::json!({"state": "queued", "queue": queue});
    let queued = samples::flare(queued).to_string();
    platform
        .on("POST /bursts/hello", 202, STARTED)
        .on("GET /flares/f1000000000000000000000000000001", 200, &queued)
        .on("GET /flares/f2000000000000000000000000000002", 200, &queued);
    let burst = Burst::of(&platform).with("TERM", "xterm");
    let shown = burst
        .run(&["status", "f2000000000000000000000000000002"])
        .ok();
    let line = shown.lines().find(|line| line.starts_with("queue"));
    let line = line.unwrap();
    assert!(line.contains("position 2, expected to start at "), "{line}");
    assert!(line.ends_with(", in about 1 min 30 s"), "{line}");
    assert!(line.len() <= 80, "{line}");

    let terminal = Terminal::open();
    let mut command = burst.command(&["flare", "hello", "--blocking"]);
    command.stderr(terminal.end());
    let child = command.spawn().unwrap();
    drop(command);
    platform.wait_for("GET /flares/f1000000000000000000000000000001");
    std::thread::sleep(std::time::Duration::from_millis(500));
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait_with_output().unwrap();
    let screen = terminal.screen();
    assert!(
        screen.contains("hello queued at position 2, start expected in about 1 min "),
        "{screen:?}"
    );
    for wrong in ["done", "[>", "  ("] {
        assert!(!screen.contains(wrong), "{wrong}: {screen:?}");
    }
}
