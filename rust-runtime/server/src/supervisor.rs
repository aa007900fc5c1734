//! The user's program from its start to its end, and what its end means.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;

use burst_protocol::{
    FailureKind, LINE_COST, LogStream, PROGRAM, PackEvent, ProgramEvent, Timestamp, Versions,
};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::control_socket::{self, FrameReader, FrameWriter};
use crate::descendants::{self, Process};
use crate::environment::Environment;
use crate::launcher::LauncherError;
use crate::limits;
use crate::logs::Pipe;
use crate::memory::KillCounter;
use crate::memory_limit::{self, MemoryLimitError};
use crate::not_reusable::NotReusable;
use crate::package::Package;
use crate::process::{self, Ending, ProcessGroup};
use crate::violation::ProtocolViolation;

/// A running program. It is killed when this is dropped.
pub(crate) struct Program {
    pub(crate) incoming: FrameReader,
    pub(crate) outgoing: FrameWriter,
    pub(crate) stdout: Pipe,
    pub(crate) stderr: Pipe,
    pub(crate) exit: oneshot::Receiver<ExitStatus>,
    pub(crate) group: Arc<ProcessGroup>,
    memory: KillCounter,
    killed_before: u64,
    /// How many flares have begun on it.
    flares: u64,
    /// Between two of them.
    stopped: bool,
    /// The processes in which a launcher runs its workers, if it has any.
    workers: Vec<Process>,
    /// The MiB that it may have, where the runtime sees to that.
    allowed: Option<u64>,
    /// The bytes that it said it could not have.
    refused: Option<u64>,
    package: Package,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.group.kill();
    }
}

/// Something a program does that somebody has to react to.
pub(crate) enum SupervisorEvent {
    /// There may be whole frames to read.
    Frames,
    /// The control socket was closed, or broke.
    ControlClosed,
    /// There may be whole lines to read.
    Output,
    /// The process has ended.
    Exited(Option<ExitStatus>),
}

/// A program that did not come up.
#[derive(Debug)]
pub(crate) struct StartFailure {
    pub(crate) reason: StartError,
    /// The end of what it said to standard error, or else to standard output.
    pub(crate) tail: Option<String>,
    /// What it said, as the pack's log.
    pub(crate) said: Vec<PackEvent>,
}

impl From<StartError> for StartFailure {
    fn from(reason: StartError) -> Self {
        Self {
            reason,
            tail: None,
            said: Vec::new(),
        }
    }
}

/// Why a program did not come up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The kernel does not execute it.
    #[error("the program cannot be executed: {0}")]
    Execution(#[source] io::Error),
    /// There is nothing that runs it.
    #[error(transparent)]
    Launcher(#[from] LauncherError),
    /// The runtime cannot talk to it.
    #[error("the program's pipes cannot be set up: {0}")]
    Pipes(#[source] io::Error),
    /// Nothing came from it in time.
    #[error(
        "the program did not report within {} s; is its main `burst::main!`?",
        limits::HELLO.as_secs()
    )]
    Silent,
    /// What it said cannot be.
    #[error(transparent)]
    Violation(#[from] ProtocolViolation),
    /// It was built with an SDK that has no version in common with this runtime.
    #[error(
        "the program was built with version {sdk:.40} of the SDK, which speaks {} of the protocol with the runtime, \
         and the runtime {}: {}",
        program.named(),
        PROGRAM.named(),
        if PROGRAM.are_older(*program) { "upgrade the platform" } else { "build it with a newer SDK" }
    )]
    OtherVersion {
        /// The SDK's.
        sdk: String,
        /// What the program speaks.
        program: Versions,
    },
    /// It said something else first.
    #[error("the program began with something else than hello")]
    NoHello,
    /// Its process ended in this way.
    #[error("the program ended before it was ready: it {0}")]
    Ended(String),
}

impl Program {
    /// Starts the program and waits for its hello.
    pub(crate) async fn start(
        package: Package,
        environment: Environment,
        listener: Option<Arc<OwnedFd>>,
    ) -> Result<Self, StartFailure> {
        let memory = KillCounter::of_this_process();
        let killed_before = memory.read();
        let started = process::start(
            package.command().map_err(StartError::from)?,
            package.directory(),
            &environment,
            listener,
        )
        .await
        .map_err(StartError::Execution)?;
        let control = UnixStream::from_std(started.control).map_err(StartError::Pipes)?;
        let (incoming, outgoing) = control_socket::split(control);
        let mut program = Self {
            incoming,
            outgoing,
            stdout: Pipe::new(LogStream::Stdout, started.stdout).map_err(StartError::Pipes)?,
            stderr: Pipe::new(LogStream::Stderr, started.stderr).map_err(StartError::Pipes)?,
            exit: started.exit,
            group: started.group,
            memory,
            killed_before,
            flares: 0,
            stopped: false,
            workers: Vec::new(),
            allowed: None,
            refused: None,
            package,
        };
        match program.await_hello().await {
            Ok(()) => Ok(program),
            Err(reason) => Err(program.start_failure(reason)),
        }
    }

