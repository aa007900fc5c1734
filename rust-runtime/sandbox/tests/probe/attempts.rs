//! Attempts to get out of a sandbox, and the result of each.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::net::{AddressFamily, SocketType, netlink, socket};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use serde_json::{Map, Value};

use crate::Failure;

type Attempt = (&'static str, fn() -> io::Result<()>);

const ALL: &[Attempt] = &[
    ("write to the root", || write("/escaped")),
    ("write to the package", || write("/package/escaped")),
    ("write to a library's directory", || {
        write("/usr/lib/escaped")
    }),
    ("replace the runtime", || open("/run/burst/burst-runtime")),
    ("make the package writable", || {
        remount("/package", libc::MS_BIND | libc::MS_REMOUNT)
    }),
    ("run what it wrote", || run_from("/tmp")),
    ("run what it shares", || run_from("/dev/shm")),
    ("read the machine's users", || {
        File::open("/etc/shadow").map(drop)
    }),
    ("read root's files", || fs::read_dir("/root").map(drop)),
    ("read users' files", || fs::read_dir("/home").map(drop)),
    ("read the machine's state", || {
        fs::read_dir("/var").map(drop)
    }),
    ("read this test's files", || {
        File::open(variable("HIDDEN")?).map(drop)
    }),
    ("look through process 1's root", || {
        File::open("/proc/1/root/etc/shadow").map(drop)
    }),
    ("look through a link", || {
        symlink("/proc/self/cwd/../../../../etc/shadow", "/tmp/link")?;
        File::open("/tmp/link").map(drop)
    }),
    ("become root", || call(libc::SYS_setuid, [0, 0, 0])),
    ("join root's group", || call(libc::SYS_setgid, [0, 0, 0])),
    ("join groups", || call(libc::SYS_setgroups, [0, 0, 0])),
    ("take a capability", take_capability),
    ("mount a file system", || remount("/tmp", 0)),
    ("mount by the newer calls", || {
        call(libc::SYS_fsopen, [c"tmpfs".as_ptr() as i64, 0, 0])
    }),
    ("copy a mount", || {
        call(
            libc::SYS_open_tree,
            [libc::AT_FDCWD.into(), c"/".as_ptr() as i64, 1],
        )
    }),
    ("unmount", || {
        call(libc::SYS_umount2, [c"/proc".as_ptr() as i64, 2, 0])
    }),
    ("change the root", || {
        call(libc::SYS_chroot, [c"/".as_ptr() as i64, 0, 0])
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
    ("make a user name space", || {
        call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0])
    }),
    ("make a mount name space", || {
        call(libc::SYS_unshare, [libc::CLONE_NEWNS.into(), 0, 0])
    }),
    ("begin in a user name space", || {
        let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
        call(libc::SYS_clone, [flags.into(), 0, 0])
    }),
    ("begin in any other way", || {
        call(libc::SYS_clone3, [0, 0, 0])
    }),
    ("enter a name space", || {
        let space = File::open("/proc/self/ns/mnt")?;
        call(libc::SYS_setns, [space.as_raw_fd().into(), 0, 0])
    }),
    ("trace a process", || call(libc::SYS_ptrace, [0, 0, 0])),
    ("read a process's memory", || {
        call(libc::SYS_process_vm_readv, [1, 0, 0])
    }),
    ("take a descriptor of another", || {
        let first = rustix::process::pidfd_open(Pid::INIT, rustix::process::PidfdFlags::empty())?;
        call(libc::SYS_pidfd_getfd, [first.as_raw_fd().into(), 0, 0])
    }),
    ("see other processes", see_processes),
    ("open a raw socket", || {
        Ok(socket(
            AddressFamily::INET,
            SocketType::RAW,
            Some(rustix::net::ipproto::ICMP),
        )
        .map(drop)?)
    }),
    ("open a packet socket", || {
        Ok(socket(AddressFamily::PACKET, SocketType::RAW, None).map(drop)?)
    }),
    ("open a socket to the hypervisor", || {
        Ok(socket(AddressFamily::VSOCK, SocketType::STREAM, None).map(drop)?)
    }),
    ("ask the kernel's crypto", || {
        Ok(socket(AddressFamily::from_raw(38), SocketType::SEQPACKET, None).map(drop)?)
    }),
    ("pair sockets to the hypervisor", || pair(libc::AF_VSOCK)),
    ("ask the kernel's firewall", || {
        let family = AddressFamily::NETLINK;
        Ok(socket(family, SocketType::RAW, Some(netlink::NETFILTER)).map(drop)?)
    }),
    ("change a network card", || {
        let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        call(
            libc::SYS_ioctl,
            [any.as_raw_fd().into(), libc::SIOCSIFFLAGS as i64, 0],
        )
    }),
    ("type on a terminal", || {
        call(libc::SYS_ioctl, [1, libc::TIOCSTI as i64, 0])
    }),
    ("reach the machine's ports", || {
        TcpStream::connect(variable("PORT")?).map(drop)
    }),
    ("reach the internet", || {
        let anywhere = "192.0.2.1:80".parse().map_err(io::Error::other)?;
        TcpStream::connect_timeout(&anywhere, std::time::Duration::from_secs(1)).map(drop)
    }),
    ("reach the machine's abstract sockets", || {
        let address = SocketAddr::from_abstract_name(variable("ABSTRACT")?)?;
        UnixStream::connect_addr(&address).map(drop)
    }),
    ("reach docker", || {
        UnixStream::connect("/run/docker.sock").map(drop)
    }),
    ("find shared memory of the machine", || {
        let key = variable("SHARED")?.parse().map_err(io::Error::other)?;
        call(libc::SYS_shmget, [key, 1, 0])
    }),
    ("find a disk", || File::open("/dev/vda").map(drop)),
    ("name the host", || {
        call(libc::SYS_sethostname, [c"out".as_ptr() as i64, 3, 0])
    }),
    ("set the clock", || call(libc::SYS_clock_settime, [0, 0, 0])),
    ("load a module", || call(libc::SYS_init_module, [0, 0, 0])),
    ("load a program into the kernel", || {
        call(libc::SYS_bpf, [0, 0, 0])
    }),
    ("watch the machine's counters", || {
        call(libc::SYS_perf_event_open, [0, 0, 0])
    }),
    ("handle page faults", || {
        call(libc::SYS_userfaultfd, [0, 0, 0])
    }),
    ("use a ring of the kernel's", || {
        call(libc::SYS_io_uring_setup, [1, 0, 0])
    }),
    ("take places for input and output", || {
        let mut context = 0_u64;
        call(libc::SYS_io_setup, [1, (&raw mut context) as i64, 0])
    }),
    ("have disks written", || call(libc::SYS_sync, [0, 0, 0])),
    ("have a disk written", || {
        let package = File::open("/package")?;
        call(libc::SYS_syncfs, [package.as_raw_fd().into(), 0, 0])
    }),
    ("have crashes handled by the machine", || {
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        Ok(setrlimit(Resource::Core, none)?)
    }),
    ("make others wait for a file", || {
        fs::write("/tmp/leased", "")?;
        let leased = File::open("/tmp/leased")?;
        let lease = [
            leased.as_raw_fd().into(),
            libc::F_SETLEASE.into(),
            libc::F_RDLCK.into(),
        ];
        call(libc::SYS_fcntl, lease)
    }),
    ("have the kernel watch for pressure", || {
        open("/proc/pressure/memory")
    }),
    ("keep a key", || call(libc::SYS_keyctl, [0, 0, 0])),
    ("restart the machine", || call(libc::SYS_reboot, [0, 0, 0])),
    ("read the kernel's log", || {
        call(libc::SYS_syslog, [3, 0, 0])
    }),
    ("change the kernel's settings", || {
        open("/proc/sys/kernel/core_pattern")
    }),
    ("order the kernel about", || open("/proc/sysrq-trigger")),
    ("read the kernel's memory", || {
        File::open("/proc/kcore")?.read_exact(&mut [0])
    }),
    ("raise its limit of descriptors", || {
        let most = getrlimit(Resource::Nofile).maximum.map(|most| most + 1);
        let more = Rlimit {
            current: most,
            maximum: most,
        };
        Ok(setrlimit(Resource::Nofile, more)?)
    }),
    ("raise its limit of memory", || {
        let files = ["memory/memory.limit_in_bytes", "memory.max"];
        let path = files.map(|file| Path::new("/sys/fs/cgroup").join(file));
        match path.iter().find(|path| path.exists()) {
            Some(path) => open(path),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }),
    ("be spared when memory ends", || {
        fs::write("/proc/self/oom_score_adj", "-1000")
    }),
];

/// Makes all attempts; returns the kind of error that each met, or null if it succeeded.
pub fn all() -> Value {
    let met = |attempt: fn() -> io::Result<()>| match attempt() {
        Ok(()) => Value::Null,
        Err(error) => format!("{:?}", error.kind()).into(),
    };
    let all = ALL
        .iter()
        .map(|(name, attempt)| ((*name).to_owned(), met(*attempt)));
    Value::Object(all.collect::<Map<_, _>>())
}

/// Makes the attempts `KIND:PATH`; returns the error that each met, or what it found.
pub fn at(attempts: &str) -> Result<Value, Failure> {
    let mut all = Map::new();
    for attempt in attempts.split(' ') {
        let (kind, path) = attempt.split_once(':').ok_or(Failure::NoPath)?;
        let met = match kind {
            "read" => fs::read_to_string(path),
            "write" => fs::write(path, "of the pack").map(|()| "written".to_owned()),
            "remove" => fs::remove_dir(path).map(|()| "removed".to_owned()),
            "run" => run_from(path).map(|()| "run".to_owned()),
            "execute" => Command::new(path).status().map(|_| "executed".to_owned()),
            "remount" => {
                remount(path, libc::MS_BIND | libc::MS_REMOUNT).map(|()| "remounted".to_owned())
            }
            "list" => list(path),
            other => return Err(Failure::UnknownAttempt(other.to_owned())),
        };
        let met = met.unwrap_or_else(|error| format!("{:?}", error.kind()));
        all.insert(attempt.to_owned(), met.into());
    }
    Ok(all.into())
}

fn list(path: &str) -> io::Result<String> {
    let entries = fs::read_dir(path)?.flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names.join(" "))
}

fn variable(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(io::Error::other)
}

fn pair(family: i32) -> io::Result<()> {
    let mut pair = [0_i32; 2];
    // SAFETY: points to an array of two integers.
    match unsafe { libc::socketpair(family, libc::SOCK_STREAM, 0, pair.as_mut_ptr()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes a system call with these arguments and as many zeroes after them as any call needs.
fn call(number: i64, [a, b, c]: [i64; 3]) -> io::Result<()> {
    // SAFETY: pointers are to NUL-terminated strings, to a place that is large enough for what the call writes, or
    // null, which the kernel checks itself.
    match unsafe { libc::syscall(number, a, b, c, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        0 if number == libc::SYS_clone => {
            // SAFETY: ends the child, which should not exist and must not continue as its parent.
            unsafe { libc::_exit(0) }
        }
        _ => Ok(()),
    }
}

fn remount(target: &str, flags: u64) -> io::Result<()> {
    let target = std::ffi::CString::new(target)?;
    // SAFETY: NUL-terminated strings, and a null pointer as data.
    let result = unsafe {
        libc::mount(
            c"escaped".as_ptr(),
            target.as_ptr(),
            c"tmpfs".as_ptr(),
            flags,
            std::ptr::null(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens a file for writing, and writes nothing.
fn open(path: impl AsRef<Path>) -> io::Result<()> {
    OpenOptions::new().write(true).open(path).map(drop)
}

fn write(path: &str) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?
        .write_all(b"out")
}

fn run_from(directory: &str) -> io::Result<()> {
    let copy = Path::new(directory).join("copy");
    fs::write(&copy, "#!/run/burst/burst-runtime\n")?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    Command::new(&copy).status().map(drop)
}

fn take_capability() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.permitted |= CapabilitySet::SYS_ADMIN;
    sets.effective |= CapabilitySet::SYS_ADMIN;
    Ok(set_capabilities(None, sets)?)
}

fn see_processes() -> io::Result<()> {
    let own = std::process::id();
    let other = (fs::read_dir("/proc")?.flatten())
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .find(|process| *process != own);
    other.map(drop).ok_or(io::ErrorKind::NotFound.into())
}
