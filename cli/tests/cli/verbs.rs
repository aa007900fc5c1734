//! Commands that show things, and commands that end them.

use serde_json::{Value, json};

use crate::flare::flare;
use crate::platform::Platform;
use crate::program::Burst;
use crate::samples;

fn definition() -> String {
    let changes = json!({"name": "hello", "version": "0.0.3", "config": {"memory": 256},
        "parameters": {"name": "Ada"}, "environment": {"LANGUAGE": "fr"},
        "secrets": ["KEY", "TOKEN"]});
    samples::definition(changes).to_string()
}

/// Returns a version of the definition `hello` as it appears in a list.
fn listed(version: &str, package: &str) -> Value {
    samples::definition_summary(json!({"name": "hello", "version": version,
        "exec": {"kind": "rust", "package": package, "size": 1_048_576},
        "updated": 1_700_000_000_000_000_u64}))
}

#[test]
fn definitions_are_listed_shown_and_deleted() {
    let platform = Platform::start();
    let list = json!([listed("0.0.3", "abc")]).to_string();
    platform
        .on("GET /bursts", 200, &list)
        .on("GET /bursts/hello", 200, &definition())
        .on("DELETE /bursts/hello", 200, &definition());
    let burst = Burst::of(&platform);
    let list = burst.run(&["list", "--limit", "5", "--skip", "1"]).ok();
    assert_eq!(
        list,
        "NAME   VERSION  KIND  PACKAGE  UPDATED\n\
         hello  0.0.3    rust  1.0 MiB  2023-11-14 22:13\n"
    );
    let shown = burst.run(&["get", "hello"]).ok();
    assert!(
        shown.contains("memory        256 MiB per worker"),
        "{shown}"
    );
    for fact in [
        r#"parameters    {"name":"Ada"}"#,
        r#"environment   {"LANGUAGE":"fr"}"#,
        "secrets       KEY, TOKEN",
    ] {
        assert!(shown.contains(fact), "{shown}");
    }
    assert_eq!(
        burst
            .run(&["get", "hello", "--output=json"])
            .ok()
            .trim_end(),
        definition()
    );
    assert_eq!(burst.run(&["delete", "hello"]).ok(), "ok: deleted hello\n");
    assert_eq!(
        platform.lines(),
        [
            "GET /bursts?limit=5&skip=1",
            "GET /bursts/hello",
            "DELETE /bursts/hello"
        ]
    );
    assert_eq!(
        burst.run(&["get", "other"]).fails(3),
        "There is no such thing; see `burst list` [t404]"
    );
    for args in [
        &["history", "other"][..],
        &["delete", "other"],
        &["rollback", "other"],
    ] {
        let ran = burst.run(args);
        assert!(ran.fails(3).contains("see `burst list`"), "{ran:?}");
    }
    assert!(burst.run(&["get", ".."]).fails(2).contains("not a name"));
}

#[test]
fn versions_are_listed_and_shown() {
    let platform = Platform::start();
    let versions = json!([listed("0.0.3", "abc"), listed("0.0.2", "def")]);
    platform
        .on("GET /bursts/hello/versions", 200, &versions.to_string())
        .on("GET /bursts/hello/versions/0.0.3", 200, &definition());
    let burst = Burst::of(&platform);
    let history = burst.run(&["history", "hello", "--limit", "2"]).ok();
    assert_eq!(
        history,
        "VERSION  PACKAGE  SIZE     DEPLOYED\n\
         0.0.3    abc      1.0 MiB  2023-11-14 22:13\n\
         0.0.2    def      1.0 MiB  2023-11-14 22:13\n"
    );
    let shown = burst
        .run(&["get", "hello", "--version", "0.0.3", "--output=json"])
        .ok();
    assert_eq!(shown.trim_end(), definition());
    assert_eq!(
        platform.lines(),
        [
            "GET /bursts/hello/versions?limit=2",
            "GET /bursts/hello/versions/0.0.3",
        ]
    );
}