    /// Nobody will run it, so what it said is told now.
    fn start_failure(mut self, reason: StartError) -> StartFailure {
        let (at, mut room) = (Timestamp::now(), limits::STARTUP_LOG);
        let mut said = Vec::new();
        for pipe in [&mut self.stderr, &mut self.stdout] {
            pipe.drain();
            pipe.finish();
            let lines: Vec<_> = pipe.lines().collect();
            // The last ones: they are about the end.
            for line in lines.into_iter().rev() {
                let Some(left) = room.checked_sub(LINE_COST + line.len()) else {
                    break;
                };
                room = left;
                said.push(PackEvent::Log {
                    worker: None,
                    stream: pipe.stream(),
                    text: line,
                    at,
                });
            }
        }
        said.reverse();
        let tails = [&self.stderr, &self.stdout].map(|pipe| pipe.tail());
        StartFailure {
            reason,
            tail: tails.into_iter().find(|tail| !tail.is_empty()),
            said,
        }
    }

    async fn await_hello(&mut self) -> Result<(), StartError> {
        let deadline = Instant::now() + limits::HELLO;
        let mut open = true;
        loop {
            let event = tokio::select! {
                event = self.next_event(open, true) => event,
                () = sleep_until(deadline) => return Err(StartError::Silent),
            };
            match event {
                SupervisorEvent::Frames => match self.incoming.next() {
                    Ok(None) => {}
                    Ok(Some(frame)) => return Self::check_hello(&frame),
                    Err(violation) => return Err(violation.into()),
                },
                SupervisorEvent::Exited(status) => {
                    let (_, how) = self.explain(status, None);
                    return Err(StartError::Ended(how));
                }
                SupervisorEvent::ControlClosed => open = false,
                // Its first flare's, or for whoever asks why there was no hello.
                SupervisorEvent::Output => {
                    self.stdout.keep_last(limits::STARTUP_LOG);
                    self.stderr.keep_last(limits::STARTUP_LOG);
                }
            }
        }
    }

    fn check_hello(frame: &[u8]) -> Result<(), StartError> {
        match serde_json::from_slice(frame) {
            Ok(ProgramEvent::Hello { sdk, versions }) => {
                let program = versions.unwrap_or(Versions::only(1));
                let other = StartError::OtherVersion { sdk, program };
                PROGRAM.common(program).map(|_| ()).ok_or(other)
            }
            _ => Err(StartError::NoHello),
        }
    }

    /// Waits for the next thing to happen. May be cancelled without loss. `frames` says whether to
    /// read the socket, `alive` that the process has not been seen to end.
    pub(crate) async fn next_event(&mut self, frames: bool, alive: bool) -> SupervisorEvent {
        tokio::select! {
            biased;
            filled = self.incoming.fill(), if frames => match filled {
                Ok(true) => SupervisorEvent::Frames,
                Ok(false) | Err(_) => SupervisorEvent::ControlClosed,
            },
            () = self.stdout.fill() => SupervisorEvent::Output,
            () = self.stderr.fill() => SupervisorEvent::Output,
            status = &mut self.exit, if alive => SupervisorEvent::Exited(status.ok()),
            () = self.outgoing.flush(), if !self.outgoing.is_empty() => SupervisorEvent::Output,
        }
    }

    /// Another flare begins: what was said or counted before is not about it, unless it is what the program said
    /// when it came up. Whether it is the first one.
    pub(crate) fn begin(&mut self) -> bool {
        let first = self.flares == 0;
        if !first {
            self.stdout.reset();
            self.stderr.reset();
        }
        self.flares += 1;
        if std::mem::take(&mut self.stopped) {
            self.signal_workers(libc::SIGCONT);
            self.group.go_on();
        }
        self.killed_before = self.memory.read();
        self.refused = None;
        first
    }

