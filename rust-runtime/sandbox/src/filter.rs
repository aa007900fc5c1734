//! The filter of system calls: any that is not allowed fails with `EPERM`.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, Gt, Lt, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::syscalls::{ALLOWED, ALLOWED_HERE};

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Two BPF programs, in the order in which a process installs them.
#[derive(Debug)]
pub(crate) struct Filter {
    absent: BpfProgram,
    allowed: BpfProgram,
}

impl Filter {
    pub(crate) fn new() -> Result<Self, BackendError> {
        let arch = std::env::consts::ARCH.try_into()?;
        // `clone3` takes its flags in memory, where a filter cannot look. With `ENOSYS` C libraries fall back to
        // `clone`.
        let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        let not_there = SeccompAction::Errno(libc::ENOSYS as u32);
        let absent = SeccompFilter::new(absent, SeccompAction::Allow, not_there, arch)?;
        let refused = SeccompAction::Errno(libc::EPERM as u32);
        let allowed = SeccompFilter::new(allowed()?, refused, SeccompAction::Allow, arch)?;
        Ok(Self {
            absent: absent.try_into()?,
            allowed: allowed.try_into()?,
        })
    }

    /// Applies the filter permanently to this thread and to whatever it starts or executes.
    pub(crate) fn apply(&self) -> Result<(), seccompiler::Error> {
        seccompiler::apply_filter(&self.absent)?;
        seccompiler::apply_filter(&self.allowed)
    }
}

fn allowed() -> Result<Rules, BackendError> {
    let plain = ALLOWED.iter().chain(ALLOWED_HERE);
    let mut rules: Rules = plain.map(|call| (*call, Vec::new())).collect();
    // Allowed here: the other filter's answer prevails.
    rules.insert(libc::SYS_clone3, Vec::new());
    let no_namespaces = SeccompCondition::new(0, Qword, MaskedEq(NAMESPACES), 0)?;
    rules.insert(libc::SYS_clone, vec![rule([no_namespaces])?]);
    rules.insert(libc::SYS_socket, sockets()?);
    let local = SeccompCondition::new(0, Dword, Eq, libc::AF_UNIX as u64)?;
    rules.insert(libc::SYS_socketpair, vec![rule([local])?]);
    // The holder of a lease makes others wait who open the file, and the files of a root are shared with others.
    let no_lease = SeccompCondition::new(1, Dword, Ne, libc::F_SETLEASE as u64)?;
    rules.insert(libc::SYS_fcntl, vec![rule([no_lease])?]);
    rules.insert(libc::SYS_ioctl, ioctls()?);
    // A core limit of 1 keeps the machine's core dump handler from being run.
    let no_core = |argument| SeccompCondition::new(argument, Dword, Ne, libc::RLIMIT_CORE.into());
    let asked = SeccompCondition::new(2, Qword, Eq, 0)?;
    let limits = vec![rule([no_core(1)?])?, rule([asked])?];
    rules.insert(libc::SYS_prlimit64, limits);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_setrlimit, vec![rule([no_core(0)?])?]);
    let personas = PERSONAS.map(|persona| rule([SeccompCondition::new(0, Dword, Eq, persona)?]));
    let personas: Result<_, _> = personas.into_iter().collect();
    rules.insert(libc::SYS_personality, personas?);
    Ok(rules)
}

/// All of `CLONE_NEW…`.
const NAMESPACES: u64 = 0x7E02_0000;

/// `PER_LINUX` and `PER_LINUX32`, each with or without `UNAME26`, and the query of the present one.
const PERSONAS: [u64; 5] = [0, 8, 0x2_0000, 0x2_0008, 0xFFFF_FFFF];

/// Sockets between processes, to the network, and for asking the kernel about addresses and routes.
fn sockets() -> Result<Vec<SeccompRule>, BackendError> {
    let family = |family: i32| SeccompCondition::new(0, Dword, Eq, family as u64);
    let routes = SeccompCondition::new(2, Dword, Eq, libc::NETLINK_ROUTE as u64)?;
    Ok(vec![
        rule([family(libc::AF_UNIX)?])?,
        rule([family(libc::AF_INET)?])?,
        rule([family(libc::AF_INET6)?])?,
        rule([family(libc::AF_NETLINK)?, routes])?,
    ])
}

/// All except those that inject input into a terminal, and those of sockets and network cards (`SIOC…`).
fn ioctls() -> Result<Vec<SeccompRule>, BackendError> {
    let request = |operator, value| SeccompCondition::new(1, Dword, operator, value);
    let below = rule([
        request(Lt, 0x8900)?,
        request(Ne, libc::TIOCSTI)?,
        request(Ne, libc::TIOCLINUX)?,
    ])?;
    Ok(vec![below, rule([request(Gt, 0x89FF)?])?])
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dangerous_system_calls_are_not_allowed() {
        Filter::new().unwrap();
        let rules = allowed().unwrap();
        for call in [
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_ptrace,
            libc::SYS_process_vm_writev,
            libc::SYS_pidfd_getfd,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_io_uring_setup,
            libc::SYS_io_setup,
            libc::SYS_sync,
            libc::SYS_open_by_handle_at,
            libc::SYS_chroot,
            libc::SYS_pivot_root,
            libc::SYS_init_module,
            libc::SYS_kexec_load,
            libc::SYS_reboot,
            libc::SYS_swapon,
            libc::SYS_sethostname,
            libc::SYS_clock_settime,
            libc::SYS_settimeofday,
            libc::SYS_acct,
            libc::SYS_syslog,
            libc::SYS_quotactl,
            libc::SYS_mount_setattr,
            libc::SYS_fsopen,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
        ] {
            assert!(!rules.contains_key(&call), "{call}");
        }
    }
}
