//! Checks whether this machine lets this user make sandboxes.

use std::fs;

use serde::Serialize;

use crate::cgroup::ControlGroup;
use crate::credentials;
use crate::hierarchy::{Hierarchies, Version};
use crate::sandbox::{Plan, Sandbox};
use crate::spec::Limits;

/// The output of `burst-runtime sandbox --check`.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    possible: bool,
    /// How limits can be enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<&'static str>,
    /// Why sandboxes are impossible, and what to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Makes a sandbox and ends it. For a process with one thread that does nothing else.
#[must_use]
pub fn check() -> CheckReport {
    let limits = Limits {
        memory: 64,
        cpus: 1.0,
        processes: 64,
        files: 256,
    };
    let held = held_by_cgroups(&limits);
    let plan = Plan {
        user: credentials::may_make_namespaces().then_some(NOBODY),
        package: None,
        sockets: None,
        root: None,
        interpreters: false,
        mounts: &[],
        cgroup: None,
        scratch: [1, 1],
        limits,
        environment: None,
    };
    match Sandbox::make(plan, |_| {}).and_then(Sandbox::reap) {
        Ok(exit) if exit.code == 0 => CheckReport {
            possible: true,
            limits: Some(held),
            reason: None,
        },
        Ok(exit) => impossible(&format!("process 1 ended with {}", exit.code)),
        Err(error) => impossible(&error.to_string()),
    }
}

/// The user of the only process in it.
const NOBODY: u32 = 65534;

fn impossible(error: &str) -> CheckReport {
    CheckReport {
        possible: false,
        limits: None,
        reason: Some(format!("{error}: {}", remedy())),
    }
}

/// Returns how packs can be held to their limits.
fn held_by_cgroups(limits: &Limits) -> &'static str {
    let name = format!("burst-check-{}", std::process::id());
    let made = Hierarchies::find().and_then(|found| {
        ControlGroup::create(&found, &name, limits).ok()?;
        Some(found.version)
    });
    match made {
        Some(Version::One) => "control groups of version 1",
        Some(Version::Two) => "control groups of version 2",
        None => {
            "resource limits: descriptors and processes by the kernel, memory by the runtime, processors not at all, \
             since no control group with cpu, memory and pids is delegated to this user"
        }
    }
}

/// Returns what to change about the most likely obstacle.
fn remedy() -> &'static str {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let is = |file: &str, value: &str| read(file).trim() == value;
    let (users, status) = (read("/proc/self/uid_map"), read("/proc/self/status"));
    let alone = users.split_ascii_whitespace().nth(2) == Some("1");
    let filtered = |line: &str| line.starts_with("Seccomp:") && line.ends_with('2');
    if alone && credentials::may_make_namespaces() {
        "this is the root of a container without other users; run as an ordinary user"
    } else if is("/proc/sys/user/max_user_namespaces", "0") {
        "set user.max_user_namespaces to more than 0 by sysctl"
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "set kernel.unprivileged_userns_clone to 1 by sysctl"
    } else if is(APPARMOR, "1") {
        "set kernel.apparmor_restrict_unprivileged_userns to 0 by sysctl"
    } else if rustix::process::geteuid().is_root() && !credentials::may_make_namespaces() {
        "this is root without root's rights; run as an ordinary user, or with CAP_SYS_ADMIN"
    } else if status.lines().any(filtered) {
        "this is a container whose filter of system calls forbids it; run it without, or outside of a container"
    } else {
        "Linux 5.12 with user namespaces is needed, and /proc as the kernel makes it"
    }
}

const APPARMOR: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
