//! `burst group`.

use rustix::process::{Pid, Signal, kill_process};

use crate::platform::Platform;
use crate::program::{Burst, Ran};

const OPENED: &str = r#"{"groupId":"a1000000000000000000000000000001"}"#;

pub fn group(state: &str, error: &str) -> String {
    format!(
        r#"{{"groupId":"a1000000000000000000000000000001","state":"{state}","namespace":"guest","name":"hello","version":"0.0.3",
            "size":2,"granularity":2,"packing":"mixed","backend":"direct","chunkSize":null,
            "timeout":1,"memory":1,"idleTimeout":600000,"created":1700000000000000,
            "opened":1700000000001000,"closed":null,"error":{error},"queue":null,
            "packs":[{{"pack":0,"invoker":"invoker0","workers":[0,1],"start":"cold"}}]}}"#
    )
}

/// The same group in a list.
pub fn summary() -> String {
    listed("open")
}

fn listed(state: &str) -> String {
    r#"{"groupId":"a1000000000000000000000000000001","state":"STATE","namespace":"guest","name":"hello","version":"0.0.3",
        "size":2,"granularity":2,"packing":"mixed","backend":"direct","chunkSize":null,"timeout":1,
        "memory":1,"idleTimeout":1,"created":1700000000000000,"opened":null,"closed":null,"error":null}"#
        .replace("STATE", state)
}

fn opening() -> String {
    group("opening", "null")
}

fn open() -> String {
    group("open", "null")
}

#[test]
fn a_group_is_opened_with_its_terms() {
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
    assert_eq!(
        bodies[0],
        serde_json::json!({"definition": "hello", "size": 2})
    );
    assert_eq!(
        bodies[1],
        serde_json::json!({"definition": "hello", "version": "0.0.2", "size": 2,
                           "idleTimeout": 600_000, "granularity": 1})
    );
}

#[test]
fn one_that_does_not_open_says_why() {
    let error = r#"{"kind":"start-failed","message":"the program did not report","pack":0}"#;
    let platform = Platform::start();
    platform.on("POST /groups", 202, OPENED).on(
        "GET /groups/a1000000000000000000000000000001",
        200,
        &group("closed", error),
    );
    let args = ["group", "open", "hello", "--size", "2", "--blocking"];
    let ran = Burst::of(&platform).run(&args);
    let sentence = ran.fails(1);
    assert!(sentence.contains("did not report"), "{sentence}");
}

#[test]
fn an_interrupt_closes_the_group_that_is_waited_for() {
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
fn a_platform_that_restarts_while_a_group_opens_is_waited_for() {
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
    assert_eq!(
        *body,
        serde_json::json!({"params": {"n": 1}, "timeout": 2000})
    );
}

#[test]
fn groups_are_listed_shown_and_closed() {
    let platform = Platform::start();
    let closing = listed("closing").replace(
        "a1000000000000000000000000000001",
        "a2000000000000000000000000000002",
    );
    platform
        .on("GET /groups", 200, &format!("[{},{closing}]", summary()))
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
