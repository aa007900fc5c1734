//! The processor time that threads have used, and the time they have waited for it: on a busy machine a thread with
//! much to do may have used little.

use std::fs;
use std::ops::Sub;
use std::time::Duration;

use crate::limits;
use crate::proc_file;

/// The times of some threads, as the kernel counts them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CpuTime {
    /// Time spent on a processor.
    pub(crate) ran: Duration,
    /// Time spent waiting for a processor.
    waited: Duration,
}

impl CpuTime {
    /// Adds up the times of these processes' threads; zero if the kernel does not report them.
    pub(crate) fn of(processes: impl Iterator<Item = i32>) -> Self {
        let tasks =
            processes.filter_map(|number| fs::read_dir(format!("/proc/{number}/task")).ok());
        let told = tasks.flatten().flatten().filter_map(|task| {
            let told = proc_file::read_text(task.path().join("schedstat")).ok()?;
            let mut told = told.split(' ').map(|number| number.parse::<u64>().ok());
            Some((told.next()??, told.next()??))
        });
        let (ran, waited) = told.fold((0, 0), |(ran, waited), of_one| {
            (ran + of_one.0, waited + of_one.1)
        });
        Self {
            ran: Duration::from_nanos(ran),
            waited: Duration::from_nanos(waited),
        }
    }

    /// Returns whether the threads had something to do for more than half of this time.
    pub(crate) fn fills(self, time: Duration) -> bool {
        (self.ran + self.waited) * 2 > time
    }

    /// Returns how much of it counts as computing: not all, so that one observation is never enough.
    pub(crate) fn computed(self) -> Duration {
        self.ran.min(limits::COMPUTING_IN_ONE)
    }
}

/// Returns the times since then; zero if threads that had used much have ended.
impl Sub for CpuTime {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(before.ran),
            waited: self.waited.saturating_sub(before.waited),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const fn cpu_time(ran: u64, waited: u64) -> CpuTime {
        CpuTime {
            ran: Duration::from_millis(ran),
            waited: Duration::from_millis(waited),
        }
    }

    #[test]
    fn waiting_for_a_processor_is_not_computing() {
        let (long, starved) = (Duration::from_secs(10), cpu_time(1, 9999));
        assert!(starved.fills(long) && !cpu_time(0, 1).fills(long));
        assert!(starved.computed() < limits::COMPUTING);
    }

    #[test]
    fn one_sample_is_not_enough_and_two_are() {
        let spins = cpu_time(10_000, 0).computed();
        assert!(spins < limits::COMPUTING && spins * 2 > limits::COMPUTING);
    }

    #[test]
    fn processes_that_have_ended_do_not_count() {
        let since = cpu_time(1, 300) - cpu_time(2, 100);
        assert_eq!((since.ran, since.waited.as_millis()), (Duration::ZERO, 200));
    }

    #[test]
    fn this_process_has_used_cpu_time() {
        let own = || CpuTime::of(std::iter::once(std::process::id() as i32));
        let before = own();
        if before.ran.is_zero() {
            // This kernel does not report it.
            return;
        }
        let begun = Instant::now();
        while (own() - before).ran.is_zero() {
            assert!(begun.elapsed() < Duration::from_secs(60));
        }
    }
}
