//! Executables that are started for each run, as OpenWhisk's skeleton does.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Run, Runtime, act, end, exec_of, failure, logs, named};

/// An executable whose behaviour depends on the text in its input.
const EXEC: &str = r#"#!/bin/sh
input=$(cat)
echo first
echo err >&2
case "$input" in
  *exit*) echo late; exit 3 ;;
  *warns*) echo '{"warned":true}'; exit 4 ;;
  *text*) echo hello ;;
  *number*) echo 3 ;;
  *nothing*) ;;
  *empty*) printf '{"x":1}\n\n' ;;
  *array*) printf '[1,2]' ;;
  *crash*) kill -SEGV $$ ;;
  *spin*) while :; do :; done ;;
  *child*) sleep 600 & echo '{"left":true}' ;;
  *closes*) exec >&-; sleep 0.2 ;;
  *endless*) tr '\0' x </dev/zero ;;
  *much*) head -c 3000000 /dev/zero | tr '\0' x; echo; echo '{"much":true}' ;;
  *large*) printf '{"arguments":%d,"bytes":%d}' $# ${#input} ;;
  *) printf 'second\n{"argument":%s,"input":%s,"name":"%s","deadline":"%s","traceparent":"%s","fd":"%s"}\n' \
       "$1" "$input" "$__OW_ACTION_NAME" "$__OW_DEADLINE" "$TRACEPARENT" "$BURST_CONTROL_FD" ;;
esac
"#;

fn runtime() -> Runtime {
    let mut runtime = Runtime::start();
    let package = exec_of(EXEC.as_bytes());
    let value = json!({"path": package.path(), "kind": "skeleton"});
    let answer = runtime.post("/init", &json!({ "value": value }));
    assert_eq!(answer, (200, json!({"ok": true})));
    runtime.hold(package);
    runtime
}

fn outputs(events: &[Value]) -> Vec<Value> {
    let mut ended = named(events, "worker-succeeded");
    ended.sort_by_key(|event| event["worker"].as_u64());
    assert_eq!(end(events)["reusable"], true, "{events:?}");
    ended.iter().map(|event| event["output"].clone()).collect()
}

#[test]
fn the_last_line_of_each_run_is_its_result() {
    let runtime = runtime();
    for workers in [1, 3, 1] {
        let mut run = Run::new(&vec![json!({"x": "é\n"}); workers]);
        run.invocation = json!({"action_name": "/guest/native"});
        let spans: Vec<_> = (0..workers).map(|it| format!("{it:016x}")).collect();
        run.trace = json!({"id": "4b".repeat(16), "sampled": true, "workers": spans});
        let events = runtime.events(&run);
        let outputs = outputs(&events);
        assert_eq!(outputs.len(), workers);
        for (worker, output) in outputs.iter().enumerate() {
            assert_eq!(output["argument"], json!({"x": "é\n"}));
            assert_eq!(output["input"], json!({"x": "é\n"}));
            assert_eq!(output["name"], "/guest/native");
            assert_eq!(output["deadline"].as_str().unwrap().len(), 13);
            let traceparent = format!("00-{}-{}-01", "4b".repeat(16), spans[worker]);
            assert_eq!(output["traceparent"], traceparent);
            assert_eq!(output["fd"], "");
            assert_eq!(logs(&events, json!(worker), "stdout"), ["first", "second"]);
            assert_eq!(logs(&events, json!(worker), "stderr"), ["err"]);
        }
    }
    assert_eq!(outputs(&runtime.act(&[act("array")])), [json!([1, 2])]);
    assert_eq!(
        outputs(&runtime.act(&[act("much")])),
        [json!({"much": true})]
    );
    // OpenWhisk ignores the exit code, too.
    assert_eq!(
        outputs(&runtime.act(&[act("warns")])),
        [json!({"warned": true})]
    );
    // A process that it leaves running does not hold up the run.
    assert_eq!(
        outputs(&runtime.act(&[act("child")])),
        [json!({"left": true})]
    );
    let large = json!({"large": "x".repeat(1 << 20)});
    let output = outputs(&runtime.act(std::slice::from_ref(&large))).remove(0);
    let bytes = large.to_string().len();
    assert_eq!(output, json!({"arguments": 0, "bytes": bytes}));
}

#[test]
fn an_invalid_result_fails_its_run() {
    for (bad, said, last) in [
        ("text", "dictionary or array", "hello"),
        ("number", "dictionary or array", "3"),
        ("nothing", "dictionary or array", "first"),
        ("empty", "dictionary or array", r#"{"x":1}"#),
        ("closes", "dictionary or array", "first"),
        ("exit", "exit code 3", "late"),
        ("endless", "larger than 16 MiB", "first"),
    ] {
        let events = runtime().act(&[act(bad)]);
        let error = failure(&events, 0);
        assert_eq!(error["kind"], "error", "{bad}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(said), "{bad}: {message}");
        let log = logs(&events, json!(0), "stdout");
        assert!(log.iter().any(|line| *line == last), "{bad}: {log:?}");
    }
    // Other workers can still end on their own before they are killed, for which a busy machine may leave no
    // time.
    let ends = |_| {
        let events = runtime().act(&[act("exit"), act("array")]);
        assert_eq!(failure(&events, 0)["kind"], "error");
        let ended = named(&events, "worker-succeeded");
        ended.first().is_some_and(|event| event["worker"] == 1)
    };
    assert!((0..5).any(ends));
}

#[test]
fn a_run_that_is_killed_or_never_ends_ends_its_pack() {
    let events = runtime().act(&[act("crash")]);
    assert_eq!(failure(&events, 0)["kind"], "signal");
    let runtime = runtime();
    let mut run = Run::new(&[act("spin")]);
    run.timeout = Duration::from_millis(700);
    assert_eq!(failure(&runtime.events(&run), 0)["kind"], "timeout");
    runtime.wait_until_programs_end();
}

#[test]
fn a_file_that_cannot_be_executed_is_reported() {
    let mut runtime = Runtime::start();
    let package = exec_of(b"#!/nothing/of/it\r\n");
    let value = json!({"path": package.path(), "kind": "skeleton"});
    assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
    runtime.hold(package);
    let events = runtime.act(&[json!({})]);
    assert_eq!(
        failure(&events, 0)["message"],
        r"`exec` begins with `#!/nothing/of/it\r`, which is not here"
    );
    let value = json!({"code": "echo hello", "binary": false, "kind": "skeleton"});
    let (status, _) = Runtime::start().post("/init", &json!({ "value": value }));
    assert_eq!(status, 400);
}
