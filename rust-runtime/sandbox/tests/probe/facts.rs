//! What a process in a sandbox finds in its environment.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;

use rustix::process::{Resource, getgid, getpid, getrlimit, getuid};
use serde_json::{Value, json};

pub fn all(options: &[&str]) -> io::Result<Value> {
    let status = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let found = status.lines().find_map(|line| line.strip_prefix(name));
        found.map(|value| value.trim_start_matches(':').trim().to_owned())
    };
    let status: BTreeMap<&str, Option<String>> = [
        "CapInh",
        "CapPrm",
        "CapEff",
        "CapBnd",
        "CapAmb",
        "NoNewPrivs",
        "Seccomp",
        "Seccomp_filters",
        "Groups",
    ]
    .map(|name| (name, field(name)))
    .into();
    let most = |resource| getrlimit(resource).maximum;
    Ok(json!({
        "options": options,
        "pid": getpid().as_raw_nonzero(),
        "uid": getuid().as_raw(),
        "gid": getgid().as_raw(),
        "status": status,
        "descriptors": descriptors()?,
        "root": names("/")?,
        "etc": names("/etc").unwrap_or_default(),
        "dev": names("/dev")?,
        "sys": names("/sys").unwrap_or_default(),
        "processes": names("/proc")?.into_iter().filter(|name| name.parse::<u32>().is_ok()).collect::<Vec<_>>(),
        "cards": cards()?,
        "loopback": talks_to_itself().is_ok(),
        "host": fs::read_to_string("/proc/sys/kernel/hostname")?.trim(),
        "namespaces": namespaces()?,
        "package": names("/package")?,
        "variable": std::env::var("GIVEN").ok(),
        "core": most(Resource::Core),
        "files": most(Resource::Nofile),
        "urgency": most(Resource::Rtprio),
        "nice": most(Resource::Nice),
        "writable": writable()?,
        "processors": std::thread::available_parallelism()?.get(),
        "members": fs::read_to_string("/sys/fs/cgroup/memory/cgroup.procs").ok(),
        "memory": fs::read_to_string("/sys/fs/cgroup/memory/memory.limit_in_bytes").ok(),
    }))
}

fn names(directory: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Open descriptors and what they refer to, except the one that lists them.
fn descriptors() -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for number in names("/proc/self/fd")? {
        if let Ok(target) = fs::read_link(format!("/proc/self/fd/{number}")) {
            found.insert(number, target.to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

fn cards() -> io::Result<Vec<String>> {
    let table = fs::read_to_string("/proc/net/dev")?;
    let cards = table.lines().filter_map(|line| line.split_once(':'));
    Ok(cards.map(|(name, _)| name.trim().to_owned()).collect())
}

fn talks_to_itself() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut stream = TcpStream::connect(listener.local_addr()?)?;
    stream.write_all(b"hello")?;
    stream.shutdown(Shutdown::Both)
}

fn namespaces() -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for name in names("/proc/self/ns")? {
        let link = fs::read_link(Path::new("/proc/self/ns").join(&name))?;
        found.insert(name, link.to_string_lossy().into_owned());
    }
    Ok(found)
}

/// Mounts that are not read-only.
fn writable() -> io::Result<Vec<String>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let writable = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(4);
        let (target, flags) = (fields.next()?, fields.next()?);
        (!flags.split(',').any(|flag| flag == "ro")).then(|| target.to_owned())
    });
    let mut writable: Vec<_> = writable.collect();
    writable.sort();
    Ok(writable)
}
