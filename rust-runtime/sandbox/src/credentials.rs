//! By whose rights a sandbox is made: root's, or those of a user namespace that the shim enters to have them.
//! Process 1 gets a user namespace of its own below that, whose rights do not reach the sandbox's own.

use std::fs;
use std::io;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, unshare_unsafe};

use crate::{Error, SpecError};

/// Where the pack's root is laid out. Nobody else sees it there, and nothing that is needed is hidden by it.
pub(crate) const SCAFFOLD: &str = "/sys/kernel";

/// Whom process 1 becomes, as the machine has it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Credentials {
    /// A user of the pack's own, whom root makes of it.
    Root { user: u32 },
    /// The shim's.
    User { user: u32, group: u32 },
}

impl Credentials {
    /// Who makes the walls of a pack that is to run as this user.
    pub(crate) fn find(user: Option<u32>) -> Result<Self, Error> {
        match (may_make_walls(), user) {
            (true, Some(user)) if user != 0 && user != u32::MAX => Ok(Self::Root { user }),
            (true, _) => Err(SpecError::NoUser.into()),
            (false, None) => Ok(Self::User {
                user: geteuid().as_raw(),
                group: getegid().as_raw(),
            }),
            (false, Some(_)) => Err(SpecError::OtherUser.into()),
        }
    }

    /// Takes this process where it may mount, with a file system of its own for the pack's root.
    pub(crate) fn prepare(self) -> Result<(), Error> {
        let mut flags = UnshareFlags::NEWNS;
        if let Self::User { .. } = self {
            flags |= UnshareFlags::NEWUSER;
        }
        // SAFETY: parts no descriptors from another thread's.
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

/// Of what the kernel counts for a user on the whole machine, a user namespace may have less. Where this is refused, as
/// in a container whose `/proc/sys` is read-only, a pack may take all that its user has.
fn leave_others_watchers() {
    for counted in ["instances", "watches"] {
        let file = format!("/proc/sys/user/max_inotify_{counted}");
        let all = fs::read_to_string(format!("/proc/sys/fs/inotify/max_user_{counted}")).ok();
        if let Some(all) = all.and_then(|all| all.trim().parse::<u32>().ok()) {
            let _ = fs::write(&file, (all / SHARE).to_string());
        }
    }
}

/// One of so many packs may have what it can.
const SHARE: u32 = 8;

/// Whether this process has the right without a user namespace.
pub(crate) fn may_make_walls() -> bool {
    let effective = capabilities(None).map(|sets| sets.effective);
    geteuid().is_root() && effective.is_ok_and(|has| has.contains(CapabilitySet::SYS_ADMIN))
}

/// Who has just entered a user namespace is known there by these numbers.
pub(crate) fn map(inside: (u32, u32), outside: (u32, u32)) -> io::Result<()> {
    // The groups that a user is in may deny rights as well: the kernel lets nobody leave them this way.
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
