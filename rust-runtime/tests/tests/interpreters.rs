//! Interpreters that are started ahead of their programs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use burst_test_servers::wait;
use serde_json::{Value, json};

use crate::support::{Package, Runtime, acts, end, failure, named, wait_until_gone};

/// Functions that return what they see, and the process they are in.
const FUNCTIONS: [(&str, &str); 2] = [
    (
        "python:3",
        r#"
import os, sys

def main(args):
    sees = {
        "cwd": os.getcwd(), "path": sys.path, "argv": sys.argv, "modules": sorted(sys.modules), "name": __name__,
        "environ": {name: value for name, value in os.environ.items() if name != "__OW_DEADLINE"},
        "stdin": sys.stdin.read(), "open": sorted(os.listdir("/proc/self/fd")),
    }
    return {"pid": os.getpid(), "parent": os.getppid(), "sees": sees}
"#,
    ),
    (
        "nodejs:20",
        r#"
const { __OW_DEADLINE, ...env } = process.env;
exports.main = () => ({
  pid: process.pid,
  sees: {
    cwd: process.cwd(), paths: require.resolve.paths('x'), argv: process.argv, arguments: process.execArgv, env,
    stdin: require('fs').readFileSync(0).length,
  },
});
"#,
    ),
];

/// Returns a package that consists of this source.
fn package(source: &str) -> Package {
    let package = Package::empty();
    fs::write(package.path().join("source"), source).unwrap();
    package
}

fn ahead(runtime: &Runtime, kind: &str) -> u16 {
    runtime
        .post(&format!("/interpreter?kind={kind}"), &json!({}))
        .0
}

/// Has this runtime start an interpreter ahead, and returns its process id.
fn started_ahead(runtime: &Runtime, kind: &str) -> u64 {
    assert_eq!(ahead(runtime, kind), 202, "{kind}");
    wait::until("it has been started", wait::SOON, || {
        children(runtime).pop_first()
    })
}

