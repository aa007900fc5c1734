//! Programs that say as much as they can, without a pause.

use std::process::Command;
use std::time::Duration;

use crate::support::{Run, Runtime, act, exec_of};
use serde_json::json;

/// A script that reports, and goes on with this.
fn reporting(rest: &str) -> String {
    let hello = r#"{"event":"hello","sdk":"0"}"#;
    let length = hello.len();
    format!("#!/bin/sh\nprintf '\\{length:03o}\\000\\000\\000{hello}' >&3\n{rest}\n")
}

#[test]
fn who_says_all_but_hello_is_given_up_in_time_and_quoted() {
    let command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    let runtime = Runtime::impatient(command, Duration::from_secs(4));
    let package = exec_of(b"#!/bin/sh\nexec yes again\n");
    let (status, answer) = runtime.post("/init", &json!({"value": {"path": package.path()}}));
    assert_eq!(status, 502);
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("did not report within 4 s"), "{error}");
    assert!(error.contains("again"), "{error}");
    runtime.wait_until_programs_end();
}

#[test]
fn who_says_all_but_hello_in_little_pieces_is_given_up_in_time() {
    let command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    let runtime = Runtime::impatient(command, Duration::from_secs(4));
    let package = exec_of(b"#!/bin/sh\nwhile echo; do :; done &\nwhile echo; do :; done\n");
    let (status, answer) = runtime.post("/init", &json!({"value": {"path": package.path()}}));
    assert_eq!(status, 502);
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("did not report within 4 s"), "{error}");
    runtime.wait_until_programs_end();
}

#[test]
fn the_end_of_a_program_is_seen_while_its_children_go_on_talking() {
    let runtime = Runtime::start();
    let package = exec_of(b"#!/bin/sh\nyes &\nexit 3\n");
    let (status, answer) = runtime.post("/init", &json!({"value": {"path": package.path()}}));
    assert_eq!(status, 502);
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("exit code 3"), "{error}");
    runtime.wait_until_programs_end();
}

#[test]
fn a_caller_who_hangs_up_is_heard_beside_a_program_that_goes_on_talking() {
    let mut runtime = Runtime::start();
    let package = exec_of(reporting("exec yes").as_bytes());
    runtime.init(package.path());
    drop(runtime.flare(&Run::new(&[act("nothing")])));
    runtime.wait_until_programs_end();
    runtime.hold(package);
}
