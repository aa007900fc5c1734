//! The last part of the isolation, which process 1 sets up itself before it becomes the runtime.

use std::ffi::OsString;
use std::io;
use std::iter;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{
    DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal, setsid,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};

use crate::credentials::{Credentials, INSIDE, ids, map};
use crate::filter::Filter;
use crate::network::Namespace;
use crate::root::RUNTIME;
use crate::{Error, descriptors, handover, loopback, mounts, ruleset, signals};

/// The task of process 1, prepared before it is started.
#[derive(Debug)]
pub(crate) struct ProcessOne {
    pub(crate) credentials: Credentials,
    pub(crate) filter: Filter,
    /// Descriptors per process.
    pub(crate) files: u32,
    /// The name of the pack's Unix socket, which is created in the pack's own network.
    pub(crate) socket_name: Option<String>,
    /// Directories of the operator's that the pack may write to.
    pub(crate) writable: Vec<String>,
    /// Directories that the runtime empties.
    pub(crate) scratch: Vec<&'static str>,
    /// The environment of the runtime; without one, process 1 ends successfully once it is isolated.
    pub(crate) environment: Option<Vec<(OsString, OsString)>>,
}

impl ProcessOne {
    /// Runs in process 1, which has a copy of the shim's memory and no other thread. Returns its exit code, unless it
    /// becomes the runtime.
    pub(crate) fn run(&self) -> i32 {
        let life_line = io::stdin();
        let runtime = match self.isolate(&life_line) {
            Ok(runtime) => runtime,
            Err(error) => {
                // Fails if the shim has ended.
                let _ = handover::send(&life_line, &error.to_string(), &[]);
                return NOT_STARTED;
            }
        };
        match runtime {
            Some(mut runtime) => {
                let error = Error::kernel("to start the runtime", runtime.exec());
                eprintln!("burst-runtime: {error}");
                NOT_STARTED
            }
            None => 0,
        }
    }

    /// Sets up the rest of the isolation, in an order that leaves each step the rights it needs. Returns the command of the
    /// runtime.
    fn isolate(&self, life_line: &io::Stdin) -> Result<Option<Command>, Error> {
        // The shim meanwhile moves it into its control group, and keeps its network, to give the pack access to others
        // later.
        let network = Namespace::own().map_err(|reason| Error::kernel("a network", reason))?;
        let socket = self
            .socket_name
            .as_ref()
            .map(|_| local_socket())
            .transpose()?;
        let handed: Vec<_> = iter::once(&network)
            .chain(&socket)
            .map(AsFd::as_fd)
            .collect();
        handover::send(life_line, "", &handed).map_err(Error::Handover)?;
        drop(network);
        // Not earlier: with this limit it could not send any if other packs of its user have as many in flight as each
        // may have.
        descriptors::hold(self.files)
            .map_err(|reason| Error::kernel("a limit of descriptors", reason))?;
        let control = handover::receive(life_line).map_err(Error::Handover)?;
        // They end the runtime.
        signals::release().map_err(|reason| Error::kernel("to let signals through", reason))?;
        // Without a controlling terminal.
        setsid().map_err(|reason| Error::kernel("a session", reason))?;
        loopback::up().map_err(|reason| Error::kernel("a loopback", reason))?;
        mounts::close(&self.writable)
            .map_err(|reason| Error::kernel("to close what is mounted", reason))?;
        // SAFETY: does not unshare descriptors from another thread's.
        unsafe { unshare_unsafe(UnshareFlags::NEWCGROUP) }
            .map_err(|reason| Error::kernel("a namespace of control groups", reason))?;
        self.credentials.become_the_packs_user()?;
        drop_capabilities().map_err(|reason| Error::kernel("to take all rights", reason))?;
        // The kernel clears it when a process changes its user.
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|reason| Error::kernel("to end with the shim", reason))?;
        ruleset::apply(&self.writable).map_err(|error| Error::Ruleset(error.into()))?;
        self.filter.apply().map_err(Error::Filter)?;
        handover::send(life_line, "", &[]).map_err(Error::Handover)?;
        let socket = socket.zip(self.socket_name.as_ref());
        self.runtime(control.descriptors, socket)
    }

    /// The command that this process executes next.
    fn runtime(
        &self,
        control: Vec<OwnedFd>,
        socket: Option<(OwnedFd, &String)>,
    ) -> Result<Option<Command>, Error> {
        let Some(environment) = &self.environment else {
            return Ok(None);
        };
        let mut command = Command::new(RUNTIME);
        command
            .args(["serve", "--held"])
            .env_clear()
            .current_dir("/");
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        for directory in &self.scratch {
            command.args(["--scratch", directory]);
        }
        for control in control {
            command.args(["--listen-fd", &inherited(control)?]);
        }
        if let Some((socket, name)) = socket {
            command.args([
                "--local-listener",
                &format!("{}:{name}", inherited(socket)?),
            ]);
        }
        Ok(Some(command))
    }
}

/// The exit code of a process 1 that has not become the runtime.
pub(crate) const NOT_STARTED: i32 = 125;

fn local_socket() -> Result<OwnedFd, Error> {
    let flags = SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|reason| Error::kernel("a socket", reason))
}

/// Returns the descriptor's number, and keeps it open in the program that is executed.
fn inherited(descriptor: OwnedFd) -> Result<String, Error> {
    fcntl_setfd(&descriptor, FdFlags::empty()).map_err(|reason| Error::Handover(reason.into()))?;
    Ok(descriptor.into_raw_fd().to_string())
}

impl Credentials {
    fn become_the_packs_user(self) -> Result<(), Error> {
        let failed = |reason: io::Error| Error::kernel("a user of its own for the pack", reason);
        let outside = match self {
            Self::User { user, group } => (user, group),
            Self::Root { user } => {
                leave_root(user).map_err(failed)?;
                (user, user)
            }
        };
        // A process that is not dumpable, as after a change of user, may not write to its own files below /proc either.
        set_dumpable_behavior(DumpableBehavior::Dumpable)
            .map_err(|reason| failed(reason.into()))?;
        // SAFETY: does not unshare descriptors from another thread's.
        unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(|reason| Error::Namespaces {
            reason: reason.into(),
        })?;
        map((INSIDE, INSIDE), outside).map_err(failed)
    }
}

/// Changes the user, and keeps the right to make a user namespace, which some machines give to nobody else.
fn leave_root(user: u32) -> io::Result<()> {
    let (user, group) = ids(user);
    set_keep_capabilities(true)?;
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    let mut sets = capabilities(None)?;
    sets.effective = CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    Ok(set_keep_capabilities(false)?)
}

/// Drops capabilities from every set, also for whatever this process executes.
fn drop_capabilities() -> io::Result<()> {
    clear_ambient_capability_set()?;
    for capability in (0..64).map(|number| CapabilitySet::from_bits_retain(1 << number)) {
        match remove_capability_from_bounding_set(capability) {
            // The kernel has no further capabilities.
            Err(rustix::io::Errno::INVAL) => break,
            removed => removed?,
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, none)?)
}
