//! Processes that the program's own children left behind.
//!
//! `burst-runtime serve` is process 1 of its container, or makes itself the reaper of its
//! descendants: what the program's children leave behind becomes its child. Such processes are
//! reaped while the program lives, and killed when it has ended. The program itself is never
//! reaped here: its own supervising thread waits for it.

use std::fs;
use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// Children that somebody else waits for.
static SUPERVISED: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// A supervised child was buried.
static BURIED: Notify = Notify::const_new();

fn supervised() -> MutexGuard<'static, Vec<i32>> {
    SUPERVISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child and registers it in one step, so that it is never mistaken for an orphan.
pub(crate) fn adopted_are_ours(
    start: impl FnOnce() -> io::Result<(Child, i32)>,
) -> io::Result<Child> {
    let mut supervised = supervised();
    let (child, process) = start()?;
    supervised.push(process);
    Ok(child)
}

/// A supervised child has been waited for.
pub(crate) fn buried(process: i32) {
    supervised().retain(|other| *other != process);
    BURIED.notify_one();
}

/// Becomes the one who inherits orphans, and cares for them until the runtime ends.
///
/// For a process of its own only: it reaps every child that is not supervised.
///
/// # Errors
/// When the kernel refuses.
pub fn adopt() -> io::Result<impl Future<Output = ()>> {
    // SAFETY: sets an attribute of this process.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut ended = signal(SignalKind::child())?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = ended.recv() => {}
                () = BURIED.notified() => {}
            }
            care();
        }
    })
}

/// Kills all orphans if no program runs, then reaps those that have ended.
pub fn care() {
    let supervised = supervised();
    for process in children() {
        if supervised.contains(&process) {
            continue;
        }
        // SAFETY: plain system calls; the process is our child and only this function reaps it,
        // under the lock held here, so the number is its own.
        unsafe {
            if supervised.is_empty() {
                libc::kill(process, libc::SIGKILL);
            }
            libc::waitpid(process, std::ptr::null_mut(), libc::WNOHANG);
        }
    }
}

/// This process's children.
fn children() -> Vec<i32> {
    let ours = std::process::id().to_string();
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|process| {
            fs::read_to_string(format!("/proc/{process}/stat"))
                .is_ok_and(|stat| parent_in(&stat) == Some(&ours))
        })
        .collect()
}

/// The parent's number in a line of `/proc/<pid>/stat`. The name before it may hold anything.
fn parent_in(stat: &str) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in("12 (a) b (c)) S 7 1 1"), Some("7"));
        assert_eq!(parent_in("nonsense"), None);
    }
}
