//! `burst group`.

use rustix::process::{Pid, Signal, kill_process};

use crate::platform::Platform;
use crate::program::{Burst, Ran};

const OPENED: &str = r#"{"groupId":"g1"}"#;

pub fn group(state: &str, error: &str) -> String {
    format!(
        r#"{{"groupId":"g1","state":"{state}","namespace":"guest","name":"hello","version":"0.0.3",
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
    r#"{"groupId":"g1","state":"STATE","namespace":"guest","name":"hello","version":"0.0.3",
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
        .on("GET /groups/g1", 200, &opening())
        .on("GET /groups/g1", 200, &open());
    let burst = Burst::of(&platform);
    let args = ["group", "open", "hello", "--size", "2"];
    assert_eq!(burst.run(&args).ok(), "ok: group g1\n");
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
    assert_eq!(opened, "ok: group g1\n");
    assert_eq!(platform.lines(), ["POST /groups", "GET /groups/g1"]);
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
    platform
        .on("POST /groups", 202, OPENED)
        .on("GET /groups/g1", 200, &group("closed", error));
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
        .on("GET /groups/g1", 200, &opening())
        .on("DELETE /groups/g1", 202, OPENED);
    let args = ["group", "open", "hello", "--size", "2", "--blocking"];
    let child = Burst::of(&platform).command(&args).spawn().unwrap();
    platform.wait_for("GET /groups/g1");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(
        ran.fails(10).contains("asked to cancel group g1"),
        "{ran:?}"
    );
    assert_eq!(platform.lines().last().unwrap(), "DELETE /groups/g1");
}

#[test]
fn a_platform_that_restarts_while_a_group_opens_is_waited_for() {
    let platform = Platform::start();
    platform
        .on("POST /groups", 202, OPENED)
        .on("GET /groups/g1", 503, r#"{"error":"Starting.","code":"t"}"#)
        .on("GET /groups/g1", 200, &open());
    let args = ["group", "open", "hello", "--size", "2", "--blocking"];
    assert_eq!(Burst::of(&platform).run(&args).ok(), "ok: group g1\n");
}

#[test]
fn flares_run_on_a_group() {
    let platform = Platform::start();
    platform
        .on("GET /groups/g1", 200, &open())
        .on("POST /groups/g1", 202, r#"{"flareId":"x1"}"#);
    let burst = Burst::of(&platform);
    let flare = [
        "group",
        "flare",
        "g1",
        "--param",
        "n",
        "1",
        "--timeout",
        "2s",
    ];
    assert_eq!(burst.run(&flare).ok(), "ok: flare x1\n");
    let body = &platform.requests()[1].body;
    assert_eq!(
        *body,
        serde_json::json!({"params": {"n": 1}, "timeout": 2000})
    );
}

#[test]
fn groups_are_listed_shown_and_closed() {
    let platform = Platform::start();
    let closing = listed("closing").replace("g1", "g2");
    platform
        .on("GET /groups", 200, &format!("[{},{closing}]", summary()))
        .on("GET /groups/g1", 200, &open())
        .on("DELETE /groups/g1", 202, OPENED);
    let burst = Burst::of(&platform);
    assert_eq!(
        burst.run(&["group", "list", "--name", "hello"]).ok(),
        "GROUP  NAME   VERSION  STATE    SIZE  CREATED\n\
         g1     hello  0.0.3    open     2     2023-11-14 22:13\n\
         g2     hello  0.0.3    closing  2     2023-11-14 22:13\n"
    );
    let shown = burst.run(&["group", "get", "g1"]).ok();
    assert!(shown.contains("idle time-out  10 min"), "{shown}");
    assert!(shown.contains("0 on invoker0 (cold)"), "{shown}");
    let closed = burst.run(&["group", "close", "g1"]).ok();
    assert_eq!(closed, "ok: closing group g1\n");
}
