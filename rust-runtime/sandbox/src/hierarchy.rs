//! The places where this process may make control groups.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// The controllers that limit processors, memory and processes.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// The directories in which groups are made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hierarchies {
    pub(crate) version: Version,
    pub(crate) parents: Vec<PathBuf>,
}

impl Hierarchies {
    /// Finds where this process can enforce all limits, if anywhere.
    pub(crate) fn find() -> Option<Self> {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        let (groups, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
        let writable = |path: &Path| {
            let whole = Access::WRITE_OK | Access::EXEC_OK;
            rustix::fs::accessat(rustix::fs::CWD, path, whole, rustix::fs::AtFlags::EACCESS).is_ok()
        };
        Self::one(&groups, &mounts, writable).or_else(|| {
            let handed_on = |path: &Path| {
                fs::read_to_string(path.join("cgroup.subtree_control")).unwrap_or_default()
            };
            Self::two(&groups, &mounts, writable, handed_on)
        })
    }

    fn one(groups: &str, mounts: &str, writable: impl Fn(&Path) -> bool) -> Option<Self> {
        let mut parents = Vec::new();
        for controller in CONTROLLERS {
            let has = |list: &str| list.split(',').any(|name| name == controller);
            let own = groups.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':').skip(1);
                let (names, path) = (fields.next()?, fields.next()?);
                has(names).then_some(path)
            })?;
            let mount = (mounts.lines().filter_map(Mount::parse))
                .find(|mount| mount.kind == "cgroup" && has(mount.options))?;
            let parent = mount.directory(own)?;
            if !writable(&parent) {
                return None;
            }
            // Two controllers may share a hierarchy.
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        Some(Self {
            version: Version::One,
            parents,
        })
    }

    fn two(
        groups: &str,
        mounts: &str,
        writable: impl Fn(&Path) -> bool,
        handed_on: impl Fn(&Path) -> String,
    ) -> Option<Self> {
        let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        let mounts = mounts.lines().filter_map(Mount::parse);
        let mount = mounts.into_iter().find(|mount| mount.kind == "cgroup2")?;
        let own = mount.directory(own)?;
        let parent = (own.ancestors())
            .take_while(|path| path.starts_with(mount.point))
            .find(|path| {
                let controllers = handed_on(path);
                let has = |name| controllers.split_whitespace().any(|other| other == name);
                CONTROLLERS.into_iter().all(has) && writable(path)
            })?;
        Some(Self {
            version: Version::Two,
            parents: vec![parent.to_owned()],
        })
    }
}

/// A line of `/proc/self/mountinfo`.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let mut system = system.split(' ');
        Some(Self {
            root: mount.next()?,
            point: mount.next()?,
            kind: system.next()?,
            options: system.nth(1)?,
        })
    }

    /// The directory of a group, if this mount, which may show only a part of the hierarchy,
    /// includes it.
    fn directory(&self, group: &str) -> Option<PathBuf> {
        let below = Path::new(group).strip_prefix(self.root).ok()?;
        Some(Path::new(self.point).join(below))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /box /sys/fs/cgroup/memory rw shared:7 - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
    const GROUPS: &str = "9:pids:/\n5:memory:/box/me\n3:cpu,cpuacct:/a\n0::/user/me\n";

    #[test]
    fn groups_of_version_1_are_below_the_shims_own() {
        let found = Hierarchies::one(GROUPS, MOUNTS, |_| true).unwrap();
        let root = Path::new("/sys/fs/cgroup");
        let parents = ["cpu,cpuacct/a", "memory/me", "pids"].map(|path| root.join(path));
        assert_eq!(found.parents, parents);
        assert_eq!(found.version, Version::One);
        let closed = |path: &Path| !path.ends_with("pids");
        assert_eq!(Hierarchies::one(GROUPS, MOUNTS, closed), None);
        let without = MOUNTS.replace("rw,pids", "rw,freezer");
        assert_eq!(Hierarchies::one(GROUPS, &without, |_| true), None);
    }

    #[test]
    fn groups_of_version_2_are_where_all_controllers_are_delegated() {
        let handed_on = |path: &Path| match path.ends_with("user") {
            true => "cpu io memory pids".to_owned(),
            false => "memory pids".to_owned(),
        };
        let found = Hierarchies::two(GROUPS, MOUNTS, |_| true, handed_on).unwrap();
        assert_eq!(found.version, Version::Two);
        assert_eq!(found.parents, [Path::new("/sys/fs/cgroup/unified/user")]);
        assert_eq!(Hierarchies::two(GROUPS, MOUNTS, |_| false, handed_on), None);
        let nothing = |_: &Path| String::new();
        assert_eq!(Hierarchies::two(GROUPS, MOUNTS, |_| true, nothing), None);
    }
}