    /// It gets no processor until the next flare begins.
    pub(crate) fn stop(&mut self) {
        self.group.stop();
        self.signal_workers(libc::SIGSTOP);
        self.stopped = true;
    }

    fn signal_workers(&self, signal: i32) {
        self.workers.iter().for_each(|worker| worker.signal(signal));
    }

    /// The flare's workers are about to run: those processes that a launcher has by then stay from flare to flare.
    pub(crate) fn keep_workers(&mut self) {
        if let Some(leader) = self.group.number().filter(|_| self.is_launched()) {
            self.workers = match self.package.is_image() {
                true => descendants::below(leader),
                false => descendants::living_children(leader),
            };
        }
    }

    /// An image starts processes when it likes, and they stay.
    pub(crate) fn keep_images_processes(&mut self) {
        if self.package.is_image() {
            self.keep_workers();
        }
    }

    /// The processes of its workers, beside its own.
    pub(crate) fn workers(&self) -> &[Process] {
        &self.workers
    }

    pub(crate) fn flares(&self) -> u64 {
        self.flares
    }

    /// Whether a launcher of ours speaks for it.
    pub(crate) fn is_launched(&self) -> bool {
        self.package.is_launched()
    }

    /// Where its package is.
    pub(crate) fn directory(&self) -> &Path {
        self.package.directory()
    }

    /// It may have so many MiB in the next flare, if the runtime is to hold it to them.
    pub(crate) fn limit_memory(&mut self, memory: Option<u64>) -> Result<(), MemoryLimitError> {
        self.allowed = memory;
        memory.map_or(Ok(()), |memory| self.group.limit_memory(memory))
    }

    /// Its standard error has this line: it may be its last.
    pub(crate) fn said(&mut self, line: &str) {
        self.refused = memory_limit::refused(line).or(self.refused);
    }

    fn ran_out(&self, bytes: u64) -> String {
        let limit = self.allowed.map_or_else(String::new, |allowed| {
            format!(": its pack may have {allowed} MiB")
        });
        format!("aborted as it could not have {bytes} more bytes of memory{limit}")
    }

    /// Whether the process has ended on its own while nobody looked, or cannot be understood any more.
    pub(crate) fn has_ended(&mut self) -> Option<NotReusable> {
        match self.exit.try_recv() {
            Err(oneshot::error::TryRecvError::Empty) => {
                self.incoming.drain();
                self.incoming
                    .is_cut_short()
                    .then_some(NotReusable::CutShort)
            }
            status => {
                let (_, how) = self.explain(status.ok(), None);
                Some(NotReusable::Died(how))
            }
        }
    }

    /// What kind of failure the process's end is, and how to say so after "it" or "worker 3".
    /// `announced` is the signal that its `dying` event named.
    pub(crate) fn explain(
        &self,
        status: Option<ExitStatus>,
        announced: Option<i32>,
    ) -> (FailureKind, String) {
        let out_of_memory = self.memory.read() > self.killed_before;
        match status.map(Ending::of) {
            None => (FailureKind::Internal, "ended in an unknown way".to_owned()),
            Some(Ending::Exited(code)) => (
                FailureKind::Exit,
                format!("ended the process with exit code {code}"),
            ),
            Some(Ending::Signal(libc::SIGABRT)) if announced == Some(libc::SIGSEGV) => (
                FailureKind::Abort,
                "aborted: its stack overflowed (SIGABRT)".to_owned(),
            ),
            Some(Ending::Signal(libc::SIGABRT)) => match self.refused {
                Some(bytes) => (FailureKind::OutOfMemory, self.ran_out(bytes)),
                None => (FailureKind::Abort, "aborted (SIGABRT)".to_owned()),
            },
            Some(Ending::Signal(libc::SIGKILL)) if out_of_memory => {
                let size = self.memory.limit().map(|limit| format!(" ({limit} MiB)"));
                let how = "was killed for using more memory than its pack has";
                let how = format!("{how}{}", size.unwrap_or_default());
                (FailureKind::OutOfMemory, how)
            }
            Some(Ending::Signal(signal)) => {
                let name = signal_name(signal);
                (
                    FailureKind::Signal,
                    format!("was killed by signal {signal}{name}"),
                )
            }
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (SIGSEGV: it touched memory that is not its own)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGILL => " (SIGILL: an instruction this processor does not know, or a trap)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGSYS => " (SIGSYS: a system call that is not allowed)",
        libc::SIGXCPU => " (SIGXCPU)",
        libc::SIGTRAP => " (SIGTRAP)",
        _ => "",
    }
}
