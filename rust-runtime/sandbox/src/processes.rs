//! The processes of a sandbox as its shim sees them: process 1, and between the two the process in which hakoniwa waits
//! for it, here called the monitor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use hakoniwa::{Child, Container, ExitStatus};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};

use crate::Error;
use crate::cgroup::ControlGroup;
use crate::handover::{self, Message};
use crate::local_name::LocalPath;
use crate::network::Namespace;
use crate::process_one::ProcessOne;

/// The processes, which are killed when this is dropped.
pub(crate) struct Processes {
    monitor: Child,
    ended: OwnedFd,
    /// While this is open, so is the standard input of process 1.
    life_line: Option<OwnedFd>,
    /// Process 1, once it has introduced itself.
    first: Option<First>,
    reaped: bool,
}

struct First {
    number: Pid,
    handle: OwnedFd,
}

impl Processes {
    /// Starts process 1, and sends it the socket on which the runtime is to listen.
    pub(crate) fn spawn(
        container: &Container,
        process_one: ProcessOne,
        control: BorrowedFd<'_>,
    ) -> Result<Self, Error> {
        // Should the monitor be killed, this process inherits its children.
        set_child_subreaper(Some(getpid()))
            .map_err(|reason| Error::kernel("to inherit processes", reason))?;
        let (ours, theirs) = life_line()?;
        handover::send(&ours, "", &[control]).map_err(Error::Handover)?;
        // SAFETY: this process has no other thread that could hold a lock, so its copy can do everything that it can.
        let mut command = unsafe { container.command_from_closure(move || process_one.run()) };
        let spawned = command.stdin(theirs).spawn();
        let mut monitor = spawned.map_err(Error::Processes)?;
        let process = Pid::from_raw(monitor.id() as i32).ok_or(Errno::SRCH);
        match process.and_then(|process| pidfd_open(process, PidfdFlags::empty())) {
            Ok(ended) => Ok(Self {
                monitor,
                ended,
                life_line: Some(ours),
                first: None,
                reaped: false,
            }),
            Err(reason) => {
                let _ = monitor.kill();
                let _ = monitor.wait();
                Err(Error::kernel("to watch processes", reason))
            }
        }
    }

    /// Does for process 1 what only the shim can, while process 1 isolates itself. Returns the pack's network.
    pub(crate) fn attend(
        &mut self,
        cgroup: Option<&mut ControlGroup>,
        name: Option<&LocalPath>,
    ) -> Result<Namespace, Error> {
        let greeted = self.greet(cgroup, name);
        self.explained(greeted)
    }

    /// Lets process 1 become the runtime.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        let lost = || Error::Handover(io::ErrorKind::BrokenPipe.into());
        let life_line = self.life_line.as_ref().ok_or_else(lost)?;
        match handover::send(life_line, "", &[]) {
            // Process 1 has failed and reported why; its exit code says the rest.
            Err(reason) if reason.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            sent => sent.map_err(Error::Handover),
        }
    }

    /// Replaces an error of the handover by what has become of process 1.
    fn explained<T>(&mut self, heard: Result<T, Error>) -> Result<T, Error> {
        match heard {
            Err(Error::Handover(reason)) if reason.kind() == io::ErrorKind::WouldBlock => {
                Err(Error::Late(ISOLATION))
            }
            // Process 1 has ended, and the monitor, which waits for it, knows how.
            Err(Error::Handover(_)) => Err(Error::Isolation(self.reap()?.reason)),
            heard => heard,
        }
    }

    fn greet(
        &mut self,
        cgroup: Option<&mut ControlGroup>,
        name: Option<&LocalPath>,
    ) -> Result<Namespace, Error> {
        let lost = || Error::Handover(io::ErrorKind::BrokenPipe.into());
        let hello = self.hear()?;
        let sender = hello.sender.ok_or_else(lost)?;
        let mut descriptors = hello.descriptors.into_iter();
        let network = descriptors.next().map(Namespace::of).ok_or_else(lost)?;
        if let (Some(name), Some(socket)) = (name, descriptors.next()) {
            name.bind(socket)?;
        }
        // If it has ended, its next message says why.
        self.first = (pidfd_open(sender, PidfdFlags::empty()).ok()).map(|handle| First {
            number: sender,
            handle,
        });
        if let (Some(cgroup), Some(_)) = (cgroup, &self.first) {
            cgroup.admit(sender)?;
        }
        self.hear()?;
        Ok(network)
    }

    fn hear(&self) -> Result<Message, Error> {
        let gone = || Error::Handover(io::ErrorKind::BrokenPipe.into());
        let life_line = self.life_line.as_ref().ok_or_else(gone)?;
        let message = handover::receive(life_line).map_err(Error::Handover)?;
        match message.words.is_empty() {
            true => Ok(message),
            false => Err(Error::Isolation(message.words)),
        }
    }

    /// The numbers of the processes whose end ends all others.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let first = self.first.as_ref();
        let first = first.map(|first| first.number.as_raw_nonzero().get().unsigned_abs());
        std::iter::once(self.monitor.id()).chain(first).collect()
    }

    /// Becomes readable once all processes have ended, or the monitor was killed.
    pub(crate) fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Asks process 1 to end, by closing its standard input.
    pub(crate) fn end(&mut self) {
        self.life_line = None;
    }

    /// Kills process 1, and thereby all others.
    pub(crate) fn kill(&self) {
        if let Some(first) = &self.first {
            // It may have ended already.
            let _ = pidfd_send_signal(&first.handle, Signal::KILL);
        }
    }

    /// Waits until all processes have ended, and returns how process 1 did.
    pub(crate) fn reap(&mut self) -> Result<ExitStatus, Error> {
        self.reaped = true;
        self.end();
        let status = self.monitor.wait();
        // The monitor may have been killed before it could end process 1.
        self.kill();
        let deadline = Instant::now() + ISOLATION;
        while let Ok(child) = waitpid(None, WaitOptions::NOHANG) {
            if Instant::now() > deadline {
                return Err(Error::DoesNotEnd);
            }
            if child.is_none() {
                thread::sleep(Duration::from_millis(1));
            }
        }
        status.map_err(Error::Processes)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.monitor.kill();
            let _ = self.reap();
        }
    }
}

impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processes")
            .field("monitor", &self.monitor.id())
            .finish()
    }
}

/// How long process 1 may take to isolate itself, and the kernel to end what it kills: a busy machine may have no time
/// for either.
const ISOLATION: Duration = Duration::from_secs(60);

/// Makes a socket pair that keeps the boundaries of messages, and reports the sender of each to our end.
fn life_line() -> Result<(OwnedFd, OwnedFd), Error> {
    let failed = |reason: Errno| Error::Handover(reason.into());
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None).map_err(failed)?;
    sockopt::set_socket_passcred(&ours, true).map_err(failed)?;
    let timeout = sockopt::Timeout::Recv;
    sockopt::set_socket_timeout(&ours, timeout, Some(ISOLATION)).map_err(failed)?;
    Ok((ours, theirs))
}