#[test]
fn a_rollback_sends_its_version_and_can_be_retried() {
    let platform = Platform::start();
    let before = json!([listed("0.0.2", "abc")]).to_string();
    platform
        .on("GET /bursts/hello/versions", 200, &before)
        .on("GET /bursts/hello/versions", 200, &before)
        .on("GET /bursts/hello/versions", 200, "[]")
        .on("POST /bursts/hello/rollback", 200, &definition())
        .on("POST /bursts/hello/rollback", 200, &definition())
        .on(
            "POST /bursts/hello/rollback",
            503,
            r#"{"error":"Send it again.","code":"t503"}"#,
        )
        .on(
            "POST /bursts/hello/rollback",
            409,
            r#"{"error":"There is none before.","code":"t409"}"#,
        );
    let burst = Burst::of(&platform);
    assert_eq!(
        burst.run(&["rollback", "hello", "--version", "0.0.1"]).ok(),
        "ok: rolled hello back to 0.0.1, as 0.0.3\n"
    );
    let unnamed = ["rollback", "hello"];
    assert_eq!(
        burst.run(&unnamed).ok(),
        "ok: rolled hello back to the version before (0.0.2), as 0.0.3\n"
    );
    assert_eq!(
        burst.run(&unnamed).fails(8),
        "Send it again; it may have been done: repeat it as `burst rollback hello --to 0.0.2` [t503]"
    );
    // Without a previous version, the platform rejects the request.
    assert_eq!(burst.run(&unnamed).fails(5), "There is none before. [t409]");
    let asked = platform.requests().into_iter();
    let asked: Vec<_> = asked
        .filter(|request| request.line.starts_with("POST"))
        .map(|request| request.body)
        .collect();
    let named = |version| json!({"version": version});
    assert_eq!(
        asked,
        [named("0.0.1"), named("0.0.2"), named("0.0.2"), json!({})]
    );
    assert!(
        platform
            .lines()
            .contains(&"GET /bursts/hello/versions?limit=1&skip=1".into())
    );
}

#[test]
fn names_are_escaped_in_urls() {
    let platform = Platform::start();
    platform.on("DELETE /bursts/a%2Fb%20c", 200, &definition());
    Burst::of(&platform).run(&["delete", "a/b c"]).ok();
}

#[test]
fn flares_are_listed_and_shown() {
    let platform = Platform::start();
    let succeeded = json!({"state": "succeeded", "created": 1000, "ended": 9000});
    let flares = json!([samples::flare_summary(succeeded)]).to_string();
    platform.on("GET /flares", 200, &flares).on(
        "GET /flares/f1000000000000000000000000000001",
        200,
        &flare("succeeded", "null"),
    );
    let burst = Burst::of(&platform);
    let list = burst
        .run(&[
            "flares",
            "--name",
            "hello",
            "--state",
            "succeeded",
            "--limit=3",
        ])
        .ok();
    assert!(
        list.starts_with("FLARE         NAME   VERSION  STATE      SIZE  CREATED"),
        "{list}"
    );
    assert!(list.contains("8.0 ms"), "{list}");
    assert_eq!(
        platform.lines(),
        ["GET /flares?limit=3&name=hello&state=succeeded"]
    );
    let status = burst
        .run(&["status", "f1000000000000000000000000000001"])
        .ok();
    assert!(
        status.contains("1       0     invoker0  cold   succeeded"),
        "{status}"
    );
    let last = burst.run(&["status", "--last", "--output=json"]).ok();
    assert_eq!(last.trim_end(), flare("succeeded", "null"));
    assert!(platform.lines().contains(&"GET /flares?limit=1".to_owned()));
}

#[test]
fn an_id_or_last_is_required() {
    let platform = Platform::start();
    platform.on("GET /flares", 200, "[]");
    let burst = Burst::of(&platform);
    for verb in ["status", "wait", "logs", "result", "timeline", "cancel"] {
        let ran = burst.run(&[verb]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains("--last"), "{ran:?}");
        assert_eq!(
            burst
                .run(&[verb, "f1000000000000000000000000000001", "--last"])
                .code,
            Some(2)
        );
        assert_eq!(burst.run(&[verb, "-l"]).fails(3), "there is no flare yet");
    }
}

#[test]
fn logs_name_the_worker_and_stream_of_each_line() {
    let platform = Platform::start();
    let logs = r#"{"flareId":"f1000000000000000000000000000001","truncated":true,"next":1,"logs":[
        {"worker":1,"pack":0,"stream":"stdout","at":1700000000000000,"line":"hello"},
        {"worker":null,"pack":0,"stream":"stderr","at":1700000000001000,"line":"pack"}]}"#;
    platform
        .on(
            "GET /flares/f1000000000000000000000000000001",
            200,
            &flare("running", "null"),
        )
        .on(
            "GET /flares/f1000000000000000000000000000001/logs",
            200,
            logs,
        );
    let burst = Burst::of(&platform);
    assert_eq!(
        burst
            .run(&["logs", "f1000000000000000000000000000001", "--worker", "1"])
            .ok(),
        "2023-11-14 22:13:20.000 worker 1 stdout: hello\n\
         2023-11-14 22:13:20.001 pack 0 stderr: pack\n\
         (more was written than is kept)\n"
    );
    assert_eq!(
        platform.lines(),
        [
            "GET /flares/f1000000000000000000000000000001",
            "GET /flares/f1000000000000000000000000000001/logs?worker=1"
        ]
    );
    assert_eq!(
        burst
            .run(&[
                "logs",
                "f1000000000000000000000000000001",
                "--output",
                "json"
            ])
            .ok()
            .trim_end(),
        logs
    );
}

