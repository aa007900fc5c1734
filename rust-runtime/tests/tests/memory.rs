//! Programs that the runtime limits to their pack's memory.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Run, Runtime, act, end, failure, named};
use serde_json::{Value, json};

/// MiB; more than the program and the stacks of three workers need.
const ENOUGH: u64 = 160;

fn run(acts: &[Value], memory: u64) -> Run {
    Run {
        memory: Some(memory),
        ..Run::new(acts)
    }
}

/// Checks that both workers fail with the right cause if worker 0 allocates without end while
/// worker 1 waits for it.
#[track_caller]
fn runs_out(runtime: &Runtime, how: &str, log_limit: Option<usize>) {
    let acts = [act(how), json!({"act": "receive", "from": 0})];
    let run = Run {
        log_limit,
        ..run(&acts, ENOUGH)
    };
    let events = runtime.events(&run);
    let failed = failure(&events, 0);
    assert_eq!(failed["kind"], "out-of-memory", "{events:?}");
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("its pack may have 160 MiB"), "{message}");
    assert_eq!(failure(&events, 1)["kind"], "peer-failed");
    assert_eq!(end(&events)["error"]["kind"], "out-of-memory");
    assert_eq!(end(&events)["error"]["worker"], 0);
}

#[test]
fn a_worker_that_allocates_more_than_its_limit_runs_out_of_memory() {
    runs_out(&Runtime::with_acts(), "eat", None);
}

/// The runtime recognises the cause in the program's output, which it must read even if the log
/// keeps none of it.
#[test]
fn a_worker_whose_log_is_not_kept_runs_out_of_memory() {
    runs_out(&Runtime::with_acts(), "eat", Some(0));
}

#[test]
fn a_worker_that_allocates_in_small_pieces_runs_out_of_memory() {
    runs_out(&Runtime::with_acts(), "nibble", None);
}

#[test]
fn a_worker_within_its_memory_succeeds() {
    let runtime = Runtime::with_acts();
    let acts = [json!({"act": "keep", "bytes": 64 << 20}), act("hello")];
    let events = runtime.events(&run(&acts, ENOUGH));
    assert_eq!(named(&events, "worker-succeeded").len(), 2, "{events:?}");
    assert_eq!(end(&events)["reusable"], true);
}

/// The next flare's pack can be smaller or larger than the last one's.
#[test]
fn a_program_is_limited_to_each_flares_memory_anew() {
    let runtime = Runtime::with_acts();
    let keep = || json!({"act": "keep", "bytes": 64 << 20});
    assert_eq!(
        end(&runtime.events(&run(&[keep()], ENOUGH)))["reusable"],
        true
    );
    let (status, refusal) = runtime.post("/packs", &run(&[keep()], 32).body());
    assert_eq!(status, 409, "{refusal}");
    let reason = refusal["error"].as_str().unwrap();
    assert!(reason.contains("may have 32 MiB now"), "{reason}");
    assert_eq!(
        end(&runtime.events(&run(&[keep()], 2 * ENOUGH)))["reusable"],
        true
    );
    // Which of the two workers fails is random.
    let events = runtime.events(&run(&[keep(), keep()], ENOUGH + 32));
    assert_eq!(end(&events)["error"]["kind"], "out-of-memory", "{events:?}");
}

/// The same for a runtime of an ordinary user, who has fewer privileges than root.
#[test]
fn an_ordinary_users_program_is_limited_and_killed_before_its_runtime() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = |program: &str, name: &str| {
        let to = directory.path().join(name);
        // Written by another process: see `support::exec_of`.
        let mut cp = Command::new("cp");
        assert!(cp.arg(program).arg(&to).status().unwrap().success());
        to
    };
    let binary = copy(
        env!("CARGO_BIN_EXE_burst-runtime-under-test"),
        "burst-runtime",
    );
    copy(env!("CARGO_BIN_EXE_burst-runtime-test-program"), "exec");
    // SAFETY: a plain system call.
    let mut command = match unsafe { libc::getuid() } {
        0 => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=59999", "--regid=59999", "--clear-groups"]);
            command.arg(binary);
            command
        }
        _ => Command::new(binary),
    };
    command.current_dir("/");
    let runtime = Runtime::start_with(command);
    runtime.init(directory.path());
    let events = runtime.events(&run(&[act("surroundings")], ENOUGH));
    let output = &named(&events, "worker-succeeded")[0]["output"];
    assert_eq!(output["oomScore"], "1000");
    runs_out(&runtime, "eat", None);
}
