//! Every way a worker can end its process, and how it is reported.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use burst_test_servers::wait;
use serde_json::{Value, json};

use crate::support::{Run, Runtime, act, assert_at_once, end, exec_of, failure, logs, named};

/// Returns the events of a flare in which worker 0 acts while worker 1 waits for it. They must arrive without
/// delay.
fn with_a_peer(deed: Value) -> Vec<Value> {
    let runtime = Runtime::with_acts();
    let run = Run::new(&[deed, json!({"act": "receive", "from": 0})]);
    let started = Instant::now();
    let events = runtime.events(&run);
    assert_at_once(started);
    assert_eq!(end(&events)["reusable"], false);
    assert_eq!(end(&events)["error"]["worker"], 0, "{events:?}");
    assert_eq!(end(&events)["error"]["kind"], failure(&events, 0)["kind"]);
    let peer = failure(&events, 1);
    assert_eq!(peer["kind"], "peer-failed");
    assert!(
        peer["message"].as_str().unwrap().contains("worker 0"),
        "{peer}"
    );
    let first = named(&events, "worker-failed")[0];
    assert_eq!(first["worker"], 0, "the cause comes first: {events:?}");
    events
}

fn said(failure: &Value, kind: &str, text: &str) {
    assert_eq!(failure["kind"], kind, "{failure}");
    assert!(
        failure["message"].as_str().unwrap().contains(text),
        "{failure}"
    );
    assert_eq!(failure["worker"], 0);
    assert_eq!(failure["operation"], "work");
}

#[test]
fn an_error_is_reported_and_ends_the_waits_of_peers() {
    let events = with_a_peer(json!({"act": "error", "text": "no such city"}));
    said(&failure(&events, 0), "error", "no such city");
    assert!(
        failure(&events, 1)["message"]
            .as_str()
            .unwrap()
            .contains("no such city")
    );
}

#[test]
fn a_panic_is_reported_with_its_place() {
    let events = with_a_peer(act("panic"));
    said(&failure(&events, 0), "panic", "worker 0 panics (at ");
    assert!(
        failure(&events, 0)["message"]
            .as_str()
            .unwrap()
            .contains("acts.rs:")
    );
}

#[test]
fn a_peer_that_panics_on_the_error_is_not_another_cause() {
    let runtime = Runtime::with_acts();
    let peer = json!({"act": "receive-or-panic", "from": 0});
    let events = runtime.act(&[json!({"act": "error", "text": "first"}), peer]);
    assert_eq!(failure(&events, 1)["kind"], "peer-failed");
    assert_eq!(end(&events)["error"]["message"], "first");
}

#[test]
fn an_abort_names_the_worker() {
    let events = with_a_peer(act("abort"));
    said(&failure(&events, 0), "abort", "aborted (SIGABRT)");
}

#[test]
fn a_segmentation_fault_names_the_worker() {
    let events = with_a_peer(act("segfault"));
    said(&failure(&events, 0), "signal", "SIGSEGV");
}

#[test]
fn a_stack_overflow_names_the_worker() {
    let events = with_a_peer(act("overflow"));
    said(&failure(&events, 0), "abort", "stack overflowed");
    let said = [
        logs(&events, json!(0), "stderr"),
        logs(&events, Value::Null, "stderr"),
    ]
    .concat();
    assert!(
        said.iter()
            .any(|line| line.contains("overflowed its stack")),
        "{events:?}"
    );
}

#[test]
fn an_exit_names_the_worker_and_the_code() {
    let events = with_a_peer(json!({"act": "exit", "code": 7}));
    said(&failure(&events, 0), "exit", "exit code 7");
    let events = with_a_peer(json!({"act": "exit", "code": 0}));
    said(&failure(&events, 0), "exit", "exit code 0");
}

#[test]
fn a_kill_from_outside_is_the_packs_failure() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[act("kill"), act("forever")]);
    for worker in [0, 1] {
        assert_eq!(failure(&events, worker)["kind"], "signal");
        assert_eq!(failure(&events, worker)["worker"], Value::Null);
        assert!(
            failure(&events, worker)["message"]
                .as_str()
                .unwrap()
                .contains("SIGKILL")
        );
    }
    assert_eq!(end(&events)["error"]["worker"], Value::Null);
}

#[test]
fn a_worker_that_never_listens_does_not_hold_up_a_failed_flare() {
    let runtime = Runtime::with_acts();
    let started = Instant::now();
    let events = runtime.act(&[act("panic"), act("forever")]);
    assert_at_once(started);
    assert_eq!(failure(&events, 0)["kind"], "panic");
    assert_eq!(failure(&events, 1)["kind"], "peer-failed");
    assert_eq!(end(&events)["error"]["kind"], "panic");
}

