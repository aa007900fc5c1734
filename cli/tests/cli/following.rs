//! Commands that follow a flare until it has ended: `wait`, `logs --follow`, `status --watch`.

use rustix::process::{Pid, Signal, kill_process};

use crate::flare::flare;
use crate::platform::Platform;
use crate::program::{Burst, Ran};
use crate::samples;
use crate::terminal::run_on_terminal;

const LOGS: &str = "GET /flares/f1000000000000000000000000000001/logs";

/// A platform on which a flare goes through these states.
fn platform(states: &[&str]) -> Platform {
    let platform = Platform::start();
    for state in states {
        platform.on(
            "GET /flares/f1000000000000000000000000000001",
            200,
            &flare(state, "null"),
        );
    }
    platform
}

/// Returns a response with log lines, and the position where the next one begins.
fn logs(lines: &[&str], next: u32) -> String {
    let lines = lines.iter().map(|line| {
        format!(
            r#"{{"worker":0,"pack":0,"stream":"stdout","at":1700000000000000,"line":"{line}"}}"#
        )
    });
    let lines = lines.collect::<Vec<_>>().join(",");
    format!(
        r#"{{"flareId":"f1000000000000000000000000000001","truncated":false,"next":{next},"logs":[{lines}]}}"#
    )
}

fn texts(out: &str) -> Vec<&str> {
    let lines = out.lines();
    lines
        .filter_map(|line| line.split(' ').next_back())
        .collect()
}

#[test]
fn wait_ends_with_the_flare_and_its_exit_code() {
    let succeeded = platform(&["queued", "running", "succeeded"]);
    let burst = Burst::of(&succeeded);
    let out = burst
        .run(&["wait", "f1000000000000000000000000000001"])
        .ok();
    assert!(out.contains("state        succeeded"), "{out}");
    assert_eq!(succeeded.requests().len(), 3);
    let json = burst
        .run(&[
            "wait",
            "f1000000000000000000000000000001",
            "--output",
            "json",
        ])
        .ok();
    assert_eq!(json.trim_end(), flare("succeeded", "null"));
    for (state, code) in [("failed", 1), ("timed-out", 9), ("cancelled", 10)] {
        let platform = platform(&["running", state]);
        let ran = Burst::of(&platform).run(&["wait", "f1000000000000000000000000000001"]);
        assert!(
            ran.fails(code)
                .starts_with("flare f1000000000000000000000000000001 "),
            "{ran:?}"
        );
        assert!(ran.out.contains(state), "{ran:?}");
    }
    let missing = Burst::of(&succeeded).run(&["wait", "f2000000000000000000000000000002"]);
    assert_eq!(missing.fails(3), "There is no such thing. [t404]");
}

#[test]
fn wait_survives_a_restart_and_killing_it_cancels_nothing() {
    let restarting = Platform::start();
    restarting.on(
        "GET /flares/f1000000000000000000000000000001",
        200,
        &flare("running", "null"),
    );
    restarting.on(
        "GET /flares/f1000000000000000000000000000001",
        503,
        r#"{"error":"Starting.","code":"t"}"#,
    );
    restarting.on(
        "GET /flares/f1000000000000000000000000000001",
        200,
        &flare("succeeded", "null"),
    );
    Burst::of(&restarting)
        .run(&["wait", "f1000000000000000000000000000001"])
        .ok();

    let platform = platform(&["running"]);
    let burst = Burst::of(&platform);
    let child = burst
        .command(&["wait", "f1000000000000000000000000000001"])
        .spawn()
        .unwrap();
    platform.wait_for("GET /flares/f1000000000000000000000000000001");
    // SIGTERM, because tests that run in the background can have SIGINT ignored.
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (None, ""));
    assert_eq!(
        platform.lines(),
        ["GET /flares/f1000000000000000000000000000001"]
    );
}

#[test]
fn a_log_is_followed_to_its_end() {
    let platform = platform(&["queued", "running", "running", "succeeded"]);
    // By the second poll it may be too early to read the log again.
    platform.on(LOGS, 200, &logs(&["one"], 7));
    platform.on(LOGS, 200, &logs(&["two", "three"], 9));
    // On a slow machine it is not, and at the end the log is read once more.
    platform.on(LOGS, 200, &logs(&[], 9));
    let burst = Burst::of(&platform);
    let out = burst
        .run(&["logs", "f1000000000000000000000000000001", "--follow"])
        .ok();
    assert_eq!(texts(&out), ["one", "two", "three"], "{out}");
    let looks: Vec<_> = platform.lines();
    let looks: Vec<_> = looks.iter().filter(|line| line.starts_with(LOGS)).collect();
    assert_eq!(looks[..2], [LOGS, &format!("{LOGS}?from=7")]);

    let platform = self::platform(&["succeeded"]);
    platform.on(LOGS, 200, &logs(&["two", "three"], 9));
    let burst = Burst::of(&platform);
    let out = burst
        .run(&[
            "logs",
            "f1000000000000000000000000000001",
            "--follow",
            "--output=json",
        ])
        .ok();
    let lines: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((lines.len(), &lines[1]["line"]), (2, &"three".into()));
}

