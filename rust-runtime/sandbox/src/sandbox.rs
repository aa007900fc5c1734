//! A sandbox as its launcher has it: made, changed, ended.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal,
    set_dumpable_behavior, umask,
};

use crate::Error;
use crate::filter::Filter;
use crate::group::Group;
use crate::handover::{self, Handed};
use crate::hierarchy::Hierarchies;
use crate::local_name::LocalName;
use crate::network::{Hosts, Namespace};
use crate::owner::Owner;
use crate::process_one::ProcessOne;
use crate::root::Root;
use crate::servers::{Access, Servers};
use crate::spec::Limits;

/// What is to be made.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) user: Option<u32>,
    pub(crate) package: Option<&'a Path>,
    pub(crate) sockets: Option<&'a Path>,
    pub(crate) root: Option<&'a Path>,
    pub(crate) group: Option<&'a str>,
    pub(crate) scratch: [u32; 2],
    pub(crate) limits: Limits,
    /// Of the runtime. Without it nothing runs in the sandbox.
    pub(crate) environment: Option<Vec<(OsString, OsString)>>,
}

/// Made, with its process 1 about to become the runtime.
#[derive(Debug)]
pub(crate) struct Sandbox {
    monitor: Monitor,
    /// Process 1.
    first: OwnedFd,
    /// Until it is dropped process 1 has an open standard input.
    life_line: Option<OwnedFd>,
    limits: Limits,
    group: Option<Group>,
    servers: Servers,
    _name: Option<LocalName>,
}

impl Sandbox {
    /// Can be done once by a process, which has no other thread: it never gets back to the mounts it has now.
    pub(crate) fn make(plan: Plan<'_>) -> Result<Self, Error> {
        // Whose files all may read in the pack's root.
        umask(Mode::from_raw_mode(0o022));
        let owner = Owner::find(plan.user)?;
        let group = plan.group.map(|name| {
            let hierarchies = Hierarchies::find().ok_or(Error::NoGroups)?;
            Group::create(&hierarchies, name, &plan.limits)
        });
        let mut group = group.transpose()?;
        if let Some(group) = &mut group {
            group
                .prepare()
                .map_err(|reason| Error::kernel("a process", reason))?;
        }
        let control = TcpListener::bind(("127.0.0.1", 0)).map_err(Error::Handover)?;
        let name = plan.sockets.map(LocalName::random).transpose()?;
        let runtime = std::env::current_exe().map_err(Error::Runtime)?;
        let process_one = ProcessOne {
            owner,
            filter: Filter::new().map_err(|error| Error::Filter(error.into()))?,
            socket_name: name.as_ref().map(|name| name.as_str().to_owned()),
            environment: plan.environment,
        };
        let root = Root {
            runtime: &runtime,
            package: plan.package,
            sockets: plan.sockets,
            directory: plan.root,
            shown: group.as_ref().map(Group::shown).unwrap_or_default(),
            scratch: plan.scratch,
        };
        let container = root.container(&plan.limits, group.is_some());
        let container = container.map_err(|reason| Error::kernel("to lay out a root", reason))?;
        owner.prepare()?;
        let hosts = root.has_hosts().then(Hosts::create).transpose();
        let hosts = hosts.map_err(|reason| Error::kernel("a file of names", reason))?;
        // The token is in this process's memory, too.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|reason| Error::kernel("to close its memory", reason))?;

        let (ours, theirs) = life_line()?;
        handover::send(&ours, "", &[control.as_fd()]).map_err(Error::Handover)?;
        // SAFETY: this process has no other thread that could hold a lock, so that its copy can do all that it can.
        let mut command = unsafe { container.command_from_closure(move || process_one.run()) };
        let child = command.stdin(theirs).spawn();
        let mut monitor = Monitor::of(child.map_err(|error| Error::Walls(error.to_string()))?)?;
        let (first, network) = match attend(&ours, group.as_mut(), name.as_ref()) {
            Err(Error::Handover(reason)) => return Err(monitor.why(&reason)),
            first => first?,
        };
        Ok(Self {
            monitor,
            first,
            life_line: Some(ours),
            limits: plan.limits,
            group,
            servers: Servers::of(network, hosts),
            _name: name,
        })
    }

