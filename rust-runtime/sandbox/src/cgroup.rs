//! Control groups limit the machine's resources for all of a pack's processes together.
//!
//! A pack's group is made below its shim's, so that the shim's limits hold for the pack as well. In version 2 a group
//! with processes may have none below it: there it is made beside the shim's group, or at the nearest level above that
//! delegates controllers. The shim, which is never in the group, moves process 1 into it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::cgroup_files::{self, Setting};
use crate::hierarchy::{Hierarchies, Version};
use crate::spec::Limits;
use crate::{Error, Refusal};

/// A pack's control group. Removed when dropped.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    version: Version,
    /// One directory in version 2, one for each hierarchy in version 1.
    directories: Vec<PathBuf>,
    /// `cgroup.procs` of each, through which a process enters; empty once one has.
    procs: Vec<File>,
    /// The process that enters before the pack's, so that the kernel is prepared.
    warm_up: Option<Pid>,
}

impl ControlGroup {
    /// Makes an empty group.
    pub(crate) fn create(
        hierarchies: &Hierarchies,
        name: &str,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let mut cgroup = Self {
            version: hierarchies.version,
            directories: Vec::new(),
            procs: Vec::new(),
            warm_up: None,
        };
        for parent in &hierarchies.parents {
            let directory = parent.join(name);
            fs::create_dir(&directory).map_err(|reason| Error::ControlGroup {
                path: directory.clone(),
                reason,
            })?;
            cgroup.directories.push(directory);
        }
        for setting in cgroup_files::of(cgroup.version, limits) {
            cgroup
                .write(&setting)
                .map_err(|(path, reason)| Error::ControlGroup { path, reason })?;
        }
        for directory in &cgroup.directories {
            let path = directory.join("cgroup.procs");
            let file = OpenOptions::new().write(true).open(&path);
            let file = file.map_err(|reason| Error::ControlGroup { path, reason })?;
            cgroup.procs.push(file);
        }
        Ok(cgroup)
    }

