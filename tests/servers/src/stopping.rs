//! Waiting until signalled processes have stopped: they keep running for a moment if all processors
//! are busy.

use std::fs;
use std::path::Path;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::wait;

/// Sends a signal to a process. After `SIGSTOP`, returns once the process has stopped.
#[track_caller]
pub(crate) fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).unwrap();
    settle(process, signal);
}

/// Like [`signal`], for the whole group that the process leads.
#[track_caller]
pub(crate) fn signal_group(leader: &Child, signal: Signal) {
    kill_process_group(Pid::from_child(leader), signal).unwrap();
    settle(leader, signal);
}

#[track_caller]
fn settle(process: &Child, signal: Signal) {
    if signal == Signal::STOP {
        wait_until_stopped(process.id());
    }
}

/// Waits until no thread of a process, or of the group that it leads, is running.
#[track_caller]
fn wait_until_stopped(process: u32) {
    wait::until("the process to stop", wait::SOON, || {
        members(process)
            .iter()
            .all(|member| stands_still(member))
            .then_some(())
    });
}

fn members(leader: u32) -> Vec<String> {
    let leader = leader.to_string();
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(name)
    });
    processes
        .filter(|process| {
            let group = field(&Path::new("/proc").join(process), 2);
            *process == leader || group.as_deref() == Some(&leader)
        })
        .collect()
}

/// Returns whether all threads of a process are stopped. A process that has ended counts as
/// stopped.
fn stands_still(process: &str) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return true;
    };
    threads
        .filter_map(|thread| field(&thread.ok()?.path(), 0))
        .all(|state| matches!(state.as_str(), "T" | "Z" | "X"))
}

/// Returns a field of `stat` after the program's name, which can contain blanks: state, parent,
/// group.
fn field(directory: &Path, place: usize) -> Option<String> {
    let stat = fs::read_to_string(directory.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(place).map(str::to_owned)
}
