//! Moments, as they are told from one process to another.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment, in microseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// By the machine's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// This many microseconds after the epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// How many microseconds it is after the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long before or after the other it is.
    pub const fn distance(self, other: Self) -> Duration {
        Duration::from_micros(self.0.abs_diff(other.0))
    }

    /// The same time on the monotonic clock. To be converted once, as soon as a deadline is known: from then on it does
    /// not move when the machine's clock is set.
    pub fn due(self) -> Instant {
        const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
        let left = SystemTime::from(self).duration_since(SystemTime::now());
        Instant::now() + left.unwrap_or(Duration::ZERO).min(FOREVER)
    }
}

impl From<SystemTime> for Timestamp {
    /// The epoch where it is earlier.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(moment: Timestamp) -> Self {
        UNIX_EPOCH + Duration::from_micros(moment.0)
    }
}
