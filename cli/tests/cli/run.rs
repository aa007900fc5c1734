//! `burst run`.

use rustix::process::{Pid, Signal, kill_process};

use crate::deploy::{deployed, invokers};
use crate::flare::{RESULT, STARTED, flare};
use crate::platform::Platform;
use crate::program::{Burst, Ran};

const LOGS: &str = r#"{"flareId":"f1000000000000000000000000000001","truncated":false,"next":1,"logs":[
    {"worker":1,"pack":0,"stream":"stdout","at":1700000000000000,"line":"hello"}]}"#;
const NO_MORE: &str =
    r#"{"flareId":"f1000000000000000000000000000001","truncated":false,"next":1,"logs":[]}"#;

fn platform(states: &[&str]) -> Platform {
    let platform = Platform::start();
    platform
        .on("GET /api/v1/invokers", 200, &invokers())
        .on("PUT /bursts/hello", 200, &deployed())
        .on("POST /bursts/hello", 202, STARTED)
        .on(
            "GET /flares/f1000000000000000000000000000001/logs",
            200,
            LOGS,
        )
        .on(
            "GET /flares/f1000000000000000000000000000001/logs",
            200,
            NO_MORE,
        )
        .on(
            "GET /flares/f1000000000000000000000000000001/result",
            200,
            RESULT,
        );
    for state in states {
        platform.on(
            "GET /flares/f1000000000000000000000000000001",
            200,
            &flare(state, "null"),
        );
    }
    platform
}

#[test]
fn a_program_is_deployed_run_and_shown() {
    let platform = platform(&["queued", "running", "succeeded"]);
    let burst = Burst::of(&platform);
    burst.executable("hello", "/bin/sh");
    let args = [
        "run",
        "hello",
        "--size",
        "2",
        "-p",
        "name=Ada",
        "--timeout",
        "1h30m",
    ];
    let ran = burst.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.out,
        "[\n  null,\n  {\"z\":1,\"a\":12345678901234567890123}\n]\n"
    );
    assert!(ran.err.starts_with("deployed hello 0.0.1\n"), "{ran:?}");
    assert_eq!(
        ran.err.matches("worker 1 stdout: hello\n").count(),
        1,
        "{ran:?}"
    );
    let mut lines = platform.lines();
    lines.dedup();
    assert_eq!(
        lines[..2],
        ["PUT /bursts/hello?overwrite=true", "POST /bursts/hello"]
    );
    assert_eq!(
        lines.last().unwrap(),
        "GET /flares/f1000000000000000000000000000001/result"
    );
    let requests = platform.requests();
    // An existing definition keeps its options and parameters.
    assert_eq!(requests[0].body["config"], serde_json::json!({}));
    assert!(requests[0].body.get("parameters").is_none());
    assert_eq!(
        requests[1].body,
        // The flare runs the version just deployed, even if another one has been deployed since.
        serde_json::json!(
            {"version": "0.0.1", "size": 2, "params": {"name": "Ada"}, "timeout": 5_400_000}
        )
    );
}

#[test]
fn the_name_comes_from_the_flag_or_the_crate() {
    let platform = platform(&["succeeded"]);
    let burst = Burst::of(&platform);
    burst.executable("program", "/bin/sh");
    assert_eq!(
        burst.run(&["run", "program", "--name", "hello"]).code,
        Some(0)
    );
    let manifest = "[package]\nname=\"hello\"\nedition=\"2021\"\n[workspace]\n";
    burst.file("some/Cargo.toml", manifest);
    burst.file("some/src/main.rs", "fn main() {}");
    // Cargo finds its own directory by the real home.
    let home = std::env::var_os("HOME").unwrap_or_default();
    let mut command = burst.command(&["run", "some"]);
    command.env("HOME", home).env_remove("CARGO_TARGET_DIR");
    command.env("BURST_CONFIG_FILE", burst.home().join("none"));
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_failed_flare_fails_the_run() {
    let platform = platform(&["running", "failed"]);
    let failed = r#"{"flareId":"f1000000000000000000000000000001","state":"failed","error":null,"outputs":[{"worker":0}]}"#;
    // This result replaces the platform's first one, which the first request uses up.
    platform.on(
        "GET /flares/f1000000000000000000000000000001/result",
        200,
        failed,
    );
    Burst::of(&platform)
        .run(&["result", "f1000000000000000000000000000001"])
        .ok();
    let burst = Burst::of(&platform);
    burst.executable("hello", "/bin/sh");
    let ran = burst.run(&["run", "hello"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err
            .ends_with("error: flare f1000000000000000000000000000001 failed; see `burst logs f1000000000000000000000000000001`\n"),
        "{ran:?}"
    );
}

#[test]
fn invalid_inputs_are_reported_before_the_deployment() {
    let platform = platform(&[]);
    let burst = Burst::of(&platform);
    burst.executable("hello", "/bin/sh");
    burst.file("none.json", "[]");
    let ran = burst.run(&["run", "hello", "--params-file", "none.json"]);
    assert!(ran.fails(2).contains("no input"), "{ran:?}");
    assert!(
        burst
            .run(&["run", "none"])
            .fails(2)
            .contains("cannot read none")
    );
    assert!(platform.requests().is_empty());
}

#[test]
fn an_interrupt_cancels_the_flare() {
    let platform = platform(&["running"]);
    platform.on(
        "DELETE /flares/f1000000000000000000000000000001",
        202,
        STARTED,
    );
    let burst = Burst::of(&platform);
    burst.executable("hello", "/bin/sh");
    let child = burst.command(&["run", "hello"]).spawn().unwrap();
    platform.wait_for("GET /flares/f1000000000000000000000000000001/logs");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(10), "{ran:?}");
    assert_eq!(
        platform.lines().last().unwrap(),
        "DELETE /flares/f1000000000000000000000000000001"
    );
}