fn children(runtime: &Runtime) -> BTreeSet<u64> {
    let threads = fs::read_dir(format!("/proc/{}/task", runtime.id())).unwrap();
    threads
        .filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).ok())
        .flat_map(|children| {
            let numbers = children.split_whitespace();
            numbers
                .map(|number| number.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn init(runtime: &Runtime, path: &Path, kind: &str) -> (u16, Value) {
    let value = json!({"path": path, "kind": kind});
    runtime.post("/init", &json!({ "value": value }))
}

fn output(events: &[Value]) -> Value {
    assert_eq!(end(events)["reusable"], true, "{events:?}");
    named(events, "worker-succeeded")[0]["output"].clone()
}

#[test]
fn a_function_sees_the_same_in_an_interpreter_that_was_started_ahead() {
    for (kind, source) in FUNCTIONS {
        let package = package(source);
        let seen = [false, true].map(|is_ahead| {
            let runtime = Runtime::start();
            let waiting = is_ahead.then(|| started_ahead(&runtime, kind));
            let answer = init(&runtime, package.path(), kind);
            assert_eq!(answer, (200, json!({"ok": true})), "{kind}");
            let output = output(&runtime.act(&[json!({})]));
            assert!(
                waiting.is_none_or(|waiting| output["pid"] == waiting),
                "{kind}"
            );
            assert_eq!(children(&runtime).len(), 1, "{kind}");
            output["sees"].clone()
        });
        assert_eq!(seen[0]["cwd"], json!(package.path()), "{kind}");
        assert_eq!(seen[0], seen[1], "{kind}");
    }
}

#[test]
fn a_program_may_arrive_while_its_interpreter_starts() {
    for (kind, source) in FUNCTIONS {
        let (runtime, package) = (Runtime::start(), package(source));
        assert_eq!(ahead(&runtime, kind), 202);
        assert_eq!(init(&runtime, package.path(), kind).0, 200);
        let output = output(&runtime.act(&[json!({})]));
        let only = BTreeSet::from([output["pid"].as_u64().unwrap()]);
        assert_eq!(children(&runtime), only, "{kind}");
    }
}

#[test]
fn a_pack_of_several_workers_uses_the_interpreter_too() {
    for (kind, source) in FUNCTIONS {
        let runtime = Runtime::start();
        let waiting = started_ahead(&runtime, kind);
        // A package that is sent is unpacked into a directory that did not exist when the
        // interpreter was started.
        let value = json!({"code": source, "binary": false, "kind": kind});
        assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
        let events = runtime.act(&vec![json!({}); 3]);
        for ended in named(&events, "worker-succeeded") {
            let output = &ended["output"];
            // Python's workers are separate processes.
            let place = if kind == "python:3" { "parent" } else { "pid" };
            assert_eq!(output[place], waiting, "{kind}");
        }
        assert_eq!(end(&events)["reusable"], true, "{kind}");
    }
}

#[test]
fn an_unsuitable_interpreter_is_replaced() {
    let [(python, source), (node, script)] = FUNCTIONS;
    for (waiting, value) in [
        (node, json!({"kind": python})),
        ("python:3.99", json!({"kind": python})),
        (python, json!({"kind": node})),
        (node, json!({"kind": node, "concurrency": 2})),
    ] {
        let runtime = Runtime::start();
        let source = if value["kind"] == node {
            script
        } else {
            source
        };
        let package = package(source);
        let first = started_ahead(&runtime, waiting);
        let mut value = value;
        value["path"] = json!(package.path());
        assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
        wait_until_gone(first);
        let output = output(&runtime.act(&[json!({})]));
        assert_ne!(output["pid"], first, "{value}");
    }
    let runtime = Runtime::start();
    let first = started_ahead(&runtime, python);
    let package = acts();
    runtime.init(package.path());
    wait_until_gone(first);
    assert_eq!(
        end(&runtime.act(&[json!({"act": "hello"})]))["reusable"],
        true
    );
}

#[test]
fn a_program_with_variables_gets_a_new_interpreter() {
    for (kind, source) in FUNCTIONS {
        let (runtime, package) = (Runtime::start(), package(source));
        let first = started_ahead(&runtime, kind);
        let variables = json!({"PYTHONPATH": "/libraries", "NODE_OPTIONS": "--no-warnings"});
        assert_eq!(runtime.post("/environment", &variables).0, 204);
        assert_eq!(init(&runtime, package.path(), kind).0, 200);
        wait_until_gone(first);
        let sees = output(&runtime.act(&[json!({})]))["sees"].clone();
        let told = sees["path"].as_array().map_or_else(
            || sees["env"]["NODE_OPTIONS"] == "--no-warnings",
            |path| path.contains(&json!("/libraries")),
        );
        assert!(told, "{kind}: {sees}");
    }
}

#[test]
fn a_dead_interpreter_is_replaced() {
    for (kind, source) in FUNCTIONS {
        let (runtime, package) = (Runtime::start(), package(source));
        let first = started_ahead(&runtime, kind);
        let killed = Command::new("kill")
            .args(["-KILL", &first.to_string()])
            .status();
        assert!(killed.unwrap().success());
        wait_until_gone(first);
        assert_eq!(init(&runtime, package.path(), kind).0, 200);
        assert_ne!(output(&runtime.act(&[json!({})]))["pid"], first, "{kind}");
    }
}

#[test]
fn an_interpreter_ends_with_its_runtime() {
    for (kind, _) in FUNCTIONS {
        for end in [
            Runtime::terminate,
            Runtime::close_stdin,
            Runtime::kill as fn(&mut Runtime),
        ] {
            let mut runtime = Runtime::start();
            let waiting = started_ahead(&runtime, kind);
            end(&mut runtime);
            wait_until_gone(waiting);
        }
    }
}

#[test]
fn one_interpreter_is_started_and_only_before_the_program() {
    let (kind, source) = FUNCTIONS[0];
    let (runtime, package) = (Runtime::start(), package(source));
    for (kind, said) in [
        ("cobol", "no kind `cobol`"),
        ("go:1.20", "no interpreter"),
        ("rust", "no interpreter"),
    ] {
        let (status, answer) = runtime.post(&format!("/interpreter?kind={kind}"), &json!({}));
        assert_eq!(status, 400, "{kind}");
        assert!(answer["error"].as_str().unwrap().contains(said), "{answer}");
    }
    assert_eq!(runtime.post("/interpreter", &json!({})).0, 400);
    started_ahead(&runtime, kind);
    assert_eq!(ahead(&runtime, kind), 403);
    assert_eq!(init(&runtime, package.path(), kind).0, 200);
    assert_eq!(ahead(&runtime, kind), 403);
    assert_eq!(children(&runtime).len(), 1);

    let runtime = with_path("/nowhere");
    let (status, answer) = runtime.post("/interpreter?kind=nodejs", &json!({}));
    assert_eq!(status, 502);
    assert!(answer["error"].as_str().unwrap().contains("no `node`"));
}

fn with_path(path: &str) -> Runtime {
    Runtime::start_with(at_path(path))
}

fn at_path(path: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    command.env("PATH", path);
    command
}

/// Returns a runtime whose `python3` is this script, started by `start`.
fn with_interpreter(script: &str, start: fn(Command) -> Runtime) -> (Runtime, Package) {
    let directory = Package::empty();
    let file = directory.path().join("python3");
    // Written by another process, because a file cannot be executed while any process has it open
    // for writing.
    let written = Command::new("sh")
        .args(["-c", r#"printf '%s' "$2" > "$1""#, "sh"])
        .arg(&file)
        .arg(script)
        .status();
    assert!(written.unwrap().success());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let runtime = start(at_path(directory.path().to_str().unwrap()));
    (runtime, directory)
}

#[test]
fn an_interpreter_that_never_gets_ready_fails_the_start_in_time() {
    let fails = |script: &str, said: &str, bound: u64| {
        let package = package("");
        let start = match bound {
            0 => Runtime::start_with,
            _ => |command| Runtime::impatient(command, Duration::from_secs(1)),
        };
        let (runtime, _interpreter) = with_interpreter(script, start);
        assert_eq!(ahead(&runtime, "python"), 202);
        let began = Instant::now();
        let (status, answer) = init(&runtime, package.path(), "python");
        assert_eq!(status, 502, "{script}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(said), "{script}: {error}");
        // The limit counts from the call of `/init`, which sets it.
        assert!(began.elapsed() >= Duration::from_secs(bound), "{script}");
        runtime.wait_until_programs_end();
    };
    std::thread::scope(|scope| {
        for (script, said, bound) in [
            ("exec /bin/sleep 600", "did not report", 1),
            ("exec 3>&-; exec /bin/sleep 600", "did not report", 1),
            ("while :; do echo so; done", "did not report", 1),
            // It is dead by the call of `/init`, or is started again and dies.
            ("echo so >&2; exit 4", "it said: so", 0),
            (
                "/usr/bin/head -c 9 <&3 >/dev/null; exit 5",
                "exit code 5",
                0,
            ),
            (
                "printf '\\2\\0\\0\\0{}' >&3; exec /bin/sleep 600",
                "than hello",
                0,
            ),
        ] {
            scope.spawn(move || fails(&format!("#!/bin/sh\n{script}"), said, bound));
        }
    });
}

#[test]
fn code_that_cannot_be_loaded_gives_the_usual_error() {
    for (kind, _) in FUNCTIONS {
        let runtime = Runtime::start();
        started_ahead(&runtime, kind);
        let package = package("nothing of it(");
        assert_eq!(init(&runtime, package.path(), kind).0, 200);
        let error = failure(&runtime.act(&[json!({})]), 0);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with("Initialization has failed"),
            "{message}"
        );
    }
}
