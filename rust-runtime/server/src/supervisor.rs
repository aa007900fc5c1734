//! The user's program after its start, and what its end means.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burst_protocol::Init;
use rustix::process::Signal;
use tokio::sync::watch;

use crate::descendants::{self, Process};
use crate::exit_attribution::ExitAttribution;
use crate::last_start::LastStart;
use crate::logs::Pipes;
use crate::memory::KillCounter;
use crate::memory_limit::{self, MemoryLimitError};
use crate::not_reusable::NotReusable;
use crate::package::Package;
use crate::process::{Ending, ProcessGroup};
use crate::process_end::ProcessEnd;

/// A running program, shared by all flares on it. It is killed when this is dropped.
pub(crate) struct Program {
    pub(crate) group: Arc<ProcessGroup>,
    pub(crate) pipes: Arc<tokio::sync::Mutex<Pipes>>,
    pub(crate) attribution: ExitAttribution,
    exit: watch::Receiver<Option<ExitStatus>>,
    lanes: usize,
    memory: KillCounter,
    /// Whether it will be killed, so that no further flare may begin.
    doomed: AtomicBool,
    flares: Mutex<Flares>,
    package: Package,
}

/// What changes with the flares on a program.
#[derive(Default)]
struct Flares {
    killed_before: u64,
    /// How many flares have begun on it.
    begun: u64,
    /// Whether it was stopped between two of them.
    stopped: bool,
    /// The processes in which a launcher runs its workers, if it has any.
    workers: Vec<Process>,
    /// The last start when nothing ran here but the program and its workers' processes, and how many processes there
    /// were, including those that have ended.
    alone: Option<(LastStart, usize)>,
    /// The MiB that it may have, if the runtime enforces a limit.
    allowed: Option<u64>,
    /// The size of an allocation that it reported as failed.
    refused: Option<u64>,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.group.kill();
    }
}

impl Program {
    /// Makes the program of a started process, on which up to `lanes` flares may run at once. `memory` had counted
    /// `killed_before` kills before its start.
    pub(crate) fn new(
        package: Package,
        group: Arc<ProcessGroup>,
        exit: watch::Receiver<Option<ExitStatus>>,
        pipes: Pipes,
        lanes: usize,
        (memory, killed_before): (KillCounter, u64),
    ) -> Self {
        let flares = Flares {
            killed_before,
            ..Flares::default()
        };
        Self {
            group,
            pipes: Arc::new(tokio::sync::Mutex::new(pipes)),
            attribution: ExitAttribution::new(),
            exit,
            lanes,
            memory,
            doomed: AtomicBool::new(false),
            flares: Mutex::new(flares),
            package,
        }
    }

    /// Returns a channel that receives how its process ended.
    pub(crate) fn exit(&self) -> watch::Receiver<Option<ExitStatus>> {
        self.exit.clone()
    }

    /// Begins another flare. If it is `alone`, continues a stopped program, and what was counted before is not about
    /// this flare. Returns whether it is the first one.
    pub(crate) fn begin(&self, alone: bool) -> bool {
        self.attribution.join();
        let mut flares = self.flares();
        flares.begun += 1;
        if alone {
            if std::mem::take(&mut flares.stopped) {
                signal(&flares.workers, Signal::CONT);
                self.group.go_on();
            }
            flares.killed_before = self.memory.read();
            flares.refused = None;
        }
        flares.begun == 1
    }

    /// Records that it is going to be killed.
    pub(crate) fn doom(&self) {
        self.doomed.store(true, Ordering::Release);
    }

    /// Returns whether no further flare may begin on it.
    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    /// Stops it, so that it gets no processor time until the next flare begins.
    pub(crate) fn stop(&self) {
        let mut flares = self.flares();
        self.group.stop();
        signal(&flares.workers, Signal::STOP);
        flares.stopped = true;
    }

    /// Records which processes a launcher has when the flare's workers are about to run: these stay from flare to
    /// flare.
    pub(crate) fn keep_workers(&self) {
        // Other flares that run may have started processes. Launchers that can run several flares have no processes for
        // their workers.
        if self.is_shared() || self.processes_if_still_alone().is_some() {
            return;
        }
        if let Some(leader) = self.group.number().filter(|_| self.is_launched()) {
            self.flares().workers = match self.package.is_image() {
                true => descendants::below(leader),
                false => descendants::living_children(leader),
            };
        }
    }