#[test]
fn output_before_a_crash_is_kept() {
    let runtime = Runtime::with_acts();
    let events = runtime.act(&[act("print-and-abort")]);
    assert_eq!(failure(&events, 0)["kind"], "abort");
    assert_eq!(logs(&events, json!(0), "stdout"), ["whole"]);
    assert_eq!(logs(&events, json!(0), "stderr"), ["half"]);
}

/// Returns the events of a program that announces its exit on the control socket, as the SDK does, and does not
/// exit.
fn lingering(announcement: &str) -> Vec<Value> {
    let frame = |body: &str| format!("\\{:03o}\\000\\000\\000{body}", body.len());
    let hello = frame(r#"{"event":"hello","sdk":"0"}"#);
    let dying = frame(announcement);
    // The program waits for the first byte of its first command, which is to run.
    let script = format!(
        "#!/bin/sh\nprintf '{hello}' >&3; head -c 1 <&3; printf '{dying}' >&3; sleep 600\n"
    );
    let package = exec_of(script.as_bytes());
    let runtime = Runtime::start();
    runtime.init(package.path());
    runtime.events(&Run::new(&[act("nothing"), act("nothing")]))
}

#[test]
fn a_process_that_takes_too_long_to_die_fails_as_announced() {
    let events = lingering(r#"{"event":"dying","worker":0,"signal":6}"#);
    said(&failure(&events, 0), "abort", "aborted (SIGABRT)");
    assert_eq!(failure(&events, 1)["kind"], "peer-failed");
}

#[test]
fn a_process_that_takes_too_long_to_exit_fails_as_announced() {
    let events = lingering(r#"{"event":"dying","worker":0,"signal":null}"#);
    said(&failure(&events, 0), "exit", "ending the process");
    assert_eq!(end(&events)["reusable"], false);
}

/// Returns the events of these acts in a control group of 96 MiB, as containers have one, or none without root,
/// which is needed to create it. `memory.rs` tests the limits of programs without a control group.
fn short_of_memory(acts: &[Value]) -> Option<Vec<Value>> {
    let Some(group) = MemoryGroup::create(96 << 20) else {
        // SAFETY: a plain system call.
        let root = unsafe { libc::getuid() } == 0;
        assert!(
            !root,
            "a memory control group cannot be made here: mount cgroup v2, or the memory hierarchy of cgroup v1, \
             writable at /sys/fs/cgroup"
        );
        eprintln!("left out: only root can make a control group here");
        return None;
    };
    let runtime = Runtime::start_with(group.enter(env!("CARGO_BIN_EXE_burst-runtime-under-test")));
    let package = crate::support::acts();
    runtime.init(package.path());
    Some(runtime.act(acts))
}

#[test]
fn a_program_out_of_memory_is_killed_and_reported() {
    let Some(events) = short_of_memory(&[act("eat")]) else {
        return;
    };
    said(&failure(&events, 0), "out-of-memory", "more memory");
    said(&failure(&events, 0), "out-of-memory", "96 MiB");
    assert_eq!(end(&events)["error"]["kind"], "out-of-memory");
}

#[test]
fn none_of_several_workers_is_blamed_for_lack_of_memory() {
    let Some(events) = short_of_memory(&[act("forever"), act("eat"), act("forever")]) else {
        return;
    };
    for worker in 0..3 {
        let failure = failure(&events, worker);
        assert_eq!(failure["kind"], "out-of-memory");
        assert_eq!(failure["worker"], Value::Null);
        assert_eq!(failure["pack"], 0);
        let message = failure["message"].as_str().unwrap();
        let unknown = "which of its 3 workers it was cannot be known";
        assert!(message.contains(unknown), "{message}");
    }
    assert_eq!(end(&events)["error"]["worker"], Value::Null);
}

struct MemoryGroup(std::path::PathBuf);

impl MemoryGroup {
    fn create(limit: u64) -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("burst-runtime-test-{}-{number}", std::process::id());
        for line in groups.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
            let (parent, file) = match controllers {
                "memory" => (
                    format!("/sys/fs/cgroup/memory/{path}"),
                    "memory.limit_in_bytes",
                ),
                "" => (format!("/sys/fs/cgroup/{path}"), "memory.max"),
                _ => continue,
            };
            let group = std::path::Path::new(&parent).join(&name);
            // A killed process that had this one's id before may have left it.
            let _ = std::fs::remove_dir(&group);
            if std::fs::create_dir(&group).is_err() {
                continue;
            }
            if std::fs::write(group.join(file), limit.to_string()).is_ok() {
                return Some(Self(group));
            }
            let _ = std::fs::remove_dir(group);
        }
        None
    }

    fn enter(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        let script = r#"echo $$ > "$1/cgroup.procs"; shift; exec "$@""#;
        command.args(["-c", script, "sh"]).arg(&self.0).arg(program);
        command
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The runtime in it was dropped before; the kernel may need a moment to notice.
        wait::until("the control group is empty", wait::SOON, || {
            std::fs::remove_dir(&self.0).ok()
        });
    }
}
