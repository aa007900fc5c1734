//! Calls of an action that run in one container at the same time, on one slot.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use burst_tests::{Api, Driver, Platform, Settings, wait};
use serde_json::{Value, json};

const CALLS: usize = 8;

/// Each call continues once all of them are in the process: if they ran one at a time, none would.
const TOGETHER: &str = "
let inside = [];
async function main({ n, of }) {
  console.log('in', n);
  await new Promise((resolve) => {
    inside.push(resolve);
    if (inside.length === of) inside.splice(0).forEach((go) => go());
  });
  await new Promise((resolve) => setTimeout(resolve, n % 3));
  console.log('out', n);
  return { n, process: process.pid, id: process.env.__OW_ACTIVATION_ID };
}
";

/// The first call waits for ever; the others end the process, or wait as well.
const ENDS: &str = "
let stays;
function main({ what }) {
  if (what === 'stay') return new Promise(() => { console.log('staying'); stays = true; });
  if (what === 'leave' && stays) process.exit(3);
  return { what };
}
";

fn one_slot(driver: Driver) -> Settings {
    Settings::new(driver).slots(1)
}

fn store(api: &Api, name: &str, code: &str, limits: Value) {
    let body = json!({"exec": {"kind": "nodejs:default", "code": code}, "limits": limits});
    api.put_action(name, &body);
}

/// The record of a blocking call, however it ends.
fn invoke(api: &Api, name: &str, payload: &Value) -> Value {
    api.invoke(name, payload).json
}

/// Starts a call that stays, and returns its id once it runs.
fn staying(api: &Api, name: &str, payload: &Value) -> String {
    let id = api.begin(name, payload);
    let log = || api.logs_of(&id, 0).logs;
    wait::until_seen("it runs", wait::SOON, log, |lines| {
        lines.iter().any(|line| line.line == "staying")
    });
    id
}