#[test]
fn logs_of_an_unknown_worker_are_refused() {
    let platform = Platform::start();
    let of_size = |size: u32| samples::flare(json!({"size": size})).to_string();
    platform
        .on(
            "GET /flares/f1000000000000000000000000000001",
            200,
            &of_size(2),
        )
        .on(
            "GET /flares/f2000000000000000000000000000002",
            200,
            &of_size(1),
        );
    let burst = Burst::of(&platform);
    for more in [&[][..], &["--follow"], &["--output", "json"]] {
        let logs = ["logs", "f1000000000000000000000000000001", "--worker", "7"];
        assert_eq!(
            burst.run(&[&logs[..], more].concat()).fails(6),
            "flare f1000000000000000000000000000001 has workers 0 to 1, and no worker 7"
        );
    }
    assert_eq!(
        burst
            .run(&["logs", "f2000000000000000000000000000002", "--worker", "1"])
            .fails(6),
        "flare f2000000000000000000000000000002 has only worker 0, and no worker 1"
    );
    assert_eq!(
        platform.lines(),
        [
            "GET /flares/f1000000000000000000000000000001",
            "GET /flares/f2000000000000000000000000000002"
        ]
    );
}

#[test]
fn result_ends_with_the_exit_code_of_its_flare() {
    let [good, busy, lost, none] = ["9", "b", "1", "0"].map(|digit| digit.repeat(32));
    let platform = Platform::start();
    let failure = r#"{"kind":"error","worker":1,"pack":0,"operation":"work","message":"no"}"#;
    let body = |state: &str, error: &str| {
        format!(
            r#"{{"flareId":"f1000000000000000000000000000001","state":"{state}","error":{error},"outputs":[
                {{"worker":0,"output":7}},{{"worker":1,"error":{failure}}},{{"worker":2}}]}}"#
        )
    };
    platform.on(
        &format!("GET /flares/{lost}/result"),
        200,
        &body("failed", failure),
    );
    platform.on(
        &format!("GET /flares/{busy}/result"),
        200,
        &body("running", "null"),
    );
    let result = r#"{"flareId":"f1000000000000000000000000000001","state":"succeeded","error":null,
        "outputs":[{"worker":0,"output":7}]}"#;
    platform.on(&format!("GET /flares/{good}/result"), 200, result);
    let burst = Burst::of(&platform);
    assert_eq!(burst.run(&["result", &good]).ok(), "[\n  7\n]\n");
    let some = "[\n  7,\n  null,\n  null\n]\n";
    let ran = burst.run(&["result", &busy]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), some));
    assert_eq!(
        ran.err,
        format!("flare {busy} is running: 2 of 3 workers have no output yet\n")
    );
    for format in ["table", "json"] {
        let ran = burst.run(&["result", &lost, "--output", format]);
        assert_eq!(ran.out, some);
        assert!(
            ran.fails(1)
                .starts_with(&format!("flare {lost} failed: worker 1")),
            "{ran:?}"
        );
    }
    platform.on(
        &format!("GET /flares/{none}/result"),
        200,
        r#"{"flareId":"none","state":"succeeded","error":null,"outputs":[]}"#,
    );
    assert_eq!(burst.run(&["result", &none]).ok(), "[]\n");
}

#[test]
fn a_timeline_shows_numbers_and_bars() {
    let platform = Platform::start();
    let timeline = r#"{"flareId":"f1000000000000000000000000000001","created":0,"now":9000,"workers":[{"worker":0,"pack":0,"phases":[
        {"name":"invocation","start":0,"end":2000},{"name":"read","start":2000,"end":8000}]}]}"#;
    platform.on(
        "GET /flares/f1000000000000000000000000000001/timeline",
        200,
        timeline,
    );
    let burst = Burst::of(&platform);
    let out = burst
        .run(&["timeline", "f1000000000000000000000000000001"])
        .ok();
    assert!(
        out.starts_with("WORKER  PACK  invocation  read  TOTAL\n"),
        "{out}"
    );
    assert!(out.contains("|....") && out.contains("----|"), "{out}");
    assert_eq!(
        burst
            .run(&[
                "timeline",
                "f1000000000000000000000000000001",
                "--output=json"
            ])
            .ok()
            .trim_end(),
        timeline
    );
}

