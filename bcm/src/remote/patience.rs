//! Waiting for so long, of the time in which this process goes on: when one that stood still does,
//! all its waits would be over before it has heard what came meanwhile.

use std::time::{Duration, Instant};

/// What counts between two looks at most. Whoever waits looks more often, as a rule: a wait during which nobody looks
/// is longer.
const PART: Duration = Duration::from_millis(250);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    waited: Duration,
    last_look: Instant,
}

impl Patience {
    /// Begins now.
    pub(super) fn of(limit: Duration) -> Self {
        Self {
            limit,
            waited: Duration::ZERO,
            last_look: Instant::now(),
        }
    }

    /// Whether that is over.
    pub(super) fn is_over(&mut self) -> bool {
        self.is_over_at(Instant::now())
    }

    fn is_over_at(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.last_look);
        self.waited = self.waited.saturating_add(passed.min(PART));
        self.last_look = now;
        self.waited >= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_which_nobody_looked_counts_as_a_part() {
        let mut patience = Patience::of(2 * PART);
        let woken = Instant::now() + Duration::from_secs(3600);
        assert!(!patience.is_over_at(woken));
        assert!(!patience.is_over_at(woken + PART / 2));
        assert!(patience.is_over_at(woken + PART));
    }
}