    /// Records the processes of an image, which starts them at any time: they stay.
    pub(crate) fn keep_images_processes(&self) {
        if self.package.is_image() {
            self.keep_workers();
        }
    }

    /// Returns the processes of its workers, beside its own.
    pub(crate) fn workers(&self) -> Vec<Process> {
        self.flares().workers.clone()
    }

    /// Records that nothing runs here but it and its workers' processes. `last_start` was read before they were looked
    /// at.
    pub(crate) fn note_alone(&self, last_start: Option<LastStart>, processes: usize) {
        self.flares().alone = last_start.map(|last_start| (last_start, processes));
    }

    /// Returns how many processes there were then, if certainly none has started since.
    pub(crate) fn processes_if_still_alone(&self) -> Option<usize> {
        let mut flares = self.flares();
        let (last_start, processes) = flares.alone.take()?;
        flares.alone = Some((last_start.renewed()?, processes));
        Some(processes)
    }

    /// Returns how many flares have begun on it.
    pub(crate) fn begun(&self) -> u64 {
        self.flares().begun
    }

    /// Returns whether several flares can run on it at once.
    pub(crate) fn is_shared(&self) -> bool {
        self.lanes > 1
    }

    /// Returns whether one of the platform's launchers speaks for it.
    pub(crate) fn is_launched(&self) -> bool {
        self.package.is_launched()
    }

    /// Returns the message that it receives before its hello, if it is an interpreter.
    pub(crate) fn init(&self) -> Option<Init<'_>> {
        self.package.init()
    }

    /// Returns the directory of its package.
    pub(crate) fn directory(&self) -> &Path {
        self.package.directory()
    }

    /// Sets how many MiB of memory it may have in the next flare, if the runtime is to enforce a limit.
    pub(crate) fn limit_memory(&self, memory: Option<u64>) -> Result<(), MemoryLimitError> {
        self.flares().allowed = memory;
        memory.map_or(Ok(()), |memory| self.group.limit_memory(memory))
    }

    /// Notes a line of its output, which may report a failed allocation and be its last.
    pub(crate) fn said(&self, line: &str) {
        if let Some(bytes) = memory_limit::refused(line) {
            self.flares().refused = Some(bytes);
        }
    }

    /// Returns how the process has ended on its own, if it has.
    pub(crate) fn has_ended(&self) -> Option<NotReusable> {
        // It has ended if there is a status, or if none can be sent any more.
        let status = *self.exit.borrow();
        if status.is_none() && self.exit.has_changed().is_ok() {
            return None;
        }
        Some(NotReusable::Died(self.explain(status, None)))
    }

    /// Returns how the process ended, as far as its status and its earlier output show. `announced` is the signal that
    /// its `dying` event named.
    pub(crate) fn explain(&self, status: Option<ExitStatus>, announced: Option<i32>) -> ProcessEnd {
        let flares = self.flares();
        let out_of_memory = self.memory.read() > flares.killed_before;
        match status.map(Ending::of) {
            None => ProcessEnd::Unknown,
            Some(Ending::Exited(code)) => ProcessEnd::Exited(code),
            Some(Ending::Signal(libc::SIGABRT)) if announced == Some(libc::SIGSEGV) => {
                ProcessEnd::StackOverflow
            }
            Some(Ending::Signal(libc::SIGABRT)) => match flares.refused {
                Some(bytes) => ProcessEnd::NoMemory {
                    bytes,
                    allowed: flares.allowed,
                },
                None => ProcessEnd::Aborted,
            },
            Some(Ending::Signal(libc::SIGKILL)) if out_of_memory => ProcessEnd::OutOfMemory {
                limit: self.memory.limit(),
            },
            Some(Ending::Signal(signal)) => ProcessEnd::Signal(signal),
        }
    }

    fn flares(&self) -> MutexGuard<'_, Flares> {
        self.flares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn signal(workers: &[Process], signal: Signal) {
    workers.iter().for_each(|worker| worker.signal(signal));
}
