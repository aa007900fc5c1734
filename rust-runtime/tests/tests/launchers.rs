//! Functions in languages with a launcher, on this machine's interpreters.

use std::fs;
use std::time::{Duration, Instant};

use burst_test_servers::wait;
use serde_json::{Value, json};

use crate::support::{Package, Run, Runtime, end, failure, logs, named};

const PYTHON: &str = include_str!("launchers/acts.py");
const NODEJS: &str = include_str!("launchers/acts.js");

/// Returns a runtime initialised with a function: its source, kind and name.
fn runtime(kind: &str, source: &str, main: Option<&str>) -> Runtime {
    let mut runtime = Runtime::start();
    let package = Package::empty();
    fs::write(package.path().join("source"), source).unwrap();
    let value = json!({"path": package.path(), "kind": kind, "main": main});
    let answer = runtime.post("/init", &json!({ "value": value }));
    assert_eq!(answer, (200, json!({"ok": true})));
    runtime.hold(package);
    runtime
}

/// Runs a test for both kinds.
fn each(test: impl Fn(&str, &dyn Fn() -> Runtime)) {
    test("python:3", &|| runtime("python:3", PYTHON, None));
    test("nodejs:20", &|| runtime("nodejs:20", NODEJS, None));
}

fn act(name: &str) -> Value {
    json!({ "act": name })
}

/// Returns the outputs of a flare whose workers all succeed, in the order of their ids.
fn outputs(events: &[Value]) -> Vec<Value> {
    let mut ended = named(events, "worker-succeeded");
    ended.sort_by_key(|event| event["worker"].as_u64());
    assert_eq!(end(events)["reusable"], true, "{events:?}");
    ended.iter().map(|event| event["output"].clone()).collect()
}

#[test]
fn a_function_is_called_and_keeps_its_state() {
    each(|kind, runtime| {
        let runtime = runtime();
        for runs in 1..4 {
            let events = runtime.act(&[json!({"act": "count", "x": [1, "é", null]})]);
            let expected = json!({"runs": runs, "x": [1, "é", null]});
            assert_eq!(outputs(&events), [expected], "{kind}");
            assert_eq!(logs(&events, json!(0), "stdout"), ["out é"], "{kind}");
            assert_eq!(logs(&events, json!(0), "stderr"), ["err"], "{kind}");
        }
    });
}

#[test]
fn a_run_has_its_own_variables_and_no_others() {
    each(|kind, runtime| {
        let runtime = runtime();
        let mut run = Run::new(&[act("variables")]);
        run.invocation = json!({"activation_id": "a1", "action_name": "/guest/x"});
        let output = outputs(&runtime.events(&run)).remove(0);
        assert_eq!(output["__OW_ACTIVATION_ID"], "a1", "{kind}");
        assert_eq!(output["__OW_ACTION_NAME"], "/guest/x", "{kind}");
        let deadline = output["__OW_DEADLINE"].as_str().unwrap();
        assert_eq!(deadline.len(), 13, "milliseconds: {deadline}");
        run = Run::new(&[act("variables")]);
        run.invocation = json!({"activation_id": "a2"});
        let output = outputs(&runtime.events(&run)).remove(0);
        assert_eq!(output["__OW_ACTIVATION_ID"], "a2", "{kind}");
        assert_eq!(output.get("__OW_ACTION_NAME"), None, "{kind}");
    });
}

#[test]
fn each_worker_knows_its_trace_context() {
    each(|kind, runtime| {
        let runtime = runtime();
        let mut run = Run::new(&[act("variables"), act("variables")]);
        let spans = ["00f067aa0ba902b7", "00f067aa0ba902b8"];
        run.trace = json!({"id": "4b".repeat(16), "sampled": true, "workers": spans});
        for (output, span) in outputs(&runtime.events(&run)).iter().zip(spans) {
            let traceparent = format!("00-{}-{span}-01", "4b".repeat(16));
            assert_eq!(output["TRACEPARENT"], traceparent.as_str(), "{kind}");
            assert_eq!(output["__OW_TRACEPARENT"], traceparent.as_str(), "{kind}");
        }
        for output in outputs(&runtime.act(&[act("variables"), act("variables")])) {
            assert_eq!(output.get("TRACEPARENT"), None, "{kind}");
        }
    });
}