#[test]
fn logs_of_an_earlier_release_are_read_in_full_at_each_poll() {
    let platform = platform(&["running", "succeeded"]);
    let all = |lines: &[&str]| logs(lines, 0).replace(r#""next":0,"#, "");
    platform.on(LOGS, 200, &all(&["one"]));
    platform.on(LOGS, 200, &all(&["one", "two"]));
    let out = Burst::of(&platform)
        .run(&["logs", "f1000000000000000000000000000001", "--follow"])
        .ok();
    assert_eq!(texts(&out), ["one", "two"], "{out}");
    assert!(!platform.lines().iter().any(|line| line.contains("from=")));
}

#[test]
fn a_log_is_followed_while_a_cluster_is_upgraded() {
    let old = |lines: &[&str]| logs(lines, 0).replace(r#""next":0,"#, "");
    let from_new = platform(&["running", "succeeded"]);
    from_new.on(LOGS, 200, &logs(&["one"], 7));
    from_new.on(LOGS, 400, r#"{"error":"There is no 'from'.","code":"t"}"#);
    from_new.on(LOGS, 200, &old(&["one", "two"]));
    let out = Burst::of(&from_new)
        .run(&["logs", "f1000000000000000000000000000001", "--follow"])
        .ok();
    assert_eq!(texts(&out), ["one", "two"], "{out}");
    let looks: Vec<_> = from_new.lines();
    let looks: Vec<_> = looks.iter().filter(|line| line.starts_with(LOGS)).collect();
    assert_eq!(looks, [LOGS, &format!("{LOGS}?from=7"), LOGS]);

    let from_old = platform(&["running", "succeeded"]);
    from_old.on(LOGS, 200, &old(&["one"]));
    from_old.on(LOGS, 200, &logs(&["one", "two"], 9));
    let out = Burst::of(&from_old)
        .run(&["logs", "f1000000000000000000000000000001", "--follow"])
        .ok();
    assert_eq!(texts(&out), ["one", "two"], "{out}");
}

#[test]
fn a_line_is_printed_before_the_flare_ends() {
    let platform = platform(&["running"]);
    platform.on(LOGS, 200, &logs(&["one"], 1));
    platform.on(LOGS, 200, &logs(&[], 1));
    let burst = Burst::of(&platform);
    let mut command = burst.command(&[
        "logs",
        "f1000000000000000000000000000001",
        "-f",
        "--worker",
        "0",
    ]);
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    let out = child.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut first).unwrap();
    assert_eq!(texts(&first), ["one"]);
    platform.on(
        "GET /flares/f1000000000000000000000000000001",
        200,
        &flare("failed", "null"),
    );
    // The exit code does not depend on how the flare ended; other commands report that.
    assert!(child.wait().unwrap().success());
    assert!(platform.lines().contains(&format!("{LOGS}?worker=0")));
}

#[test]
fn the_log_of_a_retry_is_printed_from_its_start() {
    let platform = Platform::start();
    let again = serde_json::json!({"state": "succeeded", "attempt": 2});
    let again = samples::flare(again).to_string();
    platform.on(
        "GET /flares/f1000000000000000000000000000001",
        200,
        &flare("running", "null"),
    );
    platform.on("GET /flares/f1000000000000000000000000000001", 200, &again);
    platform.on(LOGS, 200, &logs(&["one", "two"], 2));
    platform.on(LOGS, 200, &logs(&["again"], 3));
    let out = Burst::of(&platform)
        .run(&["logs", "f1000000000000000000000000000001", "--follow"])
        .ok();
    assert_eq!(texts(&out), ["one", "two", "again"]);
}

#[test]
fn a_watched_status_is_shown_when_it_changes() {
    let platform = platform(&["queued", "running", "running", "succeeded"]);
    let burst = Burst::of(&platform);
    let out = burst
        .run(&["status", "f1000000000000000000000000000001", "--watch"])
        .ok();
    let states: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix("state        "))
        .collect();
    assert_eq!(states, ["queued", "running", "succeeded"]);
    assert_eq!(platform.requests().len(), 4);
}

#[test]
fn a_watched_status_is_updated_in_place_on_a_terminal() {
    let platform = platform(&["running", "succeeded"]);
    let burst = Burst::of(&platform)
        .with("TERM", "xterm")
        .with("NO_COLOR", "1");
    let screen = run_on_terminal(
        &burst,
        &["status", "f1000000000000000000000000000001", "--watch"],
    )
    .out;
    let (before, after) = screen.split_once("\x1b[").unwrap();
    assert!(
        before.contains("running") && after.contains("succeeded"),
        "{screen:?}"
    );
}
