//! Stops a warm program between its flares.
//!
//! Between flares the program is stopped (`SIGSTOP`), so that it gets no processor time. It cannot prevent that, but it
//! can undo it: a timer of its own keeps running and may send it `SIGCONT`. The kernel reports this to its parent, so a
//! program that continues before the runtime lets it is killed, even if it has stopped again. The pack of a group is
//! not stopped: it holds its workers' slots from flare to flare, and their state.

use std::time::{Duration, Instant};

use crate::cleanup;
use crate::cpu_time::CpuTime;
use crate::limits;
use crate::not_reusable::NotReusable;
use crate::process::StateChange;
use crate::supervisor::Program;

/// Stops a program a moment after its flare, and checks that it stays stopped until the next.
pub(crate) struct Suspension {
    flares: u64,
    stage: Stage,
}

enum Stage {
    /// It has not been observed yet: most programs have their next flare before that.
    Unseen,
    Pending(Observation),
    /// The program was sent the signal to stop, and is not known to have done so.
    Requested(Request),
    /// The program has stopped; its workers' processes may take as long to stop.
    Stopped(Request),
}

/// The last observation of a program that should come to rest: on a busy machine its threads take long to end.
#[derive(Clone, Copy)]
struct Observation {
    began: Instant,
    at: Instant,
    cpu_time: CpuTime,
    /// The processor time that counted in earlier observations, at each of which it had something to do.
    computed: Duration,
}

impl Observation {
    fn first(program: &Program) -> Self {
        let now = Instant::now();
        Self {
            began: now,
            at: now,
            cpu_time: cpu_time(program),
            computed: Duration::ZERO,
        }
    }

    /// Makes the next observation; none if the program is at rest, or has waited so long for a processor that it might
    /// as well be stopped.
    fn next(self, program: &Program) -> Option<Self> {
        let (at, cpu_time) = (Instant::now(), cpu_time(program));
        let had = cpu_time - self.cpu_time;
        let goes_on = had.fills(at - self.at) && at - self.began < limits::STOPPING;
        goes_on.then(|| Self {
            at,
            cpu_time,
            computed: self.computed + had.computed(),
            ..self
        })
    }
}

/// When the program was sent the signal to stop, and how much processor time it had used by then.
#[derive(Clone, Copy)]
struct Request {
    at: Instant,
    cpu_time: CpuTime,
}

impl Request {
    /// Returns whether a program that has not stopped by now is not going to: a lack of processor time is no sign of
    /// that.
    fn is_ignored(self, program: &Program) -> bool {
        let since = self.at.elapsed();
        let goes_on = || (cpu_time(program) - self.cpu_time).ran > limits::COMPUTING;
        since > limits::STOPPING || (since > limits::RESTING && goes_on())
    }
}

impl Suspension {
    pub(crate) fn of(program: &Program) -> Self {
        Self {
            flares: program.begun(),
            stage: Stage::Unseen,
        }
    }

    /// Returns whether no flare has begun since.
    pub(crate) fn is_current(&self, program: &Program) -> bool {
        self.flares == program.begun()
    }

    /// Takes the next step: stops the program until its next flare, then checks that it stays stopped. The error is why
    /// it cannot be used for another flare.
    pub(crate) fn advance(&mut self, program: &Program) -> Result<(), NotReusable> {
        match self.stage {
            Stage::Unseen => {
                self.stage = Stage::Pending(Observation::first(program));
                return Ok(());
            }
            Stage::Pending(last) if last.at.elapsed() < self.next_check() => return Ok(()),
            Stage::Pending(last) => match last.next(program) {
                Some(next) if next.computed > limits::COMPUTING => {
                    return Err(NotReusable::Computing);
                }
                Some(next) => {
                    self.stage = Stage::Pending(next);
                    return Ok(());
                }
                None => {
                    self.suspend(program)?;
                    self.stage = Stage::Requested(Request {
                        at: Instant::now(),
                        cpu_time: cpu_time(program),
                    });
                }
            },
            Stage::Requested(_) | Stage::Stopped(_) => {}
        }
        let woken = match (program.group.state_change(), &self.stage) {
            (Some(StateChange::Stopped), Stage::Requested(request)) => {
                self.stage = Stage::Stopped(*request);
                false
            }
            (Some(_), _) => true,
            // Its stop is never reported if it continues before all its threads have stopped.
            (None, Stage::Requested(request)) => request.is_ignored(program),
            // The end or the stop of other processes is not reported.
            (None, Stage::Stopped(request)) => {
                !program.workers().iter().all(|worker| worker.rests())
                    && request.is_ignored(program)
            }
            (None, Stage::Unseen | Stage::Pending(_)) => false,
        };
        match woken {
            true => Err(NotReusable::NotStopped),
            false => Ok(()),
        }
    }

    /// Returns how long to wait before the next call of [`Self::advance`].
    pub(crate) fn next_check(&self) -> Duration {
        match self.stage {
            Stage::Pending(last) if !last.computed.is_zero() => limits::PAUSE * 2,
            Stage::Unseen | Stage::Pending(_) => limits::PAUSE,
            Stage::Requested(_) | Stage::Stopped(_) => limits::RESTING,
        }
    }

    fn suspend(&self, program: &Program) -> Result<(), NotReusable> {
        // Discards a report that it continued for the flare that has ended.
        program.group.state_change();
        program.keep_images_processes();
        program.stop();
        match cleanup::kill_descendants(program).is_some() {
            true => Ok(()),
            false => Err(NotReusable::Unkillable),
        }
    }
}

/// Returns the processor time of a program and its workers' processes.
fn cpu_time(program: &Program) -> CpuTime {
    let workers = program.workers();
    let workers = workers.iter().map(|worker| worker.number);
    CpuTime::of(program.group.number().into_iter().chain(workers))
}