#[test]
fn workers_run_at_the_same_time_and_are_reused() {
    each(|kind, runtime| {
        let runtime = runtime();
        // No worker ends before all have begun.
        let directory = Package::empty();
        let meet = json!({"act": "meet", "directory": directory.path(), "workers": 8});
        let mut run = Run::new(&vec![meet; 8]);
        run.pack_sizes = vec![8, 8];
        run.pack = 1;
        let events = runtime.events(&run);
        assert_eq!(outputs(&events), vec![json!({}); 8], "{kind}");
        for worker in 8..16 {
            assert_eq!(logs(&events, json!(worker), "stdout"), ["here"], "{kind}");
        }
        let counts = |workers: usize| outputs(&runtime.act(&vec![act("count"); workers]));
        assert_eq!(counts(4), vec![json!({"runs": 1, "x": null}); 4], "{kind}");
        // Long enough for the idle program to be stopped.
        std::thread::sleep(Duration::from_millis(400));
        let again = counts(6);
        assert_eq!(again[..4], vec![json!({"runs": 2, "x": null}); 4], "{kind}");
        assert_eq!(again[4..], vec![json!({"runs": 1, "x": null}); 2], "{kind}");
    });
}

#[test]
fn packs_wait_for_each_other() {
    each(|kind, runtime| {
        let runtime = runtime();
        for workers in [1, 2] {
            let mut run = Run::new(&vec![act("count"); workers]);
            run.autostart = false;
            let mut events = runtime.flare(&run);
            events.until("ready");
            let path = format!("/packs/{}/start", run.flare_id);
            let start = json!({"endpoints": [null]});
            assert_eq!(runtime.post(&path, &start).0, 204);
            assert_eq!(end(&events.collect::<Vec<_>>())["reusable"], true, "{kind}");
        }
        let run = Run {
            autostart: false,
            ..Run::new(&[act("count")])
        };
        let mut events = runtime.flare(&run);
        events.until("ready");
        let path = format!("/packs/{}/abort", run.flare_id);
        let reason = json!({"kind": "cancelled", "message": "no more"});
        assert_eq!(runtime.post(&path, &reason).0, 204);
        let events: Vec<_> = events.collect();
        assert_eq!(failure(&events, 0)["kind"], "cancelled", "{kind}");
        assert_eq!(end(&events)["reusable"], false, "{kind}");
    });
}

