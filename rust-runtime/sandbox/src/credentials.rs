//! The rights with which a sandbox is made: root's, or those of a user namespace that the shim enters to gain them.
//! Process 1 gets a user namespace of its own below that, whose rights do not extend to the sandbox's.

use std::fs;
use std::io;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, unshare_unsafe};

use crate::{Error, SpecError};

/// Where the pack's root is laid out. Only the shim sees it there, and it hides nothing that is needed.
pub(crate) const SCAFFOLD: &str = "/sys/kernel";

/// The user that process 1 becomes, as the machine sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Credentials {
    /// A user of the pack's own, which root switches to.
    Root { user: u32 },
    /// The shim's own user and group.
    User { user: u32, group: u32 },
}

impl Credentials {
    /// Returns the credentials for a pack that is to run as this user.
    pub(crate) fn find(user: Option<u32>) -> Result<Self, Error> {
        match (may_make_namespaces(), user) {
            (true, Some(user)) if user != 0 && user != u32::MAX => Ok(Self::Root { user }),
            (true, _) => Err(SpecError::NoUser.into()),
            (false, None) => Ok(Self::User {
                user: geteuid().as_raw(),
                group: getegid().as_raw(),
            }),
            (false, Some(_)) => Err(SpecError::OtherUser.into()),
        }
    }

    /// Moves this process into a mount namespace, and a user namespace if it needs one, where it may mount; mounts a
    /// file system for the pack's root.
    pub(crate) fn prepare(self) -> Result<(), Error> {
        let mut flags = UnshareFlags::NEWNS;
        if let Self::User { .. } = self {
            flags |= UnshareFlags::NEWUSER;
        }
        // SAFETY: does not unshare descriptors from another thread's.
        unsafe { unshare_unsafe(flags) }.map_err(|reason| Error::Namespaces {
            reason: reason.into(),
        })?;
        if let Self::User { user, group } = self {
            map((user, group), (user, group)).map_err(|reason| Error::Namespaces { reason })?;
            leave_others_watchers();
        }
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private)
            .map_err(|reason| Error::kernel("to make mounts its own", reason))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let data = c"size=1m,nr_inodes=1024,mode=755";
        mount("pack", SCAFFOLD, "tmpfs", flags, data)
            .map_err(|reason| Error::kernel("to mount a file system for the pack's root", reason))
    }
}

/// Lowers a user namespace's share of what the kernel counts per user on the whole machine. If that is refused, as in a
/// container whose `/proc/sys` is read-only, a pack can take all that its user may have.
fn leave_others_watchers() {
    for counted in ["instances", "watches"] {
        let file = format!("/proc/sys/user/max_inotify_{counted}");
        let all = fs::read_to_string(format!("/proc/sys/fs/inotify/max_user_{counted}")).ok();
        if let Some(all) = all.and_then(|all| all.trim().parse::<u32>().ok()) {
            let _ = fs::write(&file, (all / SHARE).to_string());
        }
    }
}

/// A pack gets one of this many shares.
const SHARE: u32 = 8;

/// Whether this process may make namespaces without a user namespace.
pub(crate) fn may_make_namespaces() -> bool {
    let effective = capabilities(None).map(|sets| sets.effective);
    geteuid().is_root() && effective.is_ok_and(|has| has.contains(CapabilitySet::SYS_ADMIN))
}

/// Maps this process's user and group in the user namespace that it has just entered.
pub(crate) fn map(inside: (u32, u32), outside: (u32, u32)) -> io::Result<()> {
    // Groups can deny rights as well: the kernel does not let anybody leave them this way.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write(
        "/proc/self/gid_map",
        format!("{} {} 1", inside.1, outside.1),
    )?;
    fs::write(
        "/proc/self/uid_map",
        format!("{} {} 1", inside.0, outside.0),
    )
}

/// The pack's user and group, as it sees itself.
pub(crate) const INSIDE: u32 = 1000;

/// The pack's user as the kernel's functions take it.
pub(crate) fn ids(number: u32) -> (Uid, Gid) {
    (Uid::from_raw(number), Gid::from_raw(number))
}
