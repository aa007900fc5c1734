//! The descendants of a process, as listed in the kernel's `/proc`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::proc_file;

/// A process, distinguished from a later one with the same number by when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) number: i32,
    pub(crate) began: u64,
}

impl Process {
    /// Returns the process that has this number, if it can be seen.
    pub(crate) fn of(number: i32) -> Option<Self> {
        Stat::of(number).map(|stat| stat.process)
    }

    /// Kills it, but not another process that has its number since then.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// Returns whether it gets no processor time, because it was stopped or has ended.
    pub(crate) fn rests(self) -> bool {
        Stat::of(self.number).is_none_or(|stat| stat.process != self || stat.rests)
    }

    pub(crate) fn signal(self, wanted: Signal) {
        let Some(number) = Pid::from_raw(self.number) else {
            return;
        };
        let handle = pidfd_open(number, PidfdFlags::empty());
        if Stat::of(self.number).is_some_and(|stat| stat.process == self) {
            let _ = match handle {
                Ok(handle) => pidfd_send_signal(handle, wanted),
                // Linux before 5.3 has no such handles: the number was its own a moment ago.
                Err(_) => kill_process(number, wanted),
            };
        }
    }
}

/// Returns the descendants of a process that have not ended.
pub(crate) fn below(ancestor: i32) -> Vec<Process> {
    look_below(ancestor).0
}

/// Returns the same, and how many there are including those that have ended but were not waited for.
pub(crate) fn look_below(ancestor: i32) -> (Vec<Process>, usize) {
    let all = family_of(ancestor);
    let living = all.iter().filter(|stat| !stat.ended);
    (living.map(|stat| stat.process).collect(), all.len())
}

fn family_of(ancestor: i32) -> Vec<Stat> {
    let family = Family::now();
    let (mut found, mut parents) = (Vec::new(), vec![ancestor]);
    while let Some(parent) = parents.pop() {
        let children = family.children(parent);
        parents.extend(children.iter().map(|child| child.process.number));
        found.extend(children);
    }
    found
}

/// Returns the children of a process that have not ended.
pub(crate) fn living_children(parent: i32) -> Vec<Process> {
    let children = Family::now().children(parent).into_iter();
    children
        .filter(|child| !child.ended)
        .map(|child| child.process)
        .collect()
}

/// Returns the children of a process, whether they have ended or not.
pub(crate) fn children(parent: i32) -> Vec<i32> {
    let children = Family::now().children(parent);
    children.iter().map(|child| child.process.number).collect()
}

/// Whether the kernel lists each thread's children. Not all do.
static LISTED: LazyLock<bool> = LazyLock::new(|| Path::new("/proc/thread-self/children").exists());

enum Family {
    /// The children are read for each parent.
    Listed,
    /// All processes, by parent.
    Known(HashMap<i32, Vec<Stat>>),
}

impl Family {
    fn now() -> Self {
        if *LISTED {
            return Self::Listed;
        }
        let mut known: HashMap<i32, Vec<Stat>> = HashMap::new();
        for number in numbers("/proc") {
            if let Some(stat) = Stat::of(number) {
                known.entry(stat.parent).or_default().push(stat);
            }
        }
        Self::Known(known)
    }

    fn children(&self, parent: i32) -> Vec<Stat> {
        match self {
            Self::Known(known) => known.get(&parent).cloned().unwrap_or_default(),
            Self::Listed => numbers(&format!("/proc/{parent}/task"))
                .filter_map(|thread| {
                    proc_file::read_text(format!("/proc/{parent}/task/{thread}/children")).ok()
                })
                .flat_map(|list| {
                    let numbers = list.split_ascii_whitespace();
                    let numbers = numbers.filter_map(|number| number.parse().ok());
                    numbers.filter_map(Stat::of).collect::<Vec<_>>()
                })
                .collect(),
        }
    }
}

fn numbers(directory: &str) -> impl Iterator<Item = i32> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fields of `/proc/<number>/stat` that are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    process: Process,
    parent: i32,
    ended: bool,
    rests: bool,
}

impl Stat {
    fn of(number: i32) -> Option<Self> {
        Self::parse(
            number,
            &proc_file::read(format!("/proc/{number}/stat")).ok()?,
        )
    }

    /// Parses the line. The name, in brackets, may contain anything.
    fn parse(number: i32, line: &[u8]) -> Option<Self> {
        let name_ends = line.iter().rposition(|&byte| byte == b')')?;
        let mut fields = std::str::from_utf8(&line[name_ends + 1..])
            .ok()?
            .split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let threads: u64 = fields.nth(15)?.parse().ok()?;
        let began = fields.nth(1)?.parse().ok()?;
        Some(Self {
            process: Process { number, began },
            parent,
            // The state is that of the first thread; others may go on without it.
            ended: matches!(state, "Z" | "X") && threads <= 1,
            rests: matches!(state, "T" | "t" | "Z" | "X"),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    #[test]
    fn the_fields_are_found_after_any_name() {
        let rest = "S 7 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 815 1 1";
        let parse = |rest: &str| {
            Stat::parse(12, format!("12 (a) Z 1 (\u{fffd})) {rest}").as_bytes()).unwrap()
        };
        let stat = parse(rest);
        assert_eq!((stat.parent, stat.ended, stat.rests), (7, false, false));
        assert!(parse(&rest.replace('S', "T")).rests);
        assert!(parse(&rest.replace('S', "Z")).ended);
        assert!(!parse(&rest.replace('S', "Z").replace("20 0 1", "20 0 2")).ended);
        assert_eq!((stat.process.number, stat.process.began), (12, 815));
        assert!(Stat::parse(1, b"1 (a) Z 7").is_none());
        assert!(Stat::parse(1, b"nonsense").is_none());
    }

    #[test]
    fn a_process_goes_on_without_its_first_thread() {
        // SAFETY: the child uses nothing that another thread of this process may have locked except the allocator,
        // which supports that, and its first thread ends without running anything else.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                std::thread::spawn(|| {
                    loop {
                        std::thread::park();
                    }
                });
                libc::syscall(libc::SYS_exit, 0);
            }
            child
        };
        let stat = || fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
        while !stat().contains(") Z ") {
            std::thread::yield_now();
        }
        let left = below(std::process::id() as i32);
        let left = left.iter().find(|process| process.number == child).unwrap();
        left.kill();
        // SAFETY: waits for a child of this process, without storing its status.
        let waited = unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        assert_eq!(waited, child);
    }

    #[test]
    fn a_grandchild_is_killed_and_no_other_process_of_its_number() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & wait"])
            .spawn()
            .unwrap();
        let parent = child.id() as i32;
        let sleeper = loop {
            if let [sleeper] = below(parent)[..] {
                break sleeper;
            }
        };
        let earlier = Process {
            began: sleeper.began - 1,
            ..sleeper
        };
        earlier.kill();
        assert_eq!(below(parent), [sleeper]);
        sleeper.kill();
        child.wait().unwrap();
        assert!(!below(std::process::id() as i32).contains(&sleeper));
    }
}
