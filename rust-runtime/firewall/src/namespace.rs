//! For tests: a network namespace with tables and interfaces of its own.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use rustix::process::geteuid;

use crate::netlink::Netlink;
use crate::stale;

const INSIDE: &str = "BURST_TEST_NAMESPACE";

/// Runs the test with this name once more, alone, in a network namespace; returns whether this is
/// that run. An ordinary user gets a user namespace as well.
pub(crate) fn enter(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut command = Command::new("unshare");
    if !geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let run = command
        .arg("--net")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
    false
}

pub(crate) fn add_card(name: &str) {
    let add = ["link", "add", name, "type", "bridge"];
    assert!(Command::new("ip").args(add).status().unwrap().success());
}

/// The family and name of each table, sorted.
pub(crate) fn tables() -> Vec<(u8, String)> {
    let kernel = Netlink::open().unwrap();
    let all = stale::tables(&kernel).unwrap().into_iter();
    let mut all: Vec<_> = all.map(|table| (table.family, table.name)).collect();
    all.sort();
    all
}
