//! Attempts that a container must refuse, one function each.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, FileType, Gid, Mode, Uid, chown, makedev, mknodat};
use rustix::mount::{MountFlags, mount, mount_remount};
use rustix::net::{AddressFamily, Protocol, SocketType, ipproto, socket};
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, chroot, kill_process, pidfd_getfd, pidfd_open,
};
use rustix::system::sethostname;
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, move_into_link_name_space, set_capabilities,
    set_thread_gid, set_thread_uid, unshare_unsafe,
};
use rustix::time::{ClockId, clock_gettime, clock_settime};

type Attempt = (&'static str, fn() -> io::Result<()>);

const ALL: &[Attempt] = &[
    ("write to the root", || write("/escaped")),
    ("write where programs are", || {
        write("/usr/local/bin/escaped")
    }),
    ("replace the runtime", || {
        write("/usr/local/bin/burst-runtime")
    }),
    ("write to the package", || write("/package/escaped")),
    ("run what it wrote", || run_from("/tmp")),
    ("run what it shares", || run_from("/dev/shm")),
    ("become root", || Ok(set_thread_uid(Uid::ROOT)?)),
    ("join root's group", || Ok(set_thread_gid(Gid::ROOT)?)),
    ("take a capability", take_capability),
    ("open a raw socket", || {
        open_raw(AddressFamily::INET, Some(ipproto::ICMP))
    }),
    ("open a packet socket", || {
        open_raw(AddressFamily::PACKET, None)
    }),
    ("mount a file system", || {
        Ok(mount(
            "escaped",
            "/tmp",
            "tmpfs",
            MountFlags::empty(),
            None,
        )?)
    }),
    ("remount the root writable", || {
        Ok(mount_remount("/", MountFlags::empty(), "")?)
    }),
    ("give a file away", || {
        File::create("/tmp/given")?;
        Ok(chown("/tmp/given", Some(Uid::ROOT), None)?)
    }),
    ("make a device", || {
        let disk = makedev(8, 0);
        Ok(mknodat(
            CWD,
            "/tmp/disk",
            FileType::BlockDevice,
            Mode::RUSR,
            disk,
        )?)
    }),
    ("find a disk", find_disk),
    ("change the root", || Ok(chroot("/")?)),
    ("name the host", || Ok(sethostname(b"escaped")?)),
    ("set the clock", || {
        Ok(clock_settime(
            ClockId::Realtime,
            clock_gettime(ClockId::Realtime),
        )?)
    }),
    ("make a user name space", || unshare(UnshareFlags::NEWUSER)),
    ("make a mount name space", || unshare(UnshareFlags::NEWNS)),
    ("enter the runtime's name space", || {
        let space = File::open("/proc/1/ns/mnt")?;
        Ok(move_into_link_name_space(
            std::os::fd::AsFd::as_fd(&space),
            None,
        )?)
    }),
    ("take a descriptor of the runtime", || {
        take_descriptor().map(drop)
    }),
    ("write to the runtime's memory", || open("/proc/1/mem")),
    ("look through the runtime's root", || {
        fs::read_dir("/proc/1/root").map(drop)
    }),
    ("change the kernel's settings", || {
        open("/proc/sys/kernel/core_pattern")
    }),
    ("order the kernel about", || open("/proc/sysrq-trigger")),
    ("read the kernel's memory", || {
        File::open("/proc/kcore")?.read_exact(&mut [0])
    }),
    ("raise its limits", raise_limits),
    ("reach docker", || {
        UnixStream::connect("/run/docker.sock")
            .or_else(|_| UnixStream::connect("/var/run/docker.sock"))
            .map(drop)
    }),
    ("see other processes", see_processes),
    ("kill the runtime", || signal_first_process(Signal::KILL)),
    ("stop the runtime", || signal_first_process(Signal::STOP)),
];

/// The kind of error that each attempt met; none if it succeeded.
pub fn all() -> BTreeMap<&'static str, Option<String>> {
    let refused =
        |attempt: fn() -> io::Result<()>| attempt().err().map(|e| format!("{:?}", e.kind()));
    ALL.iter()
        .map(|(name, attempt)| (*name, refused(*attempt)))
        .collect()
}

/// Opens a file for writing, without writing to it.
fn open(path: impl AsRef<Path>) -> io::Result<()> {
    OpenOptions::new().write(true).open(path).map(drop)
}

fn open_raw(family: AddressFamily, protocol: Option<Protocol>) -> io::Result<()> {
    let raw = socket(family, SocketType::RAW, protocol);
    Ok(raw.map(drop)?)
}

fn write(path: &str) -> io::Result<()> {
    // Not truncated, in case it exists and can be opened.
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map(drop)
}

fn run_from(directory: &str) -> io::Result<()> {
    let copy = Path::new(directory).join("escaping");
    fs::copy("/proc/self/exe", &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    let run = Command::new(&copy).arg(crate::WHO).output();
    fs::remove_file(copy)?;
    run.map(drop)
}

fn take_capability() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.permitted |= CapabilitySet::SYS_ADMIN;
    sets.effective |= CapabilitySet::SYS_ADMIN;
    Ok(set_capabilities(None, sets)?)
}

fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: none of the flags used here separates the threads' descriptors.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

fn take_descriptor() -> io::Result<OwnedFd> {
    let runtime = pidfd_open(Pid::INIT, PidfdFlags::empty())?;
    Ok(pidfd_getfd(runtime, 0, PidfdGetfdFlags::empty())?)
}

fn find_disk() -> io::Result<()> {
    let disk = fs::read_dir("/dev")?
        .flatten()
        .find(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device()));
    disk.map(drop).ok_or(io::ErrorKind::NotFound.into())
}

/// In version 1 or version 2 of control groups.
fn raise_limits() -> io::Result<()> {
    let files = ["memory/memory.limit_in_bytes", "memory.max"];
    let path = files.map(|file| Path::new("/sys/fs/cgroup").join(file));
    let path = path.iter().find(|path| path.exists());
    let path = path.ok_or_else(|| io::Error::other("no control group in sight"))?;
    open(path)
}

/// Looks for processes other than the runtime and this program.
fn see_processes() -> io::Result<()> {
    let own = [1, std::process::id()];
    let other = (fs::read_dir("/proc")?.flatten())
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|process| !own.contains(process));
    other.map(drop).ok_or(io::ErrorKind::NotFound.into())
}

/// This user may send the signal, but the first process of a container ignores it.
fn signal_first_process(signal: Signal) -> io::Result<()> {
    kill_process(Pid::INIT, signal)?;
    let stat = fs::read_to_string("/proc/1/stat")?;
    match stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]) {
        Some("R" | "S") => Err(io::ErrorKind::Unsupported.into()),
        _ => Ok(()),
    }
}
