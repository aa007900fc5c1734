//! Directories of packages that are unpacked or copied. Their names identify their owner, so that the next runtime
//! removes those of one that was killed.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};
use tempfile::TempDir;

use crate::descendants::Process;

const PREFIX: &str = "burst-package-";

/// A directory that is removed when this is dropped, by a separate thread: removing many files takes long, and the
/// dropping thread has a request to answer.
#[derive(Debug)]
pub(crate) struct OwnDirectory(Option<TempDir>);

/// The threads that are removing directories.
static REMOVALS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

impl OwnDirectory {
    /// Makes an empty directory, and starts to remove those of dead runtimes in the background. Blocks on file I/O.
    pub(crate) fn new() -> io::Result<Self> {
        let identity = ProcessIdentity::this();
        if let Some(identity) = identity {
            // Neither this start nor the runtime's end should wait for what others have left: what remains, the next
            // runtime removes.
            let removal = move || identity.remove_of_dead(&std::env::temp_dir());
            let _ = std::thread::Builder::new().spawn(removal);
        }
        let prefix = identity.map_or(PREFIX.to_owned(), |identity| identity.prefix());
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir()?;
        Ok(Self(Some(directory)))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), |it| it.path())
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        let directory = self.0.take();
        // If no thread can be started, dropping its closure removes the directory immediately.
        let removal = std::thread::Builder::new().spawn(move || drop(directory));
        removals().extend(removal);
    }
}

/// Waits until all directories that were dropped are removed.
pub fn wait_for_removals() {
    let removals = std::mem::take(&mut *removals());
    for removal in removals {
        // The thread has no result.
        let _ = removal.join();
    }
}

fn removals() -> MutexGuard<'static, Vec<JoinHandle<()>>> {
    REMOVALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A runtime's process, and the namespace in which its number is valid.
#[derive(Debug, Clone, Copy)]
struct ProcessIdentity {
    process: Process,
    space: u64,
    /// The boot id of the machine's kernel: other machines may share the directory, and have namespaces of the same
    /// numbers.
    boot: u128,
}

const BOOT: &str = "/proc/sys/kernel/random/boot_id";

impl ProcessIdentity {
    fn this() -> Option<Self> {
        let process = Process::of(i32::try_from(std::process::id()).ok()?)?;
        let space = fs::metadata("/proc/self/ns/pid").ok()?.ino();
        let boot = fs::read_to_string(BOOT).ok()?.trim().replace('-', "");
        let boot = u128::from_str_radix(&boot, 16).ok()?;
        Some(Self {
            process,
            space,
            boot,
        })
    }

    fn prefix(self) -> String {
        let Process { number, began } = self.process;
        format!("{PREFIX}{number}-{began}-{}-{:x}-", self.space, self.boot)
    }

    fn of(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let process = Process {
            number: parts.next()?.parse().ok()?,
            began: parts.next()?.parse().ok()?,
        };
        let space = parts.next()?.parse().ok()?;
        let boot = u128::from_str_radix(parts.next()?, 16).ok()?;
        // The random part.
        parts.next()?;
        Some(Self {
            process,
            space,
            boot,
        })
    }

    /// Returns whether the number of the other identifies the same process here.
    fn sees(self, other: Self) -> bool {
        (self.space, self.boot) == (other.space, other.boot)
    }

    /// Returns whether the process is certainly dead. One that cannot be looked at counts as alive if a signal would
    /// reach it.
    fn is_dead(self) -> bool {
        let Some(number) = Pid::from_raw(self.process.number) else {
            return false;
        };
        test_kill_process(number) == Err(Errno::SRCH)
            || Process::of(self.process.number).is_some_and(|now| now != self.process)
    }

    /// Removes the directories that killed runtimes of this user have left there. What cannot be removed stays.
    fn remove_of_dead(self, temporary: &Path) {
        let left = |entry: &DirEntry| {
            let identity = entry.file_name().to_str().and_then(Self::of);
            // Of the entry itself, not of a link's target.
            let about = entry.metadata();
            identity.is_some_and(|identity| self.sees(identity) && identity.is_dead())
                && about.is_ok_and(|it| it.is_dir() && it.uid() == geteuid().as_raw())
        };
        let entries = fs::read_dir(temporary).into_iter().flatten().flatten();
        for entry in entries.filter(left) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    #[test]
    fn only_directories_of_dead_processes_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let this = ProcessIdentity::this().unwrap();
        let other = ProcessIdentity {
            process: Process::of(child.id() as i32).unwrap(),
            ..this
        };
        let mut earlier = this;
        earlier.process.began -= 1;
        let elsewhere = ProcessIdentity {
            space: this.space + 1,
            ..earlier
        };
        let of_another_machine = ProcessIdentity {
            boot: this.boot ^ 1,
            ..earlier
        };
        let path = |identity: ProcessIdentity| root.path().join(identity.prefix() + "aB3");
        let target = root.path().join("target");
        for identity in [this, other, earlier, elsewhere, of_another_machine] {
            let directory = path(identity);
            fs::create_dir_all(directory.join("deep")).unwrap();
        }
        fs::create_dir(&target).unwrap();
        fs::create_dir(root.path().join(PREFIX.to_owned() + "aB3")).unwrap();
        let link = root.path().join(earlier.prefix() + "link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let number = || fs::read_dir(root.path()).unwrap().count();

        this.remove_of_dead(root.path());
        assert!(!path(earlier).exists());
        for living in [this, other, elsewhere, of_another_machine] {
            assert!(path(living).exists(), "{living:?}");
        }
        assert_eq!(number(), 7);

        child.kill().unwrap();
        child.wait().unwrap();
        this.remove_of_dead(root.path());
        assert!(!path(other).exists() && link.exists());
        assert_eq!(number(), 6);
    }

    #[test]
    fn a_directory_names_its_process_and_is_removed_when_dropped() {
        let own = OwnDirectory::new().unwrap();
        let path = own.path().to_owned();
        fs::create_dir_all(path.join("deep/er")).unwrap();
        let identity = ProcessIdentity::of(path.file_name().unwrap().to_str().unwrap()).unwrap();
        assert_eq!(identity.process, ProcessIdentity::this().unwrap().process);
        assert!(!identity.is_dead());
        drop(own);
        wait_for_removals();
        assert!(!path.exists());
    }
}