#[test]
fn an_invalid_result_fails_its_worker() {
    each(|kind, runtime| {
        for (bad, said) in [
            ("number", "did not return a dictionary or array"),
            ("nothing", "did not return a dictionary or array"),
            ("circle", "what can be JSON"),
            ("huge", "larger than 16 MiB"),
            ("endless", "what can be JSON"),
            ("deep", "256 levels"),
        ] {
            let events = runtime().act(&[act(bad)]);
            let error = failure(&events, 0);
            assert_eq!(error["kind"], "error", "{kind} {bad}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(said), "{kind} {bad}: {message}");
        }
    });
}

#[test]
fn arrays_errors_and_promises_are_results() {
    each(|kind, runtime| {
        let runtime = runtime();
        assert_eq!(outputs(&runtime.act(&[act("array")])), [json!([1, {}])]);
        let events = runtime.act(&[act("error")]);
        let error = outputs(&events)[0]["error"].to_string();
        assert!(error.contains("boom"), "{kind}: {error}");
        let trace = logs(&events, json!(0), "stderr").join("\n");
        // The source has no path, so it gets a name that shows what it is.
        let file = if kind.starts_with("python") {
            "File \"main.py\", line "
        } else {
            "/main.js:"
        };
        assert!(
            trace.contains("boom") && trace.contains(file),
            "{kind}: {trace}"
        );
        for ours in ["stdin", "/source"] {
            assert!(!trace.contains(ours), "{kind}: {trace}");
        }
    });
    let node = runtime("nodejs", NODEJS, None);
    assert_eq!(outputs(&node.act(&[act("later")])), [json!({"late": true})]);
    let thrown = failure(&node.act(&[act("throw")]), 0);
    let message = "An error has occurred: Error: at once";
    assert_eq!(thrown["message"], message);
}

#[test]
fn the_worker_that_ends_the_process_is_named() {
    each(|kind, runtime| {
        for workers in [1, 3] {
            let mut acts = vec![act("count"); workers];
            acts[workers - 1] = act("exit");
            let runtime = runtime();
            let events = runtime.act(&acts);
            let error = failure(&events, workers as u64 - 1);
            assert_eq!(error["kind"], "exit", "{kind} {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("exit code 3"), "{kind}: {message}");
            runtime.wait_until_programs_end();
        }
    });
    for workers in [1, 2] {
        let mut acts = vec![act("count"); workers];
        acts[workers - 1] = act("crash");
        let events = runtime("python", PYTHON, None).act(&acts);
        let error = failure(&events, workers as u64 - 1);
        assert_eq!(error["kind"], "signal", "{error}");
    }
}

#[test]
fn a_function_that_never_ends_is_ended() {
    each(|kind, runtime| {
        for (endless, workers) in [("spin", 1), ("spin", 2), ("wait", 1), ("wait", 2)] {
            let runtime = runtime();
            let mut run = Run::new(&vec![act(endless); workers]);
            run.timeout = Duration::from_millis(700);
            let events = runtime.events(&run);
            assert_eq!(failure(&events, 0)["kind"], "timeout", "{kind} {endless}");
            runtime.wait_until_programs_end();
        }
    });
}

#[test]
fn code_that_cannot_be_loaded_is_reported() {
    for (kind, source, main, said) in [
        ("python", "def main(:", None, "SyntaxError"),
        ("python", "import nothing_of_it", None, "nothing_of_it"),
        ("python", "def main(args): pass", Some("other"), "'other'"),
        ("nodejs", "function main( {", None, "SyntaxError"),
        ("nodejs", "require('nothing-of-it')", None, "nothing-of-it"),
        ("nodejs", "function main() {}", Some("other"), "'other'"),
        ("nodejs", "function main() {}", Some("main(); x"), "no name"),
    ] {
        for workers in [1, 2] {
            let runtime = runtime(kind, source, main);
            let events = runtime.act(&vec![json!({}); workers]);
            let failed = named(&events, "worker-failed")[0];
            let message = failed["error"]["message"].as_str().unwrap();
            assert!(
                message.starts_with("Initialization has failed"),
                "{message}"
            );
            assert!(message.contains(said), "{kind}: {message}");
            let log = logs(&events, failed["worker"].clone(), "stderr").join("\n");
            assert!(log.contains(said), "{kind}: {log}");
        }
    }
}

#[test]
fn other_functions_and_packages_with_libraries() {
    let niam = runtime(
        "python",
        "def niam(args): return {'other': True}",
        Some("niam"),
    );
    assert_eq!(outputs(&niam.act(&[json!({})])), [json!({"other": true})]);
    let niam = runtime(
        "nodejs",
        "exports.niam = () => ({other: true})",
        Some("niam"),
    );
    assert_eq!(outputs(&niam.act(&[json!({})])), [json!({"other": true})]);
    let library = "virtualenv/lib/python3.9/site-packages/library.py";
    for (kind, files) in [
        (
            "python",
            vec![
                (
                    "__main__.py",
                    "import json, library, part\ndef main(args): return {'of': [library.NAME, part.NAME]}",
                ),
                // Takes precedence over Python's own module, but not over the one that the launcher
                // has imported.
                ("json.py", "raise ValueError"),
                ("part.py", "NAME = 'part'"),
                (library, "NAME = 'library'"),
            ],
        ),
        (
            "nodejs",
            vec![
                ("package.json", r#"{"main": "lib/start.js"}"#),
                (
                    "lib/start.js",
                    "exports.main = () => ({of: [require('library'), require('../part')]})",
                ),
                ("part.js", "module.exports = 'part'"),
                (
                    "node_modules/library/index.js",
                    "module.exports = 'library'",
                ),
            ],
        ),
        (
            "nodejs",
            vec![
                ("package.json", r#"{"type": "module", "main": "a.js"}"#),
                (
                    "a.js",
                    "import library from 'library'; export const main = async () => ({of: [library, 'part']})",
                ),
                (
                    "node_modules/library/index.js",
                    "module.exports = 'library'",
                ),
                ("node_modules/library/package.json", "{}"),
            ],
        ),
    ] {
        let package = Package::empty();
        for (name, text) in files {
            if name == "json.py" {
                continue;
            }
            let path = package.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut runtime = Runtime::start();
        let value = json!({"path": package.path(), "kind": kind});
        assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
        let expected = json!({"of": ["library", "part"]});
        for workers in [1, 2] {
            let events = runtime.act(&vec![json!({}); workers]);
            assert_eq!(outputs(&events), vec![expected.clone(); workers], "{kind}");
        }
        runtime.hold(package);
    }
}

#[test]
fn a_package_does_not_shadow_its_launchers_modules() {
    let package = Package::empty();
    fs::write(package.path().join("json.py"), "raise ValueError").unwrap();
    fs::write(
        package.path().join("__main__.py"),
        "def main(args): return {}",
    )
    .unwrap();
    let runtime = Runtime::start();
    let value = json!({"path": package.path(), "kind": "python"});
    assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
    assert_eq!(outputs(&runtime.act(&[json!({})])), [json!({})]);
}

#[test]
fn functions_that_misbehave_harm_only_themselves() {
    each(|kind, runtime| {
        let runtime = runtime();
        for bad in ["read", "bytes", "much", "children"] {
            let events = runtime.act(&[act(bad)]);
            assert_eq!(outputs(&events), [json!({})], "{kind} {bad}");
            if bad == "much" {
                let lines = logs(&events, json!(0), "stdout");
                let last = lines.last().unwrap();
                assert!(
                    last.contains("exceeds 1 MiB"),
                    "{kind}: {} {last:.80}",
                    lines.len()
                );
            }
        }
        assert_eq!(outputs(&runtime.act(&[act("count")])).len(), 1, "{kind}");
    });
    let python = runtime("python", PYTHON, None);
    for bad in ["close", "fork", "thread"] {
        let events = python.act(&[act(bad)]);
        assert_eq!(outputs(&events), [json!({})], "{bad}");
    }
    let events = runtime("nodejs", NODEJS, None).act(&[act("close")]);
    assert_eq!(end(&events)["reusable"], false);
}

#[test]
fn processes_left_by_workers_are_ended_and_workers_are_not() {
    let runtime = runtime("python", PYTHON, None);
    let pids = |events: &[Value]| -> Vec<u64> {
        let pid = |output: &Value| output["pid"].as_u64().unwrap();
        outputs(events).iter().map(pid).collect()
    };
    let first = pids(&runtime.act(&vec![act("leave"); 2]));
    for child in first {
        // It may remain as a zombie, because its parent has not waited for it.
        wait::until("it has ended", wait::SOON, || {
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            let ended = [") Z ", ") X "].iter().any(|state| stat.contains(state));
            (stat.is_empty() || ended).then_some(())
        });
    }
    assert_eq!(
        outputs(&runtime.act(&vec![act("count"); 2])),
        vec![json!({"runs": 1, "x": null}); 2]
    );
}

#[test]
fn many_processes_that_nobody_waits_for_end_their_pack_soon() {
    let source = "import subprocess
def main(args):
    for _ in range(20): subprocess.Popen(['sleep', '600'])
    return {}
";
    let runtime = runtime("python", source, None);
    let mut events = runtime.flare(&Run::new(&[json!({})]));
    events.until("worker-succeeded");
    let begun = Instant::now();
    let events: Vec<Value> = events.collect();
    // Sooner than the runtime gives up on processes that it must wait for.
    assert!(begun.elapsed() < Duration::from_secs(25), "{events:?}");
    assert_eq!(end(&events)["reusable"], false, "{events:?}");
}

#[test]
fn openwhisks_own_calls_run_a_source() {
    let runtime = Runtime::start();
    let value =
        json!({"name": "x", "kind": "python", "main": "main", "binary": false, "code": PYTHON});
    assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
    let body =
        json!({"value": {"act": "variables"}, "activation_id": "a1", "deadline": "99999999999999"});
    let (status, output) = runtime.post("/run", &body);
    assert_eq!((status, &output["__OW_ACTIVATION_ID"]), (200, &json!("a1")));
}

#[test]
fn an_unknown_kind_and_a_missing_interpreter_are_reported() {
    let runtime = Runtime::start();
    let value = json!({"path": "/tmp", "kind": "cobol:60"});
    let (status, answer) = runtime.post("/init", &json!({ "value": value }));
    assert_eq!(status, 400);
    let error = answer["error"].as_str().unwrap();
    assert!(
        error.contains("cobol") && error.contains("python"),
        "{error}"
    );
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    command.env("PATH", "/nowhere");
    let runtime = Runtime::start_with(command);
    let value = json!({"path": "/tmp", "kind": "nodejs:20"});
    let (status, answer) = runtime.post("/init", &json!({ "value": value }));
    assert_eq!(status, 502);
    assert!(answer["error"].as_str().unwrap().contains("no `node`"));
}

/// Checks counts of the interpreter, because the time of a call depends on the load of the machine.
#[test]
fn a_warm_call_starts_nothing() {
    each(|kind, runtime| {
        let runtime = runtime();
        let count = || outputs(&runtime.act(&[act("count")]));
        assert_eq!(count(), [json!({"runs": 1, "x": null})], "{kind}");
        let began = Instant::now();
        for runs in 2..102 {
            assert_eq!(count(), [json!({"runs": runs, "x": null})], "{kind}");
        }
        eprintln!("{kind}: {:?} a warm call", began.elapsed() / 100);
    });
}

/// Fills the memory to the last byte, so that none is left for a stack trace, either.
const EATER: &str = "
KEPT = []

def main(args):
    all = KEPT if args['keep'] else []
    while True:
        all.append(len(all) + 1000)
";

#[test]
fn a_function_out_of_memory_ends_and_frees_it() {
    let runtime = runtime("python:3", EATER, None);
    let run = |keep: bool| Run {
        memory: Some(64),
        invocation: json!({"activation_id": "a"}),
        timeout: Duration::from_secs(60),
        ..Run::new(&[json!({ "keep": keep })])
    };
    for _ in 0..3 {
        let events = runtime.events(&run(false));
        assert_eq!(outputs(&events), [json!({"error": "MemoryError"})]);
        let log = logs(&events, json!(0), "stderr").concat();
        assert!(log.contains("main.py\", line 7, in main"), "{log}");
    }
    // If the function keeps the memory, too little may be left to report the error, and its process
    // ends.
    let events = runtime.events(&run(true));
    assert_ne!(end(&events)["error"]["kind"], "timeout", "{events:?}");
}

/// Fails while it holds much memory.
const HOLDER: &str = "
def main(args):
    all = bytearray(30 << 20)
    raise ValueError('x')
";

#[test]
fn memory_of_a_failed_call_is_freed() {
    let runtime = runtime("python:3", HOLDER, None);
    let run = Run {
        memory: Some(64),
        invocation: json!({"activation_id": "a"}),
        ..Run::new(&[json!({})])
    };
    for _ in 0..4 {
        assert_eq!(outputs(&runtime.events(&run)), [json!({"error": "x"})]);
    }
}

/// An action that implements OpenWhisk's action loop, as a script.
const LOOP: &str = r#"#!/bin/sh
runs=0
while read -r line; do
  runs=$((runs + 1))
  echo "out"
  echo "err" >&2
  case "$line" in
    *exit*) exit 3 ;;
    *text*) echo hello >&3 ;;
    *spin*) while :; do :; done ;;
    *twice*) printf '{"once":true}\n{"twice":true}\n' >&3 ;;
    *) printf '{"runs":%d,"line":%s,"name":"%s"}\n' "$runs" "$line" "$__OW_ACTION_NAME" >&3 ;;
  esac
