//! Escaping of control characters that programs and servers wrote.

use crate::flare::flare;
use crate::platform::Platform;
use crate::program::Burst;
use crate::samples;
use crate::terminal::run_on_terminal;

/// A title, a bell, a cursor at home, C1's escape, and a right-to-left override; with a tab, which is harmless.
const LINE: &str = "\x1b]0;owned\x07\x1b[H\u{9b}2J\u{202e}txt.exe\tend";
const SHOWN: &str = "\\u{1b}]0;owned\\u{7}\\u{1b}[H\\u{9b}2J\\u{202e}txt.exe";

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Whether a terminal would do anything with this text except display it.
fn has_control_characters(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}')
}

#[test]
fn logs_are_escaped_on_terminals_and_unchanged_in_files() {
    let platform = Platform::start();
    let logs = format!(
        r#"{{"flareId":"f1000000000000000000000000000001","truncated":false,"next":1,"logs":[{{"worker":1,"pack":0,"stream":"stdout","at":0,"line":{}}}]}}"#,
        quoted(LINE)
    );
    platform.on(
        "GET /flares/f1000000000000000000000000000001/logs",
        200,
        &logs,
    );
    let burst = Burst::of(&platform).with("NO_COLOR", "1");
    let piped = burst.run(&["logs", "f1000000000000000000000000000001"]);
    assert!(
        piped.out.ends_with(&format!("stdout: {LINE}\n")),
        "{piped:?}"
    );
    let json = burst.run(&[
        "logs",
        "f1000000000000000000000000000001",
        "--output",
        "json",
    ]);
    assert_eq!(json.out.trim_end(), logs);

    let screen = run_on_terminal(&burst, &["logs", "f1000000000000000000000000000001"]).out;
    assert!(
        screen.contains(SHOWN) && !has_control_characters(&screen),
        "{screen:?}"
    );
    let screen = run_on_terminal(
        &burst,
        &[
            "logs",
            "f1000000000000000000000000000001",
            "--output",
            "json",
        ],
    )
    .out;
    assert!(!has_control_characters(&screen), "{screen:?}");
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(read(&screen.replace("        ", "\\t")), read(&logs));
}

#[test]
fn outputs_are_escaped_as_json_on_terminals() {
    let platform = Platform::start();
    let output = "\u{9b}2J\u{202e}\u{7f}";
    let result = format!(
        r#"{{"flareId":"f1000000000000000000000000000001","state":"succeeded","error":null,"outputs":[{{"worker":0,"output":"{output}"}}]}}"#
    );
    platform.on(
        "GET /flares/f1000000000000000000000000000001/result",
        200,
        &result,
    );
    let burst = Burst::of(&platform).with("NO_COLOR", "1");
    assert_eq!(
        burst
            .run(&["result", "f1000000000000000000000000000001"])
            .out,
        format!("[\n  \"{output}\"\n]\n")
    );
    let screen = run_on_terminal(&burst, &["result", "f1000000000000000000000000000001"]).out;
    assert_eq!(screen, "[\n  \"\\u009b2J\\u202e\\u007f\"\n]\n");
}

#[test]
fn errors_and_tables_are_always_escaped() {
    let platform = Platform::start();
    let line = quoted(LINE);
    let failure = format!(r#"{{"kind":"error","worker":1,"message":{line},"operation":{line}}}"#);
    let invoker = serde_json::json!({"id": LINE, "state": LINE, "driver": LINE,
        "runtime": {"arch": LINE, "glibc": ""}});
    let list = serde_json::json!([samples::invoker(invoker)]).to_string();
    platform
        .on(
            "GET /bursts",
            400,
            &format!(r#"{{"error":{line},"code":{line}}}"#),
        )
        .on(
            "GET /flares/f1000000000000000000000000000001",
            200,
            &flare("failed", &failure),
        )
        .on("GET /api/v1/invokers", 200, &list)
        .on(
            "POST /bursts/hello",
            202,
            r#"{"flareId":"f1000000000000000000000000000001"}"#,
        );
    let burst = Burst::of(&platform).with("NO_COLOR", "1");
    for args in [
        &["list"][..],
        &["list", "--verbose"],
        &["status", "f1000000000000000000000000000001"],
        &["invokers"],
        &["flare", "hello", "--blocking"],
    ] {
        let ran = burst.run(args);
        assert!(
            !has_control_characters(&ran.out) && !has_control_characters(&ran.err),
            "{args:?}: {ran:?}"
        );
        assert!((ran.out + &ran.err).contains("\\u{1b}"), "{args:?}");
    }
}

#[test]
fn a_line_end_in_a_name_makes_no_row() {
    let platform = Platform::start();
    let forged = samples::definition_summary(serde_json::json!({"name": "a\nforged"}));
    platform.on("GET /bursts", 200, &format!("[{forged}]"));
    let out = Burst::of(&platform).run(&["list"]).ok();
    assert!(out.contains("a\\nforged"), "{out}");
    assert_eq!(out.lines().count(), 2, "{out}");
}
