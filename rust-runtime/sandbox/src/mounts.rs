//! Restrictions on what is mounted, made once process 1 sees nothing else.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind, move_mount,
    open_tree, unmount,
};

use crate::network::{HOSTS, RESOLVERS};
use crate::root::{DEVICES, SCRATCH};

/// Docker's list: files that reveal something about the machine or affect it; and those by which anybody can make the
/// kernel watch for something.
const MASKED: [&str; 13] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/config.gz",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
];
const READ_ONLY: [&str; 6] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/pressure",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// Masks what packs must not see, and makes everything read-only except the scratch directories, each process's own
/// files below `/proc`, and the given directories of the operator's. Nothing that packs can write there can be
/// executed.
pub(crate) fn close(writable: &[String]) -> io::Result<()> {
    for (file, place) in [(HOSTS, "/etc/hosts"), (RESOLVERS, "/etc/resolv.conf")] {
        if Path::new(file).exists() {
            mount_bind(file, place)?;
        }
    }
    for path in MASKED.map(Path::new) {
        if path.is_dir() {
            mount(
                "none",
                path,
                "tmpfs",
                MountFlags::RDONLY,
                c"size=4k,nr_inodes=1",
            )?;
        } else if path.exists() {
            mount_bind("/dev/null", path)?;
        }
    }
    for path in READ_ONLY
        .map(Path::new)
        .into_iter()
        .filter(|path| path.exists())
    {
        mount_bind(path, path)?;
    }
    let writable: Vec<_> = (writable.iter())
        .map(|path| Ok((path, take_away(path)?)))
        .collect::<io::Result<_>>()?;
    // Including mounts below; flags that a mount already has are kept.
    let closed = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    change(c"/", Change::Set(closed))?;
    for path in SCRATCH.into_iter().chain(["/proc"]) {
        change(&CString::new(path)?, Change::Clear(libc::MOUNT_ATTR_RDONLY))?;
    }
    for path in DEVICES {
        change(&CString::new(path)?, Change::Clear(libc::MOUNT_ATTR_NODEV))?;
    }
    for (path, tree) in writable {
        move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        let closed = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;
        change(&CString::new(path.as_str())?, Change::Set(closed))?;
    }
    Ok(())
}

/// Detaches a mount together with those below it. Some of these may be read-only on the machine and must stay so: the
/// flag must not be set on all of them and cleared again.
fn take_away(path: &str) -> io::Result<OwnedFd> {
    let whole = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, whole | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    unmount(path, UnmountFlags::DETACH)?;
    Ok(tree)
}

/// A change of a mount's attributes.
enum Change {
    /// Sets them, also on all mounts below.
    Set(u64),
    /// Clears them, on this mount only.
    Clear(u64),
}

fn change(path: &CStr, change: Change) -> io::Result<()> {
    let (flags, set, clear) = match change {
        Change::Set(attributes) => (libc::AT_RECURSIVE, attributes, 0),
        Change::Clear(attributes) => (0, 0, attributes),
    };
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: clear,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: reads a NUL-terminated string and a structure of the given size, which both outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            rustix::fd::AsRawFd::as_raw_fd(&CWD),
            path.as_ptr(),
            flags,
            &attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(match Errno::from_io_error(&io::Error::last_os_error()) {
            Some(Errno::NOSYS) => io::Error::other("it is older than 5.12"),
            _ => io::Error::last_os_error(),
        }),
    }
}
