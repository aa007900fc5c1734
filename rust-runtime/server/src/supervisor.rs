//! The user's program once it was started, and what its end means.

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

/// A running program, as all flares on it share it. It is killed when this is dropped.
pub(crate) struct Program {
    pub(crate) group: Arc<ProcessGroup>,
    pub(crate) pipes: Arc<tokio::sync::Mutex<Pipes>>,
    pub(crate) attribution: ExitAttribution,
    exit: watch::Receiver<Option<ExitStatus>>,
    lanes: usize,
    memory: KillCounter,
    /// It will be killed: no flare may begin any more.
    doomed: AtomicBool,
    flares: Mutex<Flares>,
    package: Package,
}

/// What changes with the flares on a program.
#[derive(Default)]
struct Flares {
    killed_before: u64,
    /// How many have begun on it.
    begun: u64,
    /// Whether it is between two of them.
    stopped: bool,
    /// The processes in which a launcher runs its workers, if it has any.
    workers: Vec<Process>,
    /// The last start when nothing ran here but the program and these, and how many processes there were, including
    /// those that have ended.
    alone: Option<(LastStart, usize)>,
    /// The MiB that it may have, where the runtime sees to that.
    allowed: Option<u64>,
    /// The bytes that it said it could not have.
    refused: Option<u64>,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.group.kill();
    }
}

impl Program {
    /// A started process with its pipes, on which up to `lanes` flares may run at once. `memory` had counted
    /// `killed_before` kills before it.
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

    /// How its process ended, once it has.
    pub(crate) fn exit(&self) -> watch::Receiver<Option<ExitStatus>> {
        self.exit.clone()
    }

    /// Another flare begins: unless others run, what was counted before is not about it. Whether it is the first one.
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

    /// It is going to be killed.
    pub(crate) fn doom(&self) {
        self.doomed.store(true, Ordering::Release);
    }

    /// Whether no flare may begin on it any more.
    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    /// It gets no processor until the next flare begins.
    pub(crate) fn stop(&self) {
        let mut flares = self.flares();
        self.group.stop();
        signal(&flares.workers, Signal::STOP);
        flares.stopped = true;
    }

    /// The flare's workers are about to run: those processes that a launcher has by then stay from flare to flare.
    pub(crate) fn keep_workers(&self) {
        // Others that run may have started processes. No launcher has any for its workers where several can.
        if self.is_shared() || self.still_alone().is_some() {
            return;
        }
        if let Some(leader) = self.group.number().filter(|_| self.is_launched()) {
            self.flares().workers = match self.package.is_image() {
                true => descendants::below(leader),
                false => descendants::living_children(leader),
            };
        }
    }

    /// An image starts processes when it likes, and they stay.
    pub(crate) fn keep_images_processes(&self) {
        if self.package.is_image() {
            self.keep_workers();
        }
    }

    /// The processes of its workers, beside its own.
    pub(crate) fn workers(&self) -> Vec<Process> {
        self.flares().workers.clone()
    }

    /// Nothing runs here but it and its workers' processes. `last_start` was read before they were looked at.
    pub(crate) fn is_alone(&self, last_start: Option<LastStart>, processes: usize) {
        self.flares().alone = last_start.map(|last_start| (last_start, processes));
    }

    /// If that is surely so still, how many processes there were.
    pub(crate) fn still_alone(&self) -> Option<usize> {
        let mut flares = self.flares();
        let (last_start, processes) = flares.alone.take()?;
        flares.alone = Some((last_start.renewed()?, processes));
        Some(processes)
    }

    /// How many flares have begun on it.
    pub(crate) fn begun(&self) -> u64 {
        self.flares().begun
    }

    /// Whether several flares can run on it at once.
    pub(crate) fn is_shared(&self) -> bool {
        self.lanes > 1
    }

    /// Whether a launcher of ours speaks for it.
    pub(crate) fn is_launched(&self) -> bool {
        self.package.is_launched()
    }

    /// What it is told before its hello, if it is an interpreter.
    pub(crate) fn init(&self) -> Option<Init<'_>> {
        self.package.init()
    }

    /// Where its package is.
    pub(crate) fn directory(&self) -> &Path {
        self.package.directory()
    }

    /// Sets the MiB of memory that it may have in the next flare, if the runtime is to enforce a limit.
    pub(crate) fn limit_memory(&self, memory: Option<u64>) -> Result<(), MemoryLimitError> {
        self.flares().allowed = memory;
        memory.map_or(Ok(()), |memory| self.group.limit_memory(memory))
    }

    /// Its standard error has this line: it may be its last.
    pub(crate) fn said(&self, line: &str) {
        if let Some(bytes) = memory_limit::refused(line) {
            self.flares().refused = Some(bytes);
        }
    }

    /// Whether the process has ended on its own while nobody looked.
    pub(crate) fn has_ended(&self) -> Option<NotReusable> {
        // Nothing is told any more, or how.
        let status = *self.exit.borrow();
        if status.is_none() && self.exit.has_changed().is_ok() {
            return None;
        }
        Some(NotReusable::Died(self.explain(status, None)))
    }

    /// How the process ended, as far as its status and what it said before tell. `announced` is the signal that its
    /// `dying` event named.
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
