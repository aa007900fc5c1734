//! Processes that have been told to stop go on for a moment where all processors are busy.

use std::fs;
use std::path::Path;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::wait;

/// Sends a signal to a process. When that is to stop it has.
#[track_caller]
pub(crate) fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).unwrap();
    settle(process, signal);
}

/// As [`signal`], to all of the group that the process leads.
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

/// Waits until no thread of a process, or of the group that it leads, runs any more.
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

/// One that has ended does.
fn stands_still(process: &str) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return true;
    };
    threads
        .filter_map(|thread| field(&thread.ok()?.path(), 0))
        .all(|state| matches!(state.as_str(), "T" | "Z" | "X"))
}

/// What `stat` says after the program's name, which may have blanks: state, parent, group.
fn field(directory: &Path, place: usize) -> Option<String> {
    let stat = fs::read_to_string(directory.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(place).map(str::to_owned)
}
