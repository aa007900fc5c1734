//! Time limits that count only the time in which this process runs: otherwise, when a process that
//! stood still resumes, all its waits would be over before it has read what arrived in the
//! meantime.

use std::time::{Duration, Instant};

/// The most that counts between two checks. Callers usually check more often; a wait without checks
/// lasts longer.
const PART: Duration = Duration::from_millis(250);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    waited: Duration,
    last_look: Instant,
}

impl Patience {
    /// A limit that starts to count now.
    pub(super) fn of(limit: Duration) -> Self {
        Self {
            limit,
            waited: Duration::ZERO,
            last_look: Instant::now(),
        }
    }

    /// Whether the limit has been reached.
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
    fn time_without_checks_counts_as_one_part() {
        let mut patience = Patience::of(2 * PART);
        let woken = Instant::now() + Duration::from_secs(3600);
        assert!(!patience.is_over_at(woken));
        assert!(!patience.is_over_at(woken + PART / 2));
        assert!(patience.is_over_at(woken + PART));
    }
}