    /// Makes the kernel begin its preparations for a process to enter. They take 5 to 20 ms if no process has entered
    /// lately, as the kernel waits until each processor has taken notice. For a process with one thread.
    ///
    /// # Errors
    /// When no process can be forked.
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        // SAFETY: this process has no other thread that could hold a lock, and its copy only writes and ends.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let entered = self.procs.first_mut().map(|file| file.write_all(b"0"));
                // SAFETY: ends the copy alone, and runs nothing of the original's.
                unsafe { libc::_exit(i32::from(!matches!(entered, Some(Ok(()))))) }
            }
            warm_up => {
                self.warm_up = Pid::from_raw(warm_up);
                Ok(())
            }
        }
    }

    /// Moves a process into the group. It must not have started others yet.
    pub(crate) fn admit(&mut self, process: Pid) -> Result<(), Error> {
        let number = process.as_raw_nonzero().to_string();
        for (file, directory) in self.procs.iter_mut().zip(&self.directories) {
            match file.write_all(number.as_bytes()) {
                // The process has ended: there is nothing to limit.
                Err(reason) if Errno::from_io_error(&reason) == Some(Errno::SRCH) => {}
                entered => entered.map_err(|reason| Error::ControlGroup {
                    path: directory.clone(),
                    reason,
                })?,
            }
        }
        self.procs.clear();
        Ok(())
    }

    /// Waits for the process of [`prepare`](Self::prepare).
    pub(crate) fn reap_warm_up(&mut self) {
        if let Some(warm_up) = self.warm_up.take() {
            // A signal that interrupts this ends the whole process.
            let _ = waitpid(Some(warm_up), WaitOptions::empty());
        }
    }

    /// Applies other limits.
    pub(crate) fn change(&self, limits: &Limits) -> Result<(), Error> {
        if self.version == Version::Two
            && let Some(used) = self.used()
            && used > limits.memory.into()
        {
            // The kernel would kill processes.
            return Err(in_use(limits));
        }
        for setting in cgroup_files::of(self.version, limits) {
            self.write(&setting)
                .map_err(|(path, reason)| match reason.kind() {
                    ErrorKind::ResourceBusy => in_use(limits),
                    _ => Error::ControlGroup { path, reason },
                })?;
        }
        Ok(())
    }

    /// Whether the kernel has killed a process in the group because it ran out of memory.
    pub(crate) fn has_run_out_of_memory(&self) -> bool {
        self.find(&["memory.events", "memory.oom_control"])
            .and_then(|file| number(&file, "oom_kill "))
            .is_some_and(|kills| kills > 0)
    }

    /// The directories of the group that the pack sees, and where: read-only, like everything else.
    pub(crate) fn shown(&self) -> Vec<(PathBuf, &'static str)> {
        let marks: &[(&str, &'static str)] = match self.version {
            Version::One => &[
                ("memory.limit_in_bytes", "/sys/fs/cgroup/memory"),
                ("cpu.cfs_quota_us", "/sys/fs/cgroup/cpu"),
            ],
            Version::Two => &[("cgroup.procs", "/sys/fs/cgroup")],
        };
        let shown = marks.iter().filter_map(|(file, target)| {
            Some((self.find(&[*file])?.parent()?.to_owned(), *target))
        });
        shown.collect()
    }

    /// Removes the group; waits up to 25 s for its processes to end.
    pub(crate) fn remove(&mut self) -> Result<(), Error> {
        self.reap_warm_up();
        let deadline = Instant::now() + GONE;
        while let Some(directory) = self.directories.last() {
            remove(directory, deadline).map_err(|reason| Error::ControlGroup {
                path: directory.clone(),
                reason,
            })?;
            self.directories.pop();
        }
        Ok(())
    }

    /// MiB in use, without memory that the kernel can reclaim at any time.
    fn used(&self) -> Option<u64> {
        let current = self.find(&["memory.current"])?;
        let current: u64 = fs::read_to_string(current).ok()?.trim().parse().ok()?;
        let files = number(&self.find(&["memory.stat"])?, "inactive_file ").unwrap_or(0);
        Some(current.saturating_sub(files) >> 20)
    }

    fn write(&self, setting: &Setting) -> Result<(), (PathBuf, io::Error)> {
        let Some(file) = self.find(&[setting.file]) else {
            return match setting.optional {
                true => Ok(()),
                false => Err((setting.file.into(), ErrorKind::NotFound.into())),
            };
        };
        // In a control group no file is created, should this one be missing.
        let written = fs::write(&file, &setting.value).or_else(|error| match &setting.first {
            // Which file must be written first depends on whether the limit grows or shrinks.
            Some((first, value)) if error.kind() == ErrorKind::InvalidInput => {
                let first = self.find(&[*first]).unwrap_or_default();
                fs::write(first, value).and_then(|()| fs::write(&file, &setting.value))
            }
            _ => Err(error),
        });
        written.map_err(|error| (file, error))
    }

    fn find(&self, names: &[&str]) -> Option<PathBuf> {
        let files = (self.directories.iter())
            .flat_map(|directory| names.iter().map(move |name| directory.join(name)));
        files.into_iter().find(|file| file.exists())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

/// Removes the groups whose names begin with the prefix, and returns how many. Processes still in them are those of
/// killed shims, and about to end.
pub(crate) fn remove_all(hierarchies: &Hierarchies, prefix: &str) -> Result<usize, Error> {
    let deadline = Instant::now() + GONE;
    let mut names = std::collections::BTreeSet::new();
    for parent in &hierarchies.parents {
        let failed = |path: &Path, reason| Error::ControlGroup {
            path: path.to_owned(),
            reason,
        };
        for entry in fs::read_dir(parent).map_err(|reason| failed(parent, reason))? {
            let entry = entry.map_err(|reason| failed(parent, reason))?;
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && name.starts_with(prefix) {
                remove(&path, deadline).map_err(|reason| failed(&path, reason))?;
                names.insert(name);
            }
        }
    }
    Ok(names.len())
}

fn remove(directory: &Path, deadline: Instant) -> io::Result<()> {
    loop {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

fn number(file: &Path, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

fn in_use(limits: &Limits) -> Error {
    Refusal::InUse(limits.memory).into()
}

/// How long killed processes, which need a processor for it, may take to end: less than an invoker waits for the
/// removal of groups.
const GONE: Duration = Duration::from_secs(25);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LIMITS: Limits = Limits {
        memory: 64,
        cpus: 0.5,
        processes: 40,
        files: 100,
    };

    /// A control group as the kernel would show it, with no other files than these.
    fn cgroup(directory: &Path, files: &[(&str, &str)]) -> ControlGroup {
        for (file, text) in files {
            fs::write(directory.join(file), text).unwrap();
        }
        ControlGroup {
            version: Version::Two,
            directories: vec![directory.to_owned()],
            procs: Vec::new(),
            warm_up: None,
        }
    }

    #[test]
    fn version_2_is_never_given_less_memory_than_is_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let read = |file: &str| fs::read_to_string(directory.path().join(file)).unwrap();
        let files = [
            ("memory.current", "125829120\n"),
            ("memory.stat", "anon 1\ninactive_file 52428800\n"),
            ("memory.max", "max"),
            ("cpu.max", "max 100000"),
            ("pids.max", "max"),
        ];
        let cgroup = cgroup(directory.path(), &files);
        let refused = cgroup.change(&LIMITS).unwrap_err().to_string();
        assert_eq!(refused, "more than 64 MiB are in use");
        assert_eq!(read("memory.max"), "max");

        fs::write(directory.path().join("memory.current"), "104857600").unwrap();
        cgroup.change(&LIMITS).unwrap();
        assert_eq!(read("memory.max"), "67108864");
        assert_eq!(
            (read("cpu.max"), read("pids.max")),
            ("50000 100000".into(), "40".into())
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let cgroup = cgroup(directory.path(), &[("memory.max", "max")]);
        let failed = cgroup.change(&LIMITS).unwrap_err().to_string();
        assert!(failed.contains("cpu.max"), "{failed}");
    }

    #[test]
    fn kills_for_memory_are_counted_by_the_kernel() {
        let directory = tempfile::tempdir().unwrap();
        let events = |kills| format!("low 0\noom 3\noom_kill {kills}\noom_group_kill 0\n");
        let none = cgroup(directory.path(), &[("memory.events", &events(0))]);
        assert!(!none.has_run_out_of_memory());
        let some = cgroup(directory.path(), &[("memory.events", &events(1))]);
        assert!(some.has_run_out_of_memory());
    }
}
