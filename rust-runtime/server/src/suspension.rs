//! Stops a warm program between its flares.
//!
//! Between flares the program is stopped (`SIGSTOP`), so that it gets no processor. It cannot prevent that, but it can
//! undo it: a timer of its own goes on meanwhile and may send it `SIGCONT`. The kernel tells its parent, so that a
//! program that goes on before the runtime has it do so is killed, whether it has stopped again or not. The pack of a
//! group is not stopped: it holds its workers' slots from flare to flare, and what they keep.

use std::fs;
use std::time::{Duration, Instant};

use crate::cleanup;
use crate::limits;
use crate::not_reusable::NotReusable;
use crate::proc_file;
use crate::process::StateChange;
use crate::supervisor::Program;

/// Stops a program a moment after its flare, and looks whether it stays stopped until the next.
pub(crate) struct Suspension {
    flares: u64,
    stage: Stage,
}

enum Stage {
    /// It has not been looked at: most have their next flare before that.
    Unseen,
    /// Since when it is looked at, how long it had been runnable by then, and whether it was seen to compute once: on a
    /// busy machine threads take long to end.
    Pending {
        since: Instant,
        runnable: Duration,
        computed: bool,
    },
    /// The program was told to stop then, and is not known to have done so.
    Requested(Instant),
    /// It has stopped, which its workers' processes may take as long for.
    Stopped(Instant),
}

impl Suspension {
    pub(crate) fn of(program: &Program) -> Self {
        Self {
            flares: program.begun(),
            stage: Stage::Unseen,
        }
    }

    /// Whether no flare has begun meanwhile.
    pub(crate) fn is_current(&self, program: &Program) -> bool {
        self.flares == program.begun()
    }

    /// Stops a program until its next flare, and then looks whether it stays so. The error says why it is of no use for
    /// one.
    pub(crate) fn advance(&mut self, program: &Program) -> Result<(), NotReusable> {
        match self.stage {
            Stage::Unseen => {
                self.stage = Self::pending(program, false);
                return Ok(());
            }
            Stage::Pending { since, .. } if since.elapsed() < self.next_look() => return Ok(()),
            Stage::Pending {
                since,
                runnable: before,
                computed,
            } => {
                // Its threads have been at it for half of the time.
                if runnable(program).saturating_sub(before) * 2 > since.elapsed() {
                    if computed {
                        return Err(NotReusable::Computing);
                    }
                    self.stage = Self::pending(program, true);
                    return Ok(());
                }
                self.suspend(program)?;
                self.stage = Stage::Requested(Instant::now());
            }
            Stage::Requested(_) | Stage::Stopped(_) => {}
        }
        let woken = match (program.group.state_change(), &self.stage) {
            (Some(StateChange::Stopped), Stage::Requested(at)) => {
                self.stage = Stage::Stopped(*at);
                false
            }
            (Some(_), _) => true,
            // That it has stopped is never told if it goes on before all its threads have.
            (None, Stage::Requested(at)) => at.elapsed() > limits::STOPPING,
            // Of the end or the stop of other processes nothing is told.
            (None, Stage::Stopped(at)) => {
                at.elapsed() > limits::STOPPING
                    && !program.workers().iter().all(|worker| worker.rests())
            }
            (None, Stage::Unseen | Stage::Pending { .. }) => false,
        };
        match woken {
            true => Err(NotReusable::NotStopped),
            false => Ok(()),
        }
    }

    /// How long it may be left alone.
    pub(crate) fn next_look(&self) -> Duration {
        match self.stage {
            Stage::Unseen
            | Stage::Pending {
                computed: false, ..
            } => limits::PAUSE,
            Stage::Pending { computed: true, .. } => limits::PAUSE * 2,
            _ => limits::STOPPING,
        }
    }

    fn pending(program: &Program, computed: bool) -> Stage {
        Stage::Pending {
            since: Instant::now(),
            runnable: runnable(program),
            computed,
        }
    }

    fn suspend(&self, program: &Program) -> Result<(), NotReusable> {
        // That it went on with the flare that has ended is not told yet.
        program.group.state_change();
        program.keep_images_processes();
        program.stop();
        match cleanup::kill_descendants(program).is_some() {
            true => Ok(()),
            false => Err(NotReusable::Unkillable),
        }
    }
}

/// For how long a program's threads together have been on a processor or waited for one; zero where the kernel does not
/// tell.
fn runnable(program: &Program) -> Duration {
    let workers = program.workers();
    let workers = workers.iter().map(|worker| worker.number);
    let processes = program.group.number().into_iter().chain(workers);
    let tasks = processes.filter_map(|number| fs::read_dir(format!("/proc/{number}/task")).ok());
    let nanoseconds = tasks.flatten().flatten().filter_map(|task| {
        let told = proc_file::read_text(task.path().join("schedstat")).ok()?;
        let mut told = told.split(' ').map(|number| number.parse::<u64>().ok());
        Some(told.next()?? + told.next()??)
    });
    Duration::from_nanos(nanoseconds.sum())
}
