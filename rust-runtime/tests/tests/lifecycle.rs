//! Starting programs, invalid packages, single functions, and cleaning up.

use std::io::{Cursor, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{
    Run, Runtime, act, acts, exec_of, logs, named, process_exists, wait_until_gone,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use burst_test_servers::wait;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn code(package: &[u8]) -> Value {
    json!({"value": {"name": "test", "binary": true, "code": STANDARD.encode(package)}})
}

fn process(runtime: &Runtime) -> u64 {
    let events = runtime.act(&[act("hello")]);
    named(&events, "worker-succeeded")[0]["output"]["process"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_runtime_with_a_token_refuses_calls_without_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    command.env("BURST_RUNTIME_TOKEN", "secret");
    let runtime = Runtime::start_with(command);
    for path in [
        "/environment",
        "/init",
        "/run",
        "/packs",
        "/packs/f/start",
        "/packs/f/abort",
    ] {
        let (status, body) = runtime.post(path, &json!({}));
        assert_eq!(status, 401, "{path}: {body}");
    }
    assert_eq!(runtime.get("/ping").0, 401);
}

#[test]
fn a_package_comes_as_zip_or_as_the_bare_executable() {
    let program = std::fs::read(acts().path().join("exec")).unwrap();
    let zip = zipped(&[("exec", &program)]);
    for (package, in_json) in [
        (&zip, true),
        (&program, true),
        (&zip, false),
        (&program, false),
    ] {
        let mut runtime = Runtime::start();
        let answer = match in_json {
            true => runtime.post("/init", &code(package)),
            false => runtime.send_package(package, package.len() as u64),
        };
        assert_eq!(answer, (200, json!({"ok": true})));
        let events = runtime.act(&[act("surroundings")]);
        let output = &named(&events, "worker-succeeded")[0]["output"];
        let directory = output["directory"].as_str().unwrap().to_owned();
        assert!(std::path::Path::new(&directory).join("exec").exists());
        runtime.close_stdin();
        assert_eq!(runtime.wait(), Some(0));
        assert!(
            !std::path::Path::new(&directory).exists(),
            "{directory} was left behind"
        );
    }
}

#[test]
fn a_program_leaves_some_of_its_users_processes_to_the_platform() {
    for (given, left) in [(4000, 3744), (400, 350)] {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nproc={given}:{given}"));
        command.arg(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
        let mut runtime = Runtime::start_with(command);
        runtime.init_with(acts());
        let events = runtime.act(&[act("surroundings")]);
        let output = &named(&events, "worker-succeeded")[0]["output"];
        assert_eq!(output["processes"], json!([left, left]));
    }
}

#[test]
fn the_program_sees_nothing_it_should_not() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[act("surroundings")]);
    assert_eq!(crate::support::end(&events)["error"], Value::Null);
    let output = &named(&events, "worker-succeeded")[0]["output"];
    let allowed = [
        "PATH",
        "LANG",
        "LC_ALL",
        "TMPDIR",
        "TZ",
        "RUST_BACKTRACE",
        "BURST_CONTROL_FD",
    ];
    for name in output["environment"].as_array().unwrap() {
        assert!(
            allowed.contains(&name.as_str().unwrap()),
            "{name} was passed on"
        );
    }
    assert_eq!(output["oomScore"], "1000");
    for descriptor in output["descriptors"].as_array().unwrap() {
        let (number, target) = descriptor.as_str().unwrap().split_once('=').unwrap();
        let expected = match number {
            "0" => target == "/dev/null",
            "1" | "2" => target.starts_with("pipe:"),
            // The SDK's copy of the control socket, and the directory being listed.
            _ => target.starts_with("socket:") || target.ends_with("/fd"),
        };
        assert!(expected, "{descriptor}");
    }
}

#[test]
fn a_program_has_the_variables_that_were_set_before_it() {
    let runtime = Runtime::start();
    let set = |variables: &Value| runtime.post("/environment", variables);
    assert_eq!(set(&json!({"GONE": "1"})).0, 204);
    let variables = json!({"TZ": "Asia/Tokyo", "A_TOKEN": "é=\n\"", "BURST_CONTROL_FD": "9"});
    assert_eq!(set(&variables).0, 204);
    for wrong in [json!({"A=B": "1"}), json!({"": "1"}), json!({"A": "a\0b"})] {
        let (status, body) = set(&wrong);
        assert_eq!(status, 400, "{body}");
    }
    let (status, body) = set(&json!({"A": 4711}));
    assert_eq!(status, 400, "{body}");
    assert!(!body.to_string().contains("4711"), "{body}");
    runtime.init(acts().path());
    let events = runtime.act(&[act("variables")]);
    let output = &named(&events, "worker-succeeded")[0]["output"];
    assert_eq!(output["TZ"], variables["TZ"]);
    assert_eq!(output["A_TOKEN"], variables["A_TOKEN"]);
    assert_eq!(output["BURST_CONTROL_FD"], "3", "the runtime's own stay");
    assert_eq!(output["GONE"], Value::Null, "the last ones replaced all");
    assert_eq!(set(&json!({})).0, 403, "they cannot be changed any more");
}

#[test]
fn a_second_init_is_forbidden() {
    let runtime = Runtime::with_acts();
    let package = acts();
    let (status, body) = runtime.post("/init", &json!({"value": {"path": package.path()}}));
    assert_eq!(status, 403);
    assert_eq!(
        body["error"],
        "Cannot initialize the action more than once."
    );
}

#[test]
fn bad_packages_are_refused_with_the_reason() {
    let runtime = Runtime::start();
    let cases = [
        (json!({}), "the body is not"),
        (json!({"value": {}}), "the body is not"),
        (
            json!({"value": {"path": "/a", "code": "b"}}),
            "the body is not",
        ),
        (json!({"value": {"code": "!"}}), "not base64"),
        (code(b"hello"), "neither an executable nor a readable zip"),
        (
            code(&zipped(&[("other", b"#!/bin/sh")])),
            "no executable file named `exec`",
        ),
        (
            code(&zipped(&[("exec", b"text")])),
            "neither an ELF executable nor a script",
        ),
        (
            code(&zipped(&[("exec", b"#!/bin/sh"), ("../evil", b"x")])),
            "`../evil`",
        ),
    ];
    for (body, reason) in cases {
        let (status, answer) = runtime.post("/init", &body);
        assert_eq!(status, 400, "{answer}");
        assert!(
            answer["error"].as_str().unwrap().contains(reason),
            "{answer}"
        );
    }
    assert_eq!(runtime.post_text("/init", "not json").0, 400);
    assert_eq!(runtime.send_package(b"text", 4).0, 400);
    assert_eq!(runtime.send_package(b"#!", 2 << 30).0, 413);
    // None of these requests has had an effect.
    runtime.init(acts().path());
    process(&runtime);
}

#[test]
fn programs_that_do_not_start_are_reported_with_the_reason() {
    let runtime = Runtime::start();
    let cases: [(&[u8], &str); 4] = [
        (b"#!/no/such/interpreter\n", "cannot be executed"),
        (
            b"#!/bin/sh\necho libmissing.so: not found >&2; exit 127\n",
            "libmissing.so: not found",
        ),
        (b"#!/bin/sh\nkill -ABRT $$\n", "aborted (SIGABRT)"),
        (
            b"#!/bin/sh\nprintf '\\002\\000\\000\\000{}' >&3; sleep 60\n",
            "something else than hello",
        ),
    ];
    for (script, reason) in cases {
        let package = exec_of(script);
        let (status, answer) = runtime.post("/init", &json!({"value": {"path": package.path()}}));
        assert_eq!(status, 502, "{answer}");
        assert!(
            answer["error"].as_str().unwrap().contains(reason),
            "{answer}"
        );
    }
}

#[test]
fn output_of_a_program_that_did_not_start_is_reported() {
    let runtime = Runtime::start();
    let script = b"#!/bin/sh\necho 'usage: exec FILE'; printf 'no FILE given' >&2; exit 3\n";
    let package = exec_of(script);
    let directory = package.path().display();
    let init = runtime.post("/init", &json!({"value": {"path": package.path()}}));
    let path = format!("/packs?init={directory}");
    let packs = runtime.post(&path, &Run::new(&[act("nothing")]).body());
    for (status, answer) in [init, packs] {
        assert_eq!(status, 502, "{answer}");
        let error = answer["error"].as_str().unwrap();
        assert!(
            error.contains("exit code 3") && error.ends_with("it said: no FILE given"),
            "{error}"
        );
        let log = answer["log"].as_array().unwrap();
        assert_eq!(logs(log, Value::Null, "stdout"), ["usage: exec FILE"]);
        assert_eq!(logs(log, Value::Null, "stderr"), ["no FILE given"]);
    }
}

#[test]
fn reported_output_of_a_program_that_did_not_start_is_bounded() {
    let runtime = Runtime::start();
    let package = exec_of(b"#!/bin/sh\nyes '' | head -c 300000\necho the last line\nexit 1\n");
    let (status, answer) = runtime.post("/init", &json!({"value": {"path": package.path()}}));
    assert_eq!(status, 502);
    let log = answer["log"].as_array().unwrap();
    assert_eq!(log.last().unwrap()["text"], "the last line");
    assert!(answer.to_string().len() < 256 * 1024);
}

#[test]
fn output_of_a_starting_program_is_in_its_first_flares_log() {
    let hello = r#"{"event":"hello","sdk":"0"}"#;
    let script = format!(
        "#!/bin/sh\necho 'a library warns'\nprintf '\\{:03o}\\000\\000\\000{hello}' >&3; head -c 1 <&3 >&2; exit 1\n",
        hello.len()
    );
    let package = exec_of(script.as_bytes());
    let runtime = Runtime::start();
    runtime.init(package.path());
    let events = runtime.act(&[act("nothing")]);
    assert_eq!(logs(&events, Value::Null, "stdout"), ["a library warns"]);
}

#[test]
fn a_program_that_never_reports_is_given_up_and_killed() {
    let runtime = Runtime::impatient(
        Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test")),
        Duration::from_secs(1),
    );
    let package = exec_of(b"#!/bin/sh\nexec sleep 600\n");
    let (status, answer) = runtime.post("/init", &json!({"value": {"path": package.path()}}));
    assert_eq!(status, 502, "{answer}");
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("did not report within 1 s"),
        "{answer}"
    );
    runtime.wait_until_programs_end();
}

#[test]
fn the_limit_for_a_programs_report_is_optional() {
    let command = || Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    // On a busy machine a program may exceed the default limit.
    let comes_up = (0..5).any(|_| {
        let package = acts();
        let body = json!({"value": {"path": package.path()}});
        Runtime::untold(command()).post("/init", &body).0 == 200
    });
    assert!(comes_up);
    let package = acts();
    let body = json!({"value": {"path": package.path()}});
    let fresh = format!("/packs?init={}&", package.path().display());
    let run = Run::new(&[act("hello")]).body();
    for wrong in ["soon", "-1", ""] {
        for (call, body) in [("/init?", &body), (fresh.as_str(), &run)] {
            let runtime = Runtime::untold(command());
            let (status, answer) = runtime.post(&format!("{call}startTimeout={wrong}"), body);
            assert_eq!(status, 400, "{call}: {answer}");
            assert!(answer.to_string().contains("startTimeout"), "{answer}");
        }
    }
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let runtime = Runtime::start();
    let body = format!(r#"{{"kind":"error","message":"{}"}}"#, "x".repeat(5 << 20));
    let (status, answer) = runtime.post_text("/packs/f/abort", &body);
    assert_eq!(status, 413, "{answer}");
}

#[test]
fn a_single_function_runs_as_openwhisk_wants_it() {
    let mut runtime = Runtime::with_acts();
    let print = json!({"act": "print", "lines": ["hello"]});
    let deadline = (crate::support::now_micros() / 1000 + 60_000).to_string();
    let (status, output) = runtime.post(
        "/run",
        &json!({"value": print, "activation_id": "a1", "deadline": deadline}),
    );
    assert_eq!((status, output), (200, Value::Null));
    let lines: Vec<_> = (0..3).map(|_| runtime.line()).collect();
    assert_eq!(
        lines,
        ["hello", "unended", "XXX_THE_END_OF_A_WHISK_ACTIVATION_XXX"]
    );

    let (status, output) = runtime.post("/run", &json!({"value": act("hello")}));
    assert_eq!((status, &output["size"]), (200, &json!(1)));
    runtime.line();
    let (status, answer) = runtime.post("/run", &json!({"value": {"act": "error", "text": "no"}}));
    assert_eq!((status, answer), (200, json!({"error": "no"})));
}

#[test]
fn a_single_function_that_dies_is_a_bad_gateway() {
    let runtime = Runtime::with_acts();
    let (status, answer) = runtime.post("/run", &json!({"value": act("abort")}));
    assert_eq!(status, 502);
    assert!(
        answer["error"].as_str().unwrap().contains("aborted"),
        "{answer}"
    );
}

#[test]
fn the_program_ends_with_the_runtime_however_that_ends() {
    let endings: [fn(&mut Runtime); 3] = [Runtime::close_stdin, Runtime::terminate, Runtime::kill];
    for (number, ending) in endings.into_iter().enumerate() {
        let mut runtime = Runtime::with_acts();
        let process = process(&runtime);
        let mut events = runtime.flare(&Run::new(&[act("forever")]));
        events.until("worker-started");
        ending(&mut runtime);
        if number < 2 {
            assert_eq!(runtime.wait(), Some(0));
            // Clients are notified before the runtime exits.
            let last = events.last().unwrap();
            assert_eq!(last["event"], "pack-ended");
            assert_eq!(last["error"]["kind"], "pack-lost", "{last}");
            assert_eq!(last["error"]["operation"], "work", "{last}");
        }
        wait_until_gone(process);
    }
}

#[test]
fn processes_that_a_worker_left_behind_are_killed_with_the_program() {
    let runtime = Runtime::with_acts();
    let program = process(&runtime);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("left");
    let leave = json!({"act": "leave-behind", "file": file});
    let mut events = runtime.flare(&Run::new(&[leave, act("forever")]));
    events.until("worker-succeeded");
    let left: u64 = std::fs::read_to_string(&file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(process_exists(left));
    let path = format!("/packs/{}/abort", events.flare_id);
    let cancelled = json!({"kind": "cancelled", "message": "enough"});
    assert_eq!(runtime.post(&path, &cancelled).0, 204);
    assert_eq!(events.last().unwrap()["reusable"], false);
    wait_until_gone(program);
    wait_until_gone(left);
    // The runtime has no zombies left, either.
    wait::until("the runtime has no children", wait::SOON, || {
        let children = Command::new("pgrep")
            .args(["-P", &runtime.id().to_string()])
            .output();
        children.unwrap().stdout.is_empty().then_some(())
    });
}

#[test]
fn the_machine_is_described() {
    let runtime = env!("CARGO_BIN_EXE_burst-runtime-under-test");
    let output = Command::new(runtime).arg("describe").output().unwrap();
    let description: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(description["arch"], std::env::consts::ARCH);
    assert!(
        description["glibc"]
            .as_str()
            .is_none_or(|version| version.contains('.'))
    );
    let backends = description["backends"].as_array().unwrap();
    assert_eq!(backends[0], "direct");
}

#[test]
fn the_servers_of_a_backend_are_printed_on_request() {
    for (backend, servers) in [
        (
            json!({"kind": "redis-list", "uri": "redis://:hunter2@10.0.0.5"}),
            json!([{"host": "10.0.0.5", "port": 6379}]),
        ),
        (json!({"kind": "redis-list", "uri": "hunter2"}), json!([])),
    ] {
        let mut asked = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"))
            .arg("servers")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = asked.stdin.take().unwrap();
        input.write_all(backend.to_string().as_bytes()).unwrap();
        drop(input);
        let output = asked.wait_with_output().unwrap();
        assert!(output.status.success());
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told, servers);
    }
}

#[test]
fn run_by_hand_the_program_explains_itself() {
    let output = Command::new(acts().path().join("exec")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("burst deploy"), "{said}");
}
