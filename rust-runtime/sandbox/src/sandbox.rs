//! A sandbox as its shim sees it: made, changed, ended.

use std::ffi::OsString;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, set_dumpable_behavior, umask};

use crate::cgroup::ControlGroup;
use crate::credentials::Credentials;
use crate::directories::Mount;
use crate::filter::Filter;
use crate::hierarchy::Hierarchies;
use crate::local_name::Names;
use crate::network::{Hosts, Resolvers};
use crate::peers::Peers;
use crate::process_one::ProcessOne;
use crate::processes::Processes;
use crate::root::Root;
use crate::servers::{Access, Servers};
use crate::spec::Limits;
use crate::{Error, Refusal, descriptors};

/// The sandbox to make.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) user: Option<u32>,
    pub(crate) package: Option<&'a Path>,
    pub(crate) sockets: Option<&'a Path>,
    pub(crate) root: Option<&'a Path>,
    pub(crate) interpreters: bool,
    pub(crate) mounts: &'a [Mount],
    pub(crate) cgroup: Option<&'a str>,
    pub(crate) scratch: [u32; 2],
    pub(crate) limits: Limits,
    /// The environment of the runtime. Without one nothing runs in the sandbox.
    pub(crate) environment: Option<Vec<(OsString, OsString)>>,
}

/// A sandbox whose process 1 is about to become the runtime, or has.
#[derive(Debug)]
pub(crate) struct Sandbox {
    processes: Processes,
    limits: Limits,
    cgroup: Option<ControlGroup>,
    servers: Servers,
    _names: Option<Names>,
}

impl Sandbox {
    /// Makes a sandbox. Calls `told` with the numbers of the processes whose end ends all others, before it lets
    /// process 1 become the runtime.
    ///
    /// Can be called only once, by a process with no other thread: the process never returns to its present mounts.
    pub(crate) fn make(plan: Plan<'_>, told: impl FnOnce(&[u32])) -> Result<Self, Error> {
        // Everybody may read the files that this makes in the pack's root.
        umask(Mode::from_raw_mode(0o022));
        let credentials = Credentials::find(plan.user)?;
        let directories = Mount::find(plan.mounts)?;
        let cgroup = plan.cgroup.map(|name| {
            let hierarchies = Hierarchies::find().ok_or(Error::NoControlGroups)?;
            ControlGroup::create(&hierarchies, name, &plan.limits)
        });
        let mut cgroup = cgroup.transpose()?;
        if let Some(cgroup) = &mut cgroup {
            cgroup
                .prepare()
                .map_err(|reason| Error::kernel("a process", reason))?;
        }
        let control = TcpListener::bind(("127.0.0.1", 0)).map_err(Error::Handover)?;
        let names = plan.sockets.map(Names::random).transpose()?;
        let name = names.as_ref().map(|names| names.pack.path());
        let runtime = std::env::current_exe().map_err(Error::Runtime)?;
        let root = Root {
            runtime: &runtime,
            package: plan.package,
            sockets: plan.sockets,
            directory: plan.root,
            interpreters: plan.interpreters,
            directories: &directories,
            shown: cgroup.as_ref().map(ControlGroup::shown).unwrap_or_default(),
            scratch: plan.scratch,
        };
        let container = root.container(&plan.limits, cgroup.is_some())?;
        let process_one = ProcessOne {
            credentials,
            filter: Filter::new().map_err(|error| Error::Filter(error.into()))?,
            files: plan.limits.files,
            socket_name: name.map(|name| name.as_str().to_owned()),
            writable: (directories.iter().filter(|directory| !directory.read_only))
                .map(|directory| directory.target.clone())
                .collect(),
            scratch: root.emptied(),
            environment: plan.environment,
        };
        credentials.prepare()?;
        let unnamed = |reason| Error::kernel("a file of names", reason);
        let hosts = root.has("etc/hosts").then(Hosts::create).transpose();
        let hosts = hosts.map_err(unnamed)?;
        let resolvers = (root.has("etc/resolv.conf").then(Resolvers::create)).transpose();
        let resolvers = resolvers.map_err(unnamed)?;
        // The token is in this process's memory as well.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|reason| Error::kernel("to close its memory", reason))?;

        descriptors::keep_all()
            .map_err(|reason| Error::kernel("to have more descriptors than a pack", reason))?;
        let mut processes = Processes::spawn(&container, process_one, control.as_fd())?;
        let network = processes.attend(cgroup.as_mut(), name)?;
        told(&processes.numbers());
        processes.begin()?;
        if let Some(cgroup) = &mut cgroup {
            cgroup.reap_warm_up();
        }
        Ok(Self {
            processes,
            limits: plan.limits,
            cgroup,
            servers: Servers::of(network, hosts, resolvers, Peers::of(names.as_ref())),
            _names: names,
        })
    }

    /// Becomes readable once the sandbox can be reaped.
    pub(crate) fn ended(&self) -> BorrowedFd<'_> {
        self.processes.ended()
    }

    /// Applies other limits.
    pub(crate) fn change(&mut self, limits: Limits) -> Result<(), Error> {
        if limits.files != self.limits.files {
            return Err(Refusal::Descriptors.into());
        }
        match &self.cgroup {
            Some(cgroup) => cgroup.change(&limits)?,
            None if limits.processes != self.limits.processes => {
                return Err(Refusal::Processes.into());
            }
            None => {}
        }
        self.limits = limits;
        Ok(())
    }

    /// Changes what the pack may reach; the result is reported on standard output.
    pub(crate) fn reach(&mut self, access: Access) {
        self.servers.tell(access);
    }

    /// Asks process 1 to end, by closing its standard input.
    pub(crate) fn end(&mut self) {
        self.processes.end();
    }

    /// Kills process 1, and thereby all others.
    pub(crate) fn kill(&self) {
        self.processes.kill();
    }

    /// Waits for its end; returns the exit code of process 1, and whether the kernel has killed for lack of memory.
    pub(crate) fn reap(mut self) -> Result<SandboxExit, Error> {
        let code = self.processes.reap()?.code;
        let out_of_memory = self
            .cgroup
            .as_ref()
            .is_some_and(ControlGroup::has_run_out_of_memory);
        let removed = self.cgroup.as_mut().map_or(Ok(()), ControlGroup::remove);
        self.servers.end(code == 0);
        Ok(SandboxExit {
            code,
            out_of_memory,
            removed,
        })
    }
}

/// How a sandbox has ended.
#[derive(Debug)]
pub(crate) struct SandboxExit {
    /// 128 plus the signal's number, if a signal ended process 1.
    pub(crate) code: i32,
    pub(crate) out_of_memory: bool,
    pub(crate) removed: Result<(), Error>,
}