done
"#;

fn looping() -> Runtime {
    let mut runtime = Runtime::start();
    let package = crate::support::exec_of(LOOP.as_bytes());
    let value = json!({"path": package.path(), "kind": "go:1.20"});
    let answer = runtime.post("/init", &json!({ "value": value }));
    assert_eq!(answer, (200, json!({"ok": true})));
    runtime.hold(package);
    runtime
}

#[test]
fn the_action_loop_reads_a_line_and_answers_one() {
    let runtime = looping();
    for runs in 1..4 {
        let mut run = Run::new(&vec![json!({"x": "é\n"}); 3]);
        run.invocation = json!({"action_name": "/guest/loop", "api_key": "secret"});
        let spans = ["1", "2", "3"].map(|worker| worker.repeat(16));
        run.trace = json!({"id": "4b".repeat(16), "sampled": false, "workers": spans});
        let events = runtime.events(&run);
        for (worker, output) in outputs(&events).iter().enumerate() {
            assert_eq!(output["runs"], runs);
            assert_eq!(output["name"], "/guest/loop");
            assert_eq!(output["line"]["value"], json!({"x": "é\n"}));
            assert_eq!(output["line"]["api_key"], "secret");
            let traceparent = format!("00-{}-{}-00", "4b".repeat(16), spans[worker]);
            assert_eq!(output["line"]["traceparent"], traceparent);
            assert_eq!(logs(&events, json!(worker), "stdout"), ["out"]);
            assert_eq!(logs(&events, json!(worker), "stderr"), ["err"]);
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(
        outputs(&runtime.act(&[act("twice")])),
        [json!({"once": true})]
    );
    assert_eq!(outputs(&runtime.act(&[act("x")]))[0]["runs"], 5);
    let large = json!({"x": "x".repeat(1 << 20)});
    let output = outputs(&runtime.act(std::slice::from_ref(&large))).remove(0);
    assert_eq!(output["line"]["value"], large);
}

#[test]
fn the_failure_of_an_action_loop_is_reported() {
    let text = looping().act(&[act("text")]);
    let message = failure(&text, 0)["message"].to_string();
    assert!(message.contains("dictionary or array"), "{message}");
    for workers in [1, 2] {
        let mut acts = vec![act("x"); workers];
        acts[workers - 1] = act("exit");
        let events = looping().act(&acts);
        let error = failure(&events, workers as u64 - 1);
        assert_eq!(error["kind"], "exit", "{error}");
        assert!(error["message"].as_str().unwrap().contains("code 3"));
    }
    let runtime = looping();
    let mut run = Run::new(&[act("spin")]);
    run.timeout = Duration::from_millis(700);
    let events = runtime.events(&run);
    assert_eq!(failure(&events, 0)["kind"], "timeout");
    runtime.wait_until_programs_end();
}

#[test]
fn a_program_of_the_runtimes_protocol_needs_no_action_loop() {
    let runtime = Runtime::start();
    let package = crate::support::acts();
    let value = json!({"path": package.path(), "kind": "rust:1.34"});
    assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
    let events = runtime.act(&[act("hello")]);
    assert_eq!(end(&events)["reusable"], true, "{events:?}");
}
