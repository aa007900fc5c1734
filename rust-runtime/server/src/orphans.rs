//! Processes that the program's own children left behind.
//!
//! `burst-runtime serve` is process 1 of its container, or makes itself the reaper of its
//! descendants: what the program's children leave behind becomes its child. Such processes are
//! reaped while the program lives, and killed when it has ended. The program itself is never
//! reaped here: its own supervising thread waits for it.

use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::descendants::children;

/// Children that somebody else waits for.
static SUPERVISED: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// A supervised child was buried.
static REAPED: Notify = Notify::const_new();

fn supervised() -> MutexGuard<'static, Vec<i32>> {
    SUPERVISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child and registers it in one step, so that it is never mistaken for an orphan.
pub(crate) fn spawn_supervised(
    start: impl FnOnce() -> io::Result<(Child, i32)>,
) -> io::Result<Child> {
    let mut supervised = supervised();
    let (child, process) = start()?;
    supervised.push(process);
    Ok(child)
}

/// A supervised child has been waited for.
pub(crate) fn reaped(process: i32) {
    supervised().retain(|other| *other != process);
    REAPED.notify_one();
}

/// Becomes the one who inherits orphans, and cares for them until the runtime ends.
///
/// For a process of its own only: it reaps every child that is not supervised.
///
/// # Errors
/// When the kernel refuses.
pub fn become_subreaper() -> io::Result<impl Future<Output = ()>> {
    // SAFETY: takes numbers alone and reads no memory of ours; the attribute makes no difference to what Rust code
    // may assume, only to whose children others become.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut ended = signal(SignalKind::child())?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = ended.recv() => {}
                () = REAPED.notified() => {}
            }
            reap();
        }
    })
}

/// Kills all orphans if no program runs, then reaps those that have ended.
pub fn reap() {
    let supervised = supervised();
    if !supervised.is_empty() && !any_ended() {
        // The program was stopped, or goes on.
        return;
    }
    for process in children(std::process::id() as i32) {
        if supervised.contains(&process) {
            continue;
        }
        // SAFETY: numbers alone, and null where `waitpid` may put the status, which it then leaves out. The process is
        // our child and only this function reaps it, under the lock held here: nobody else can have its number.
        unsafe {
            if supervised.is_empty() {
                libc::kill(process, libc::SIGKILL);
            }
            libc::waitpid(process, std::ptr::null_mut(), libc::WNOHANG);
        }
    }
}

/// Whether a child of this process has ended and was not waited for.
fn any_ended() -> bool {
    // SAFETY: `siginfo_t` is integers and pointers, of which all zeroes is a valid value; the call fills it, or leaves
    // it as it is where none has ended. `si_pid` reads a field that is there for SIGCHLD, which is all that `waitid`
    // tells of, and zero otherwise.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_ALL, 0, &mut info, options) == 0 && info.si_pid() != 0
    }
}
