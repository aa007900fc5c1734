//! Cleaning up after a flare on a pack that stays warm.
//!
//! | left by the flare | treatment |
//! | --- | --- |
//! | processes, except those in which a launcher runs its workers | killed before the flare's end is reported, and again when the program is stopped |
//! | files in the directories that are the pack's own | removed before the flare's end is reported; a group's stay, and so do those in the pack's own copy of the package |
//! | System V queues, semaphores, shared memory | the pack is not used again |
//! | threads that go on computing | the program is killed when they are seen to do so twice, a moment apart |
//! | threads that wait | stopped with the program until the next flare |
//! | timers that continue the stopped program | the program is killed when one does |

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::descendants::{self, Process};
use crate::last_start::LastStart;
use crate::limits;
use crate::patience::elapsed;
use crate::scratch;
use crate::supervisor::Program;

/// Removes what a flare has left, except what the next one of its group may look for. Returns whether the pack can be
/// used again, which it cannot if this takes too long.
pub(crate) async fn clean_up(program: &Program, grouped: bool) -> bool {
    tokio::select! {
        cleaned = removed(program, grouped) => cleaned,
        () = elapsed(limits::CLEARING) => false,
    }
}

fn removed(program: &Program, grouped: bool) -> impl Future<Output = bool> + use<> {
    let killed = kill_descendants(program);
    let few = FEW + program.workers().len();
    let package = program.directory().to_owned();
    let own = scratch::directories().filter(|_| !grouped);
    async move {
        let Some((killed, left)) = killed else {
            return false;
        };
        let gone = killed.is_empty() && left <= few;
        if !gone && !are_gone(&killed, few).await {
            return false;
        }
        let Some(own) = own else {
            return true;
        };
        if has_objects(Path::new("/proc/sysvipc")) {
            return false;
        }
        let clearing = tokio::task::spawn_blocking(move || clear(own, &package).is_ok());
        clearing.await.unwrap_or(false)
    }
}

/// Kills all processes below the runtime except the program and its workers' processes. Returns those that it killed,
/// and how many processes, including ended ones, there were in the last pass; none if others keep appearing.
pub(crate) fn kill_descendants(program: &Program) -> Option<(HashSet<Process>, usize)> {
    let leader = program.group.number()?;
    let mut killed = HashSet::new();
    if let Some(all) = program.processes_if_still_alone() {
        return Some((killed, all));
    }
    let workers = program.workers();
    for _ in 0..PASSES {
        let last_start = LastStart::now();
        let (mut left, all) = descendants::look_below(std::process::id() as i32);
        left.retain(|process| {
            let stays = process.number == leader || workers.contains(process);
            !stays && !killed.contains(process)
        });
        if left.is_empty() {
            program.note_alone(last_start.filter(|_| killed.is_empty()), all);
            return Some((killed, all));
        }
        left.iter().for_each(|process| process.kill());
        killed.extend(left);
    }
    None
}

/// Waits until the killed processes have ended, as the next flare would see them otherwise, and until at most `few`
/// processes are left, including ended ones that the program has not waited for, as each counts towards the pack's
/// limit. Returns whether that was reached: a program that now waits for its next flare may never wait for them.
async fn are_gone(killed: &HashSet<Process>, few: usize) -> bool {
    let own = std::process::id() as i32;
    let (mut pause, mut patience) = (FIRST_PAUSE, limits::REAPING);
    loop {
        let (living, all) = descendants::look_below(own);
        if !living.iter().any(|it| killed.contains(it)) {
            if all <= few || patience.is_zero() {
                return all <= few;
            }
            patience = patience.saturating_sub(pause);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Returns whether this user has System V IPC objects, by the kernel's tables, each of which begins with a line of
/// headings.
fn has_objects(directory: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw().to_string();
    ["msg", "sem", "shm"].iter().any(|kind| {
        let table = fs::read_to_string(directory.join(kind)).unwrap_or_default();
        let mut lines = table.lines().map(str::split_ascii_whitespace);
        let column = lines
            .next()
            .and_then(|mut names| names.position(|name| name == "uid"));
        column.is_some_and(|column| lines.any(|mut line| line.nth(column) == Some(&user)))
    })
}

/// Empties directories, except for what contains the package. Blocks on file I/O.
fn clear(directories: &[PathBuf], package: &Path) -> io::Result<()> {
    for directory in directories {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if package.starts_with(&path) {
                continue;
            }
            let removed = match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(path),
                false => fs::remove_file(path),
            };
            // The program is still running, and may remove its own files.
            match removed {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

/// Kills a program that can no longer be used, and what it may have started since the last look for processes.
pub(crate) fn kill_all(program: &Program) {
    program.group.kill();
    program.workers().iter().for_each(|worker| worker.kill());
    kill_descendants(program);
}

/// How often to look for processes that others have started in the meantime.
const PASSES: u32 = 100;

/// The pauses between checks of the killed processes, most of which end immediately.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LAST_PAUSE: Duration = Duration::from_millis(50);

/// How many processes below the runtime the next flare may find besides workers: the program, and otherwise ended ones.
const FEW: usize = 8;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn all_is_removed_but_the_package_and_targets_of_links() {
        let root = tempfile::tempdir().unwrap();
        let (own, other) = (root.path().join("own"), root.path().join("other"));
        let package = own.join("package/unpacked");
        for directory in [&package, &own.join("deep/er"), &other] {
            fs::create_dir_all(directory).unwrap();
        }
        for file in [&package, &own.join("deep/er"), &own, &other] {
            fs::write(file.join("file"), "left").unwrap();
        }
        std::os::unix::fs::symlink(&other, own.join("deep/link")).unwrap();
        std::os::unix::fs::symlink(&other, own.join("link")).unwrap();
        clear(std::slice::from_ref(&own), &package).unwrap();
        let left: Vec<_> = fs::read_dir(&own).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(package.join("file").exists() && other.join("file").exists());
    }

    #[test]
    fn a_directory_that_cannot_be_emptied_is_reported() {
        let root = tempfile::tempdir().unwrap();
        let (none, file) = (root.path().join("none"), root.path().join("file"));
        fs::write(&file, "").unwrap();
        assert!(clear(&[none], Path::new("/package")).is_ok());
        assert!(clear(&[file], Path::new("/package")).is_err());
    }

    #[test]
    fn objects_are_recognised_by_their_owner() {
        let root = tempfile::tempdir().unwrap();
        assert!(!has_objects(root.path()));
        // SAFETY: takes nothing, touches no memory and cannot fail.
        let user = unsafe { libc::geteuid() };
        for (table, has) in [
            (" key semid uid\n".to_owned(), false),
            (format!(" key semid uid\n 0 {user} {}\n", user + 1), false),
            (
                format!(" key semid uid\n 0 1 {}\n 0 2 {user}\n", user + 1),
                true,
            ),
        ] {
            fs::write(root.path().join("sem"), table).unwrap();
            assert_eq!(has_objects(root.path()), has);
        }
    }
}
