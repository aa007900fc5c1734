//! The control groups by which the kernel accounts for the packs of sandboxes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::{built, command};

/// Search depth below the root of a hierarchy: deeper than any system places a platform.
const DEPTH: u32 = 6;

/// Names of the control groups that belong to this invoker, in any hierarchy.
pub fn of(owner: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    look(
        Path::new("/sys/fs/cgroup"),
        &format!("burst-{owner}"),
        DEPTH,
        &mut found,
    );
    found
}

/// Removes them, as the next start of the invoker would.
pub fn remove(owner: &str) {
    let mut command = Command::new(built::dist("bin/burst-runtime"));
    command.args(["sandbox", "--remove", &format!("burst-{owner}-")]);
    command::run(&mut command, Duration::from_secs(60));
}

fn look(directory: &Path, prefix: &str, depth: u32, found: &mut BTreeSet<String>) {
    // Groups can appear and disappear during the search.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(prefix) {
            found.insert(name);
        }
        if depth > 0 {
            look(&entry.path(), prefix, depth - 1, found);
        }
    }
}