    /// Readable once nothing of it runs any more.
    pub(crate) fn ended(&self) -> BorrowedFd<'_> {
        self.monitor.ended.as_fd()
    }

    /// Other limits from now on.
    pub(crate) fn change(&mut self, limits: Limits) -> Result<(), Error> {
        let for_life = |what: &str| Error::Refused(format!("{what} are for life here"));
        if limits.files != self.limits.files {
            return Err(for_life("descriptors"));
        }
        match &self.group {
            Some(group) => group.change(&limits)?,
            None if limits.processes != self.limits.processes => {
                return Err(for_life("processes"));
            }
            None => {}
        }
        self.limits = limits;
        Ok(())
    }

    /// Lets it through to other servers from now on; what came of it is said on standard output.
    pub(crate) fn reach(&mut self, access: Access) {
        self.servers.tell(access);
    }

    /// Tells process 1 to end: its standard input does.
    pub(crate) fn end(&mut self) {
        self.life_line = None;
    }

    /// Kills process 1, and with it all others.
    pub(crate) fn kill(&self) {
        // It may be gone, and its number is nobody else's until the monitor has been waited for.
        let _ = pidfd_send_signal(&self.first, Signal::KILL);
    }

    /// Once it has ended: the exit code of process 1, and whether the kernel has killed for memory.
    pub(crate) fn bury(mut self) -> Result<Buried, Error> {
        let code = self.monitor.wait()?;
        let out_of_memory = self
            .group
            .as_ref()
            .is_some_and(Group::has_run_out_of_memory);
        let removed = self.group.as_mut().map_or(Ok(()), Group::remove);
        Ok(Buried {
            code,
            out_of_memory,
            removed,
        })
    }
}

/// What is left of a sandbox.
#[derive(Debug)]
pub(crate) struct Buried {
    /// 128 and its number, if a signal ended it.
    pub(crate) code: i32,
    pub(crate) out_of_memory: bool,
    pub(crate) removed: Result<(), Error>,
}

/// Both ends, of which messages come as they were sent, with who has sent them.
fn life_line() -> Result<(OwnedFd, OwnedFd), Error> {
    let failed = |reason: rustix::io::Errno| Error::Handover(reason.into());
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None).map_err(failed)?;
    sockopt::set_socket_passcred(&ours, true).map_err(failed)?;
    let timeout = sockopt::Timeout::Recv;
    sockopt::set_socket_timeout(&ours, timeout, Some(WALLS)).map_err(failed)?;
    Ok((ours, theirs))
}

/// Does for process 1 what only the launcher can, while it makes its walls, and lets it begin. Its descriptor, and its
/// network.
fn attend(
    life_line: &OwnedFd,
    group: Option<&mut Group>,
    name: Option<&LocalName>,
) -> Result<(OwnedFd, Namespace), Error> {
    let mut hello = hear(life_line)?;
    let (Some(sender), Some(network)) = (hello.sender, hello.descriptors.pop()) else {
        return Err(Error::Handover(io::ErrorKind::InvalidData.into()));
    };
    let network = Namespace::of(network);
    let first =
        pidfd_open(sender, PidfdFlags::empty()).map_err(|reason| Error::Handover(reason.into()))?;
    if let Some(group) = group {
        group.admit(sender)?;
    }
    let shut_in = hear(life_line)?;
    if let (Some(name), Some(socket)) = (name, shut_in.descriptors.first()) {
        name.bind(socket)?;
    }
    match handover::send(life_line, "", &[]) {
        // It could not become the runtime, and has said why: its exit code tells.
        Err(reason) if reason.kind() == io::ErrorKind::BrokenPipe => Ok((first, network)),
        sent => sent.map(|()| (first, network)).map_err(Error::Handover),
    }
}

fn hear(life_line: &OwnedFd) -> Result<Handed, Error> {
    let handed = handover::receive(life_line).map_err(Error::Handover)?;
    match handed.words.is_empty() {
        true => Ok(handed),
        false => Err(Error::Walls(handed.words)),
    }
}

/// How long process 1 may take to shut itself in.
const WALLS: Duration = Duration::from_secs(10);

/// The process between launcher and process 1, which made the walls and waits for its end.
struct Monitor {
    child: hakoniwa::Child,
    ended: OwnedFd,
    waited: bool,
}

impl Monitor {
    fn of(mut child: hakoniwa::Child) -> Result<Self, Error> {
        let process = Pid::from_raw(child.id() as i32);
        let opened = process.ok_or(rustix::io::Errno::SRCH);
        match opened.and_then(|process| pidfd_open(process, PidfdFlags::empty())) {
            Ok(ended) => Ok(Self {
                child,
                ended,
                waited: false,
            }),
            Err(reason) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(Error::kernel("to watch processes", reason))
            }
        }
    }

    fn wait(&mut self) -> Result<i32, Error> {
        self.waited = true;
        let status = self.child.wait();
        Ok(status
            .map_err(|error| Error::Walls(error.to_string()))?
            .code)
    }

    /// Why process 1 has not said anything.
    fn why(&mut self, reason: &io::Error) -> Error {
        if reason.kind() != io::ErrorKind::UnexpectedEof {
            return Error::Walls(format!("process 1 does not greet: {reason}"));
        }
        self.waited = true;
        match self.child.wait() {
            Ok(status) => Error::Walls(status.reason),
            Err(error) => Error::Walls(error.to_string()),
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        if !self.waited {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor")
            .field("process", &self.child.id())
            .finish()
    }
}
