//! `burst group`.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::platform::Platform;
use crate::program::{Burst, Ran};
use crate::samples;

const OPENED: &str = r#"{"groupId":"a1000000000000000000000000000001"}"#;

fn opening() -> String {
    samples::group(json!({"state": "opening"})).to_string()
}

fn open() -> String {
    samples::group(json!({"state": "open", "idleTimeout": 600_000})).to_string()
}

#[test]
fn a_group_is_opened_with_its_options() {
    let platform = Platform::start();
    platform
        .on("POST /groups", 202, OPENED)
        .on(
            "GET /groups/a1000000000000000000000000000001",
            200,
            &opening(),
        )
        .on("GET /groups/a1000000000000000000000000000001", 200, &open());
    let burst = Burst::of(&platform);
    let args = ["group", "open", "hello", "--size", "2"];
    assert_eq!(
        burst.run(&args).ok(),
        "ok: group a1000000000000000000000000000001\n"
    );
    let more = [
        "--idle-timeout",
        "10m",
        "--granularity",
        "1",
        "--version",
        "0.0.2",
        "--blocking",
    ];
    let opened = burst.run(&[&args[..], &more[..]].concat()).ok();
    assert_eq!(opened, "ok: group a1000000000000000000000000000001\n");
    assert_eq!(
        platform.lines(),
        [
            "POST /groups",
            "GET /groups/a1000000000000000000000000000001"
        ]
    );
    let bodies: Vec<_> = platform.requests().into_iter().map(|it| it.body).collect();
    assert_eq!(bodies[0], json!({"definition": "hello", "size": 2}));
    assert_eq!(
        bodies[1],
        json!({"definition": "hello", "version": "0.0.2", "size": 2,
                           "idleTimeout": 600_000, "granularity": 1})
    );
}

#[test]
fn a_group_that_fails_to_open_reports_why() {
    let error = json!({"kind": "start-failed", "message": "the program did not report", "pack": 0});
    let platform = Platform::start();
    platform.on("POST /groups", 202, OPENED).on(
        "GET /groups/a1000000000000000000000000000001",
        200,
        &samples::group(json!({"state": "closed", "error": error})).to_string(),
    );
    let args = ["group", "open", "hello", "--size", "2", "--blocking"];
    let ran = Burst::of(&platform).run(&args);
    let sentence = ran.fails(1);
    assert!(sentence.contains("did not report"), "{sentence}");
}

#[test]
fn an_interrupt_closes_the_group_being_opened() {
    let platform = Platform::start();
    platform
        .on("POST /groups", 202, OPENED)
        .on(
            "GET /groups/a1000000000000000000000000000001",
            200,
            &opening(),
        )
        .on(
            "DELETE /groups/a1000000000000000000000000000001",
            202,
            OPENED,
        );
    let args = ["group", "open", "hello", "--size", "2", "--blocking"];
    let child = Burst::of(&platform).command(&args).spawn().unwrap();
    platform.wait_for("GET /groups/a1000000000000000000000000000001");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(
        ran.fails(10)
            .contains("asked to cancel group a1000000000000000000000000000001"),
        "{ran:?}"
    );
    assert_eq!(
        platform.lines().last().unwrap(),
        "DELETE /groups/a1000000000000000000000000000001"
    );
}

#[test]
fn waiting_for_a_group_survives_a_platform_restart() {
    let platform = Platform::start();
    platform
        .on("POST /groups", 202, OPENED)
        .on(
            "GET /groups/a1000000000000000000000000000001",
            503,
            r#"{"error":"Starting.","code":"t"}"#,
        )
        .on("GET /groups/a1000000000000000000000000000001", 200, &open());
    let args = ["group", "open", "hello", "--size", "2", "--blocking"];
    assert_eq!(
        Burst::of(&platform).run(&args).ok(),
        "ok: group a1000000000000000000000000000001\n"
    );
}

#[test]
fn flares_run_on_a_group() {
    let platform = Platform::start();
    platform
        .on("GET /groups/a1000000000000000000000000000001", 200, &open())
        .on(
            "POST /groups/a1000000000000000000000000000001",
            202,
            r#"{"flareId":"f1000000000000000000000000000001"}"#,
        );
    let burst = Burst::of(&platform);
    let flare = [
        "group",
        "flare",
        "a1000000000000000000000000000001",
        "--param",
        "n",
        "1",
        "--timeout",
        "2s",
    ];
    assert_eq!(
        burst.run(&flare).ok(),
        "ok: flare f1000000000000000000000000000001\n"
    );
    let body = &platform.requests()[1].body;
    assert_eq!(*body, json!({"params": {"n": 1}, "timeout": 2000}));
}

#[test]
fn groups_are_listed_shown_and_closed() {
    let platform = Platform::start();
    let listed = |id: &str, state: &str| {
        samples::group_summary(json!({"groupId": id, "state": state, "name": "hello",
            "version": "0.0.3", "size": 2, "created": 1_700_000_000_000_000_u64}))
    };
    let groups = json!([
        listed("a1000000000000000000000000000001", "open"),
        listed("a2000000000000000000000000000002", "closing"),
    ]);
    platform
        .on("GET /groups", 200, &groups.to_string())
        .on("GET /groups/a1000000000000000000000000000001", 200, &open())
        .on(
            "DELETE /groups/a1000000000000000000000000000001",
            202,
            OPENED,
        );
    let burst = Burst::of(&platform);
    assert_eq!(
        burst.run(&["group", "list", "--name", "hello"]).ok(),
        "GROUP         NAME   VERSION  STATE    SIZE  CREATED\n\
         a10000000000  hello  0.0.3    open     2     2023-11-14 22:13\n\
         a20000000000  hello  0.0.3    closing  2     2023-11-14 22:13\n"
    );
    let shown = burst
        .run(&["group", "get", "a1000000000000000000000000000001"])
        .ok();
    assert!(shown.contains("idle time-out  10 min"), "{shown}");
    assert!(shown.contains("0 on invoker0 (cold)"), "{shown}");
    let closed = burst
        .run(&["group", "close", "a1000000000000000000000000000001"])
        .ok();
    assert_eq!(
        closed,
        "ok: closing group a1000000000000000000000000000001\n"
    );
}
