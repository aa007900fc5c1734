//! The timers of a flare, which act when nothing else happens.

use std::time::Duration;

use burst_protocol::RunPack;
use tokio::time::Instant;

use crate::limits;

/// The times at which timers of a flare's pack expire.
#[derive(Debug)]
pub(super) struct Timers {
    /// When the flare's time is up.
    deadline: Instant,
    /// How long a program may still take to join the flare.
    ready: Option<Steps>,
    /// When the lease ends, unless it is renewed before, and the invoker counts as lost.
    lease: Option<Instant>,
    /// When the program is killed if it has not ended by itself.
    kill: Option<Instant>,
}

/// A timer that has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// The program has not ended in the time it was given.
    Kill,
    /// The flare's lease has ended.
    Lapsed,
    /// The flare's time is up.
    Overdue,
    /// The program has not joined the flare in time.
    NotReady,
}

impl Timers {
    pub(super) fn new(run: &RunPack) -> Self {
        let now = Instant::now();
        Self {
            deadline: run.deadline.due().into(),
            ready: Some(Steps::of(limits::READY)),
            lease: run.lease.map(|lease| now + lease.min(FOREVER)),
            kill: None,
        }
    }

    pub(super) fn is_overdue(&self) -> bool {
        self.deadline <= Instant::now()
    }

    /// Records that the program has joined the flare.
    pub(super) fn joined(&mut self) {
        self.ready = None;
    }

    pub(super) fn renew(&mut self, lease: Duration) {
        self.lease = Some(Instant::now() + lease.min(FOREVER));
    }

    pub(super) fn kill_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.kill = Some(self.kill.map_or(at, |earlier| earlier.min(at)));
    }

    /// Returns how long anyone waits for the outcome of a clean-up after a flare that ended at this moment.
    pub(super) fn last_word(&self, ended: Instant) -> Instant {
        let due = (self.lease).map_or(self.deadline, |lease| lease.min(self.deadline));
        due.max(ended) + limits::OVERTIME
    }

    /// Returns when the next timer expires. `ending` is whether the flare is being ended for some reason.
    pub(super) fn next(&self, ending: bool) -> Instant {
        let ready = self.ready.as_ref().map(|steps| steps.next);
        let reasons = [Some(self.deadline), ready].map(|at| at.filter(|_| !ending));
        let moments = reasons.into_iter().chain([self.lease, self.kill]);
        let never = Instant::now() + FOREVER;
        moments.flatten().min().unwrap_or(never)
    }

    /// Returns which timer has expired, the most urgent one first.
    pub(super) fn due(&mut self, ending: bool) -> Option<Due> {
        let now = Instant::now();
        let over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if over(self.kill) {
            Some(Due::Kill)
        } else if over(self.lease) {
            Some(Due::Lapsed)
        } else if ending {
            None
        } else if self.is_overdue() {
            Some(Due::Overdue)
        } else {
            let late = self.ready.as_mut().is_some_and(Steps::are_over);
            late.then_some(Due::NotReady)
        }
    }
}

/// A time in parts, each of which begins when the last one was seen to be over: this process was running in all of
/// them, and so could others.
#[derive(Debug)]
struct Steps {
    next: Instant,
    step: Duration,
    left: u32,
}

impl Steps {
    const PARTS: u32 = 8;

    fn of(limit: Duration) -> Self {
        let step = limit / Self::PARTS;
        Self {
            next: Instant::now() + step,
            step,
            left: Self::PARTS - 1,
        }
    }

    fn are_over(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        if self.left > 0 {
            self.left -= 1;
            self.next = now + self.step;
            return false;
        }
        true
    }
}

/// A time longer than any flare runs.
pub(super) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn a_pause_of_this_process_counts_as_one_part() {
        let part = Duration::from_millis(5);
        let mut steps = Steps::of(part * Steps::PARTS);
        for _ in 1..Steps::PARTS {
            sleep(part * Steps::PARTS);
            assert!(!steps.are_over());
        }
        sleep(part);
        assert!(steps.are_over());
    }

    #[test]
    fn a_late_clean_up_ends_before_the_invoker_gives_the_pack_up() {
        let (ended, second) = (Instant::now(), Duration::from_secs(1));
        let timers = |deadline, lease| Timers {
            deadline,
            ready: None,
            lease,
            kill: None,
        };
        let in_a_minute = ended + second * 60;
        let last = |timers: Timers| timers.last_word(ended) - limits::OVERTIME;
        assert_eq!(last(timers(in_a_minute, None)), in_a_minute);
        assert_eq!(
            last(timers(in_a_minute, Some(ended + second))),
            ended + second
        );
        // Its deadline had passed, but it has ended well: a clean-up that takes no time is done.
        assert_eq!(last(timers(ended - second, None)), ended);
    }
}
