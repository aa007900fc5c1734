//! Processes of this machine and the ports they listen on, read from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// A live process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its id, which another process may get after it.
    pub pid: u32,
    /// Its start time, in ticks of the kernel's clock.
    pub started: u64,
    /// Its command line, arguments separated by blanks.
    pub command: String,
}

/// The live processes that belong to a platform: those in its session while it has one, those that inherited its
/// `token` in their environment, those that mention its `data` directory, and all descendants of these. Four nets,
/// since a driver may legitimately start packs in a session of their own, with an empty environment and with no path of
/// this machine.
pub fn of_platform(session: Option<u32>, token: &str, data: &Path) -> BTreeSet<Process> {
    let data = data.to_str().unwrap();
    let own = std::process::id();
    let all: Vec<(Process, Stat)> = pids()
        .filter(|pid| *pid != own)
        .filter_map(|pid| {
            let (stat, command) = (Stat::of(pid)?, command_line(pid)?);
            let started = stat.started;
            let process = Process {
                pid,
                started,
                command,
            };
            (stat.state != 'Z').then_some((process, stat))
        })
        .collect();
    let mut known: BTreeSet<u32> = (all.iter())
        .filter(|(Process { pid, command, .. }, stat)| {
            session == Some(stat.session)
                || contains(&fs::read(proc(*pid, "environ")).unwrap_or_default(), token)
                || command.contains(data)
                || ["cwd", "exe"].iter().any(|link| {
                    fs::read_link(proc(*pid, link))
                        .is_ok_and(|path| path.to_string_lossy().starts_with(data))
                })
        })
        .map(|(process, _)| process.pid)
        .collect();
    // A child can have a smaller id than its parent.
    while let Some((process, _)) = (all.iter())
        .find(|(process, stat)| known.contains(&stat.parent) && !known.contains(&process.pid))
    {
        known.insert(process.pid);
    }
    (all.into_iter())
        .map(|(process, _)| process)
        .filter(|process| known.contains(&process.pid))
        .collect()
}

/// TCP ports on which one of the processes listens.
pub fn listening_ports(processes: &BTreeSet<Process>) -> BTreeSet<u16> {
    let sockets: BTreeSet<String> = processes
        .iter()
        .flat_map(|process| sockets(process.pid))
        .collect();
    listeners()
        .into_iter()
        .filter(|(inode, _)| sockets.contains(&format!("socket:[{inode}]")))
        .map(|(_, port)| port)
        .collect()
}

/// The sockets that listen on a TCP port, by inode: a later listener on the port has another inode.
pub fn listeners_on(port: u16) -> BTreeSet<String> {
    let own = listeners().into_iter().filter(|(_, own)| *own == port);
    own.map(|(inode, _)| inode).collect()
}

/// The inodes and ports of all listening sockets of this machine.
fn listeners() -> Vec<(String, u16)> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| {
            table
                .lines()
                .skip(1)
                .filter_map(listener)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns whether a process's environment or writable memory contains these bytes; false for a process that has ended.
pub fn holds(pid: u32, needle: &str) -> bool {
    let finder = memchr::memmem::Finder::new(needle);
    let Ok(memory) = fs::File::open(proc(pid, "mem")) else {
        return false;
    };
    let environment = fs::read(proc(pid, "environ")).unwrap_or_default();
    let maps = fs::read_to_string(proc(pid, "maps")).unwrap_or_default();
    finder.find(&environment).is_some()
        || maps.lines().filter_map(writable).any(|range| {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            // Memory that the process released between the two reads contains nothing.
            memory.read_exact_at(&mut bytes, range.start).is_ok() && finder.find(&bytes).is_some()
        })
}

/// The file name of the program a process runs; none when it has ended.
pub fn program(pid: u32) -> Option<String> {
    let path = fs::read_link(proc(pid, "exe")).ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// The addresses of a line of `maps`, if they are writable.
fn writable(line: &str) -> Option<std::ops::Range<u64>> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).unwrap();
    rest.starts_with("rw").then(|| address(start)..address(end))
}

/// Names of a process's threads; none if it has ended.
pub fn threads(pid: u32) -> Vec<String> {
    let Ok(tasks) = fs::read_dir(proc(pid, "task")) else {
        return Vec::new();
    };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .collect()
}

