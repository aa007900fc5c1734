//! Detects whether the kernel killed a process here for using too much memory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::proc_file;

/// The file that counts the kernel's kills in the control group of this process, if there is one, beside which is the
/// group's limit.
#[derive(Debug, Clone)]
pub(crate) struct KillCounter {
    file: Option<PathBuf>,
}

impl KillCounter {
    pub(crate) fn of_this_process() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::find(Path::new("/sys/fs/cgroup"), &groups)
    }

    /// Version 2 has one hierarchy and counts in `memory.events`, version 1 has one for memory and
    /// counts in `memory.oom_control`. In a container the group's own directory may be mounted
    /// as the root of either.
    fn find(mount: &Path, groups: &str) -> Self {
        let mut candidates = Vec::new();
        for line in groups.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let path = path.trim_start_matches('/');
            if controllers.is_empty() {
                candidates.push(mount.join(path).join("memory.events"));
                candidates.push(mount.join("memory.events"));
            } else if controllers.split(',').any(|name| name == "memory") {
                let mount = mount.join("memory");
                candidates.push(mount.join(path).join("memory.oom_control"));
                candidates.push(mount.join("memory.oom_control"));
            }
        }
        Self {
            file: candidates.into_iter().find(|file| kills(file).is_some()),
        }
    }

    /// Returns the memory that the group may use, in MiB; none if it is not limited.
    pub(crate) fn limit(&self) -> Option<u64> {
        let directory = self.file.as_deref()?.parent()?;
        let bytes: u64 = ["memory.max", "memory.limit_in_bytes"]
            .iter()
            .find_map(|name| fs::read_to_string(directory.join(name)).ok())?
            .trim()
            .parse()
            .ok()?;
        // Version 1 has no word for "unlimited", only a number that no machine reaches.
        (bytes < 1 << 60).then_some(bytes >> 20)
    }

    /// Returns how many processes were killed so far; 0 if they are not counted.
    pub(crate) fn read(&self) -> u64 {
        self.file.as_deref().and_then(kills).unwrap_or(0)
    }
}

fn kills(file: &Path) -> Option<u64> {
    let text = proc_file::read_text(file).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn both_versions_count() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            "pod/a/memory.events",
            "low 0\noom 2\noom_kill 3\n",
        );
        let counter = KillCounter::find(root.path(), "0::/pod/a\n");
        assert_eq!(counter.read(), 3);
        assert_eq!(counter.limit(), None);
        write(root.path(), "pod/a/memory.max", "max\n");
        assert_eq!(counter.limit(), None);
        write(root.path(), "pod/a/memory.max", "134217728\n");
        assert_eq!(counter.limit(), Some(128));

        let control = "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n";
        write(root.path(), "memory/box/memory.oom_control", control);
        let limit = "memory/box/memory.limit_in_bytes";
        write(root.path(), limit, "9223372036854771712\n");
        let counter = KillCounter::find(root.path(), "5:cpu:/box\n4:memory:/box\n0::/\n");
        assert_eq!(counter.read(), 5);
        assert_eq!(counter.limit(), None);
        write(
            root.path(),
            "memory/box/memory.oom_control",
            &control.replace('5', "6"),
        );
        assert_eq!(counter.read(), 6);
    }

    #[test]
    fn inside_a_container_the_root_is_the_groups_own() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "memory.events", "oom_kill 1\n");
        assert_eq!(KillCounter::find(root.path(), "0::/docker/abc\n").read(), 1);
    }

    #[test]
    fn without_a_counter_nothing_was_killed() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(KillCounter::find(root.path(), "0::/\nnonsense").read(), 0);
    }
}
