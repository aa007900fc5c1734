//! A runtime with a program in a sandbox: as an ordinary user, and as root if the tests run as root.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Run, Runtime, act, end, failure, named};

/// Creates a directory that everybody can read, with a package and the runtime's binary.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let open = |path: &Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    open(directory.path());
    let package = directory.path().join("package");
    std::fs::create_dir(&package).unwrap();
    open(&package);
    for (program, to) in [
        (
            env!("CARGO_BIN_EXE_burst-runtime-under-test"),
            directory.path().join("burst-runtime"),
        ),
        (
            env!("CARGO_BIN_EXE_burst-runtime-test-program"),
            package.join("exec"),
        ),
    ] {
        // Written by another process: see `support::exec_of`.
        let copied = Command::new("cp").arg(program).arg(&to).status().unwrap();
        assert!(copied.success());
        open(&to);
    }
    directory
}

fn is_root() -> bool {
    // SAFETY: takes nothing, touches no memory and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Returns a user id that nobody uses on this machine.
fn user() -> u32 {
    600_000 + std::process::id() % 100_000
}

fn description(directory: &TempDir) -> Value {
    json!({
        "package": directory.path().join("package"), "tmpMiB": 16, "shmMiB": 16,
        "limits": {"memoryMiB": 256, "cpus": 2.0, "processes": 300, "files": 1024},
    })
}

fn begin(directory: &TempDir, description: &Value, user: Option<u32>) -> Runtime {
    let mut command = Command::new(directory.path().join("burst-runtime"));
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let runtime = Runtime::sandboxed(command, description);
    runtime.init(Path::new("/package"));
    runtime
}

/// Checks that workers run and succeed, that the runtime is reusable, and that it exits cleanly.
fn works(runtime: &mut Runtime) {
    for _ in 0..2 {
        let acts = [act("hello"), act("hello"), act("hello")];
        let events = runtime.act(&acts);
        assert_eq!(named(&events, "worker-succeeded").len(), 3, "{events:?}");
        assert_eq!(end(&events)["reusable"], true);
    }
    runtime.close_stdin();
    assert_eq!(runtime.wait(), Some(0));
}

#[test]
fn an_ordinary_users_runtime_works_in_a_sandbox() {
    let directory = directory();
    let ordinary = is_root().then(user);
    works(&mut begin(&directory, &description(&directory), ordinary));
}

#[test]
fn roots_runtime_works_in_a_sandbox_as_another_user() {
    if !is_root() {
        // Only root can run a pack as another user.
        return;
    }
    let directory = directory();
    let mut description = description(&directory);
    description["user"] = json!(user());
    description["group"] = json!(format!("burst-runtime-test-{}", std::process::id()));
    works(&mut begin(&directory, &description, None));
}

#[test]
fn a_program_beyond_the_packs_memory_runs_out_of_it() {
    if !is_root() {
        // Without a control group the runtime itself limits its program, which `memory.rs` tests.
        return;
    }
    let directory = directory();
    let mut description = description(&directory);
    description["user"] = json!(user() + 100_000);
    description["group"] = json!(format!("burst-runtime-test-memory-{}", std::process::id()));
    let mut runtime = begin(&directory, &description, None);
    let events = runtime.events(&Run::new(&[act("eat")]));
    assert_eq!(failure(&events, 0)["kind"], "out-of-memory", "{events:?}");
    runtime.close_stdin();
    assert_eq!(runtime.line(), "out of memory");
    assert_eq!(runtime.wait(), Some(0));
}
