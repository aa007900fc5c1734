//! A runtime that stalls for longer than a program has for its next event, as on a machine that is suspended or busy.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use burst_test_servers::wait;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{Run, Runtime, act, end, exec_of, named};

/// The time a program has until its hello, and a longer time.
const PATIENCE: Duration = Duration::from_secs(10);
const STALL: Duration = Duration::from_millis(10_500);

fn tell(runtime: &Runtime, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(runtime.id()).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

/// Checks that the runtime accepts a hello that its program sends while the runtime is stopped.
fn reads_a_hello_sent_meanwhile() {
    let command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    let runtime = Runtime::impatient(command, PATIENCE);
    let directory = tempfile::tempdir().unwrap();
    let (began, go) = (directory.path().join("began"), directory.path().join("go"));
    let script = format!(
        "#!/bin/sh\n: > '{}'\nwhile [ ! -e '{}' ]; do sleep 0.05; done\nexec '{}'\n",
        began.display(),
        go.display(),
        env!("CARGO_BIN_EXE_burst-runtime-test-program"),
    );
    let package = exec_of(script.as_bytes());
    thread::scope(|scope| {
        let initialised = scope.spawn(|| runtime.init(package.path()));
        wait::until("the program has begun", wait::SOON, || {
            began.exists().then_some(())
        });
        tell(&runtime, Signal::STOP);
        fs::write(&go, "").unwrap();
        thread::sleep(STALL);
        tell(&runtime, Signal::CONT);
        initialised.join().unwrap();
    });
    let events = runtime.events(&Run::new(&[act("hello")]));
    assert_eq!(end(&events)["reusable"], true, "{events:?}");
}

/// Four in parallel, because a single one could succeed by chance.
#[test]
fn a_hello_sent_while_the_runtime_is_stopped_is_not_late() {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(reads_a_hello_sent_meanwhile);
        }
    });
}

/// The flare's deadline passes while the runtime is stopped.
#[test]
fn a_flare_that_ends_in_time_while_the_runtime_is_stopped_is_not_late() {
    let runtime = Runtime::with_acts();
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    let mut run = Run::new(&[json!({"act": "await", "file": go})]);
    // The test takes all of this time. A busy machine needs much of it to begin.
    run.timeout = Duration::from_secs(30);
    let mut events = runtime.flare(&run);
    events.until("worker-started");
    tell(&runtime, Signal::STOP);
    fs::write(&go, "").unwrap();
    thread::sleep(run.timeout);
    tell(&runtime, Signal::CONT);
    let events: Vec<_> = events.collect();
    assert_eq!(end(&events)["reusable"], true, "{events:?}");
}

/// Such a reader is an invoker on a busy machine, or one whose outputs wait for a store that does not respond. The
/// first two outputs are on their way, and the last one waits with the pack's end.
#[test]
fn a_late_reader_reads_all() {
    let runtime = Runtime::with_acts();
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    let large = json!({"act": "large", "bytes": 12 << 20});
    let last = json!({"act": "await", "file": go});
    let mut events = runtime.flare(&Run::new(&[large.clone(), large, last]));
    events.until("worker-started");
    // Both outputs must be waiting for the client by then; otherwise the test checks nothing.
    thread::sleep(Duration::from_secs(1));
    fs::write(&go, "").unwrap();
    thread::sleep(STALL);
    let events: Vec<_> = events.collect();
    assert_eq!(named(&events, "worker-succeeded").len(), 3);
    assert_eq!(end(&events)["reusable"], true);
}