/// The resident memory of a process, in bytes.
pub fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(proc(pid, "status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kibibytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kibibytes * 1024
}

/// The processor time that a process has used, to a hundredth of a second.
pub fn processor_time(pid: u32) -> Duration {
    Stat::of(pid).expect("the process lives").used
}

/// The same, plus the time used by its children that have ended; zero if the process itself has ended.
pub fn processor_time_of_family(pid: u32) -> Duration {
    Stat::of(pid).map_or(Duration::ZERO, |stat| stat.used + stat.used_by_children)
}

/// The busy time of all processors of this machine together.
pub fn busy_time() -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let fields = stat.lines().next().unwrap().split_whitespace().skip(1);
    let ticks: Vec<u64> = fields.map(|field| field.parse().unwrap()).collect();
    // User, nice and system; then idle and waiting for disks; then interrupts.
    of_ticks(ticks[..3].iter().chain(&ticks[5..7]).sum())
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_secs(ticks) / rustix::param::clock_ticks_per_second() as u32
}

/// Returns whether a process with this id exists.
pub fn lives(pid: u32) -> bool {
    Stat::of(pid).is_some()
}

/// Returns whether it has been stopped by a signal.
pub fn is_stopped(pid: u32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.state == 'T')
}

/// The parent of this process, while it lives.
pub fn parent(pid: u32) -> Option<u32> {
    Stat::of(pid).map(|stat| stat.parent)
}

struct Stat {
    state: char,
    parent: u32,
    session: u32,
    used: Duration,
    used_by_children: Duration,
    started: u64,
}

impl Stat {
    /// Parses fields 3, 4, 6, 14 to 17 and 22 of `/proc/<pid>/stat`; the fields before can contain blanks and brackets.
    fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(proc(pid, "stat")).ok()?;
        let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let user: u64 = fields.nth(7)?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        let children: u64 = fields.next()?.parse().ok()?;
        let in_kernel: u64 = fields.next()?.parse().ok()?;
        let started = fields.nth(4)?.parse().ok()?;
        Some(Self {
            state,
            parent,
            session,
            used: of_ticks(user + system),
            used_by_children: of_ticks(children + in_kernel),
            started,
        })
    }
}

/// Inode and port of a line of `/proc/net/tcp` in state LISTEN.
fn listener(line: &str) -> Option<(String, u16)> {
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let port = u16::from_str_radix(fields.get(1)?.rsplit(':').next()?, 16).ok()?;
    (*fields.get(3)? == LISTEN).then(|| (fields[9].to_owned(), port))
}

/// The sockets that a process holds, by name.
pub fn sockets(pid: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(proc(pid, "fd")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .filter(|target| target.starts_with("socket:"))
        .collect()
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn command_line(pid: u32) -> Option<String> {
    let bytes = fs::read(proc(pid, "cmdline")).ok()?;
    Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
}

fn proc(pid: u32, file: &str) -> String {
    format!("/proc/{pid}/{file}")
}

fn contains(bytes: &[u8], needle: &str) -> bool {
    bytes
        .windows(needle.len())
        .any(|window| window == needle.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn processes_are_found_by_their_environment_until_they_end() {
        let mut child = Command::new("sleep")
            .arg("60")
            .env("TOKEN", "of-the-test")
            .spawn()
            .unwrap();
        // The kernel resumes the parent a moment before the child's new environment can be read.
        crate::wait::until_seen(
            "the child is found",
            crate::wait::SOON,
            || of_platform(None, "of-the-test", Path::new("/no/such/data")),
            |found| found.iter().any(|process| process.pid == child.id()),
        );
        child.kill().unwrap();
        // Not waited for yet: a zombie does not count as running.
        let gone = crate::wait::until_seen(
            "the child is gone",
            crate::wait::SOON,
            || of_platform(None, "of-the-test", Path::new("/no/such/data")),
            BTreeSet::is_empty,
        );
        assert!(gone.is_empty());
        child.wait().unwrap();
    }

    #[test]
    fn only_ports_of_the_given_processes_are_listed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = Process {
            pid: std::process::id(),
            started: 0,
            command: String::new(),
        };
        assert!(listening_ports(&[own.clone()].into()).contains(&port));
        drop(listener);
        assert!(!listening_ports(&[own].into()).contains(&port));
        assert!(listening_ports(&BTreeSet::new()).is_empty());
    }
}