/// Makes calls simultaneously, of which `of` at a time wait for each other, and returns their records: each must have
/// its own result.
fn together(api: &Api, name: &str, calls: usize, of: usize) -> Vec<Value> {
    let records: Vec<Value> = thread::scope(|scope| {
        let calls: Vec<_> = (0..calls)
            .map(|n| scope.spawn(move || invoke(api, name, &json!({"n": n, "of": of}))))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    for (n, record) in records.iter().enumerate() {
        assert_eq!(record["response"]["result"]["n"], n, "{record:#}");
    }
    records
}

/// Checks that a container takes a call and returns its result.
fn accepts_a_call(api: &Api, what: &str) {
    let call = json!({"what": what});
    let record = invoke(api, "ends", &call);
    assert_eq!(record["response"]["result"], call, "{record:#}");
}

fn calls_share_one_container(platform: &Platform) {
    let api = platform.api();
    store(api, "together", TOGETHER, json!({"concurrency": CALLS}));
    for _ in 0..3 {
        let records = together(api, "together", CALLS, CALLS);
        let mut processes = BTreeSet::new();
        for (n, record) in records.iter().enumerate() {
            let result = &record["response"]["result"];
            assert_eq!(result["id"], record["activationId"], "{record:#}");
            processes.insert(result["process"].to_string());
            // The lines a call prints belong to its own log, even those it prints later.
            let id = record["activationId"].as_str().unwrap();
            let record = api.ended_activation(id);
            let log = record["logs"].to_string();
            let own = [format!("in {n}"), format!("out {n}")];
            assert!(own.iter().all(|line| log.contains(line)), "{n}: {log}");
            assert_eq!(record["logs"].as_array().unwrap().len(), 2, "{n}: {log}");
        }
        assert_eq!(processes.len(), 1, "one process runs them all");
    }
}

#[test]
fn concurrent_calls_share_one_process() {
    calls_share_one_container(&Platform::lent(one_slot(Driver::Process)));
}

#[test]
fn concurrent_calls_share_one_sandbox() {
    calls_share_one_container(&Platform::start(one_slot(Driver::Sandbox)));
}

#[test]
fn concurrent_calls_share_one_docker_container() {
    calls_share_one_container(&Platform::start(one_slot(Driver::Docker)));
}

#[test]
fn a_call_that_ends_the_process_fails_concurrent_calls_with_the_reason() {
    let platform = Platform::lent(one_slot(Driver::Process));
    let api = platform.api();
    let limits = json!({"concurrency": 3, "timeout": 60000});
    store(api, "ends", ENDS, limits);
    let id = staying(api, "ends", &json!({"what": "stay"}));
    accepts_a_call(api, "beside");
    let leaves = invoke(api, "ends", &json!({"what": "leave"}));
    assert!(
        leaves["response"]["result"]
            .to_string()
            .contains("exited unexpectedly"),
        "{leaves:#}"
    );
    let stayed = api.ended_activation(&id);
    let why = stayed["response"]["result"].to_string();
    assert!(
        why.contains("another call in it ended the process"),
        "{stayed:#}"
    );
    accepts_a_call(api, "next");
}

#[test]
fn an_overdue_call_fails_and_later_calls_get_a_new_container() {
    let platform = Platform::lent(one_slot(Driver::Process));
    let api = platform.api();
    store(
        api,
        "ends",
        ENDS,
        // Enough time for an interpreter to start on a busy machine.
        json!({"concurrency": 3, "timeout": 30_000}),
    );
    let overdue = invoke(api, "ends", &json!({"what": "stay"}));
    let why = overdue["response"]["result"].to_string();
    assert!(why.contains("time"), "{overdue:#}");
    accepts_a_call(api, "next");
}

#[test]
fn calls_beyond_the_concurrency_limit_wait() {
    let platform = Platform::lent(one_slot(Driver::Process));
    let api = platform.api();
    store(api, "pairs", TOGETHER, json!({"concurrency": 2}));
    together(api, "pairs", 6, 2);
}

/// The first call waits for a file; the others throw.
const FAILS: &str = "
const fs = require('fs');
async function waits(file) {
  console.log('staying');
  while (!fs.existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
  return { waited: true };
}
function main({ file }) {
  if (file) return waits(file);
  throw new Error('at once');
}
";

#[test]
fn a_failed_call_does_not_affect_concurrent_calls() {
    let platform = Platform::lent(one_slot(Driver::Process));
    let api = platform.api();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("go");
    store(api, "fails", FAILS, json!({"concurrency": 3}));
    let id = staying(api, "fails", &json!({"file": file}));
    let failed = invoke(api, "fails", &json!({}));
    let why = failed["response"]["result"].to_string();
    assert!(why.contains("at once"), "{failed:#}");
    fs::write(file, "").unwrap();
    let waited = api.ended_activation(&id);
    assert_eq!(
        waited["response"]["result"],
        json!({"waited": true}),
        "{waited:#}"
    );
}

const WAITS: &str = "
const main = ({ time }) => new Promise((resolve) => setTimeout(resolve, time, { time }));
";

/// The runtime takes no more calls once one is overdue, which nobody else learns before that call has ended.
#[test]
fn calls_succeed_while_an_overdue_call_is_being_ended() {
    let platform = Platform::lent(one_slot(Driver::Process));
    let api = platform.api();
    store(
        api,
        "waits",
        WAITS,
        // Enough time for an interpreter to start beside other tests.
        json!({"concurrency": 4, "timeout": 30_000}),
    );
    let log = || {
        thread::scope(|scope| {
            let mut ended_together = 0;
            let overdue = scope.spawn(|| invoke(api, "waits", &json!({"time": 600_000})));
            while !overdue.is_finished() {
                let call = json!({"time": 1});
                let record = invoke(api, "waits", &call);
                let result = &record["response"]["result"];
                let error = result["error"].as_str().unwrap_or_default();
                // The calls come one after another, so at most one can be in the process when it is killed.
                if error.contains("another call in it") {
                    ended_together += 1;
                } else {
                    assert_eq!(*result, call, "{record:#}");
                }
                // Stays below the limit of calls per minute.
                thread::sleep(Duration::from_millis(10));
            }
            assert!(
                ended_together <= 1,
                "{ended_together} were ended with the other"
            );
        });
        platform.log()
    };
    wait::until_seen("one is turned away", 4 * wait::SOON, log, |log| {
        log.contains("takes no more")
    });
}

#[test]
fn concurrent_calls_run_in_prewarmed_packs() {
    for driver in [Driver::Process, Driver::Sandbox] {
        two_calls_run_in_a_prewarmed_pack(driver);
    }
}

fn two_calls_run_in_a_prewarmed_pack(driver: Driver) {
    let platform = Platform::start(one_slot(driver).prewarmed(1));
    let api = platform.api();
    wait::until_seen(
        "it is pre-warmed",
        wait::SOON,
        || api.prewarmed_packs(),
        |&packs| packs > 0,
    );
    store(api, "pairs", TOGETHER, json!({"concurrency": 2}));
    together(api, "pairs", 2, 2);
}
