//! Processes that the program's own children left behind.
//!
//! `burst-runtime serve` is process 1 of its container, or makes itself the reaper of its
//! descendants: what the program's children leave behind becomes its child. Such processes are
//! reaped while the program lives, and killed when it has ended. The program itself is never
//! reaped here: its own supervising thread waits for it.

use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, set_child_subreaper,
    waitid, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::descendants::children;

/// Children that somebody else waits for.
static SUPERVISED: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// Notified when a supervised child was reaped.
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

/// Records that a supervised child has been waited for.
pub(crate) fn reaped(process: i32) {
    supervised().retain(|other| *other != process);
    REAPED.notify_one();
}

/// Makes this process inherit orphans, and reaps them until the runtime ends.
///
/// Only for a process of its own, as it reaps every child that is not supervised.
///
/// # Errors
/// When the kernel refuses.
pub fn become_subreaper() -> io::Result<impl Future<Output = ()>> {
    set_child_subreaper(Some(getpid()))?;
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
        // The program was only stopped or continued.
        return;
    }
    for process in children(std::process::id() as i32) {
        let orphan = Pid::from_raw(process).filter(|_| !supervised.contains(&process));
        let Some(process) = orphan else {
            continue;
        };
        // It is our child and only this function reaps it, under the lock held here: nobody else can have its number.
        if supervised.is_empty() {
            let _ = kill_process(process, Signal::KILL);
        }
        let _ = waitpid(Some(process), WaitOptions::NOHANG);
    }
}

/// Returns whether a child of this process has ended and was not waited for.
fn any_ended() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, options), Ok(Some(_)))
}