#[test]
fn cancel_reports_acceptance_and_refusal() {
    let platform = Platform::start();
    platform.on(
        "DELETE /flares/f1000000000000000000000000000001",
        202,
        r#"{"flareId":"f1000000000000000000000000000001"}"#,
    );
    platform.on(
        "DELETE /flares/f2000000000000000000000000000002",
        409,
        r#"{"error":"It had ended.","code":"t"}"#,
    );
    let burst = Burst::of(&platform);
    assert_eq!(
        burst
            .run(&["cancel", "f1000000000000000000000000000001"])
            .ok(),
        "ok: cancelling flare f1000000000000000000000000000001\n"
    );
    assert_eq!(
        burst
            .run(&["cancel", "f2000000000000000000000000000002"])
            .fails(5),
        "It had ended. [t]"
    );
}

#[test]
fn invokers_are_listed() {
    let platform = Platform::start();
    let invoker = samples::invoker(json!({"id": "invoker0", "slots": 8, "freeSlots": 6,
        "cpuLoad": 0.5, "state": "up", "driver": "process", "warmPacks": 1,
        "runtime": {"arch": "x86_64", "glibc": "2.36"}}));
    let invokers = json!([invoker]).to_string();
    platform.on("GET /api/v1/invokers", 200, &invokers);
    let burst = Burst::of(&platform);
    assert_eq!(
        burst.run(&["invokers"]).ok(),
        "INVOKER   STATE  SLOTS  FREE  CPU   WARM  DRIVER   ARCH    GLIBC\n\
         invoker0  up     8      6     0.50  1     process  x86_64  2.36\n"
    );
    assert_eq!(
        burst.run(&["invokers", "--output", "json"]).ok().trim_end(),
        invokers
    );
}

#[test]
fn a_quarantined_invoker_shows_the_reason() {
    let platform = Platform::start();
    let invoker = samples::invoker(json!({"id": "invoker0", "slots": 8, "freeSlots": 8,
        "cpuLoad": 0.5, "state": "quarantined",
        "quarantine": {"reason": "no room on the disk", "until": 0}, "driver": "process",
        "warmPacks": 0, "runtime": {"arch": "x86_64", "glibc": "2.36"}}));
    let invokers = json!([invoker]).to_string();
    platform.on("GET /api/v1/invokers", 200, &invokers);
    assert_eq!(
        Burst::of(&platform).run(&["invokers"]).ok(),
        "INVOKER   STATE        SLOTS  FREE  CPU   WARM  DRIVER   ARCH    GLIBC\n\
         invoker0  quarantined  8      8     0.50  0     process  x86_64  2.36\n\
         invoker0 is avoided, as packs fail to start on it, and tried again from \
         1970-01-01 00:00:00.000 on: no room on the disk\n"
    );
}

#[test]
fn every_command_has_help_and_usage_errors_exit_with_two() {
    let burst = Burst::alone();
    for verb in [
        "standalone",
        "deploy",
        "flare",
        "list",
        "get",
        "delete",
        "flares",
        "new",
        "run",
        "status",
        "wait",
        "logs",
        "result",
        "timeline",
        "cancel",
        "property",
        "invokers",
        "completion",
        "man",
    ] {
        let help = burst.run(&[verb, "--help"]).ok();
        assert!(help.contains("Usage: burst"), "{help}");
        assert!(verb == "property" || help.contains("Example"), "{help}");
        assert_eq!(burst.run(&[verb, "--no-such-flag"]).code, Some(2));
    }
    assert_eq!(burst.run::<&str>(&[]).code, Some(2));
}

/// Returns JSON nested more deeply than the parser of responses accepts by default.
fn deep() -> String {
    format!("{}1{}", "[".repeat(240), "]".repeat(240))
}

#[test]
fn deeply_nested_json_is_printed() {
    let platform = Platform::start();
    let deep = deep();
    let result = format!(
        r#"{{"flareId":"f1000000000000000000000000000001","state":"succeeded","error":null,"outputs":[{{"worker":0,"output":{deep}}}]}}"#
    );
    let definition = samples::definition(json!({"parameters": {"deep": "DEEP"}})).to_string();
    let definition = definition.replace(r#""DEEP""#, &deep);
    platform
        .always(
            "GET /flares/f1000000000000000000000000000001/result",
            200,
            &result,
        )
        .always("GET /bursts/hello", 200, &definition)
        .on(
            "POST /bursts/hello",
            202,
            r#"{"flareId":"f1000000000000000000000000000001"}"#,
        );
    let burst = Burst::of(&platform);
    let shown = burst
        .run(&["result", "f1000000000000000000000000000001"])
        .ok();
    assert_eq!(shown, format!("[\n  {deep}\n]\n"));
    assert!(burst.run(&["get", "hello"]).ok().contains("[[["));
    burst.file("deep.json", format!(r#"{{"a":{deep}}}"#));
    let flare = ["flare", "hello", "--param-file", "deep.json", "--param"];
    burst
        .run(&[&flare[..], &[&format!("b={deep}")]].concat())
        .ok();
}
