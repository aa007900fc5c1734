//! Programs that send as much as they can, without a pause. The tests do not notice waits that are slightly too long.

use std::process::Command;
use std::time::Duration;

use crate::support::{Run, Runtime, act, exec_of};
use serde_json::json;

/// Returns the error with which a program that is this script fails to start.
fn refusal(runtime: &Runtime, script: &str) -> String {
    let package = exec_of(format!("#!/bin/sh\n{script}\n").as_bytes());
    let (status, answer) = runtime.post("/init", &json!({"value": {"path": package.path()}}));
    assert_eq!(status, 502, "{answer}");
    runtime.wait_until_programs_end();
    answer["error"].as_str().unwrap().to_owned()
}

fn impatient() -> Runtime {
    let command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    Runtime::impatient(command, Duration::from_secs(4))
}

#[test]
fn a_program_without_a_hello_is_given_up_in_time_and_quoted() {
    let error = refusal(&impatient(), "exec yes again");
    assert!(error.contains("did not report within 4 s"), "{error}");
    assert!(error.contains("again"), "{error}");
}

#[test]
fn a_program_without_a_hello_that_writes_little_pieces_is_given_up_in_time() {
    let script = "while echo; do :; done &\nwhile echo; do :; done";
    let error = refusal(&impatient(), script);
    assert!(error.contains("did not report within 4 s"), "{error}");
}

#[test]
fn the_end_of_a_program_is_noticed_while_its_children_keep_printing() {
    let error = refusal(&Runtime::start(), "yes &\nexit 3");
    assert!(error.contains("exit code 3"), "{error}");
}

#[test]
fn a_hang_up_is_noticed_while_the_program_keeps_printing() {
    for shouts in ["shout", "shout-elsewhere"] {
        let runtime = Runtime::with_acts();
        let mut events = runtime.flare(&Run::new(&[act(shouts)]));
        events.until("log");
        drop(events);
        runtime.wait_until_programs_end();
    }
}
