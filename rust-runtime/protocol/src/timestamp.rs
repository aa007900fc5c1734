//! Timestamps that processes exchange.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment, in microseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Returns the current time by the machine's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Makes a timestamp of microseconds since the epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the time between the two, whichever is earlier.
    pub const fn distance(self, other: Self) -> Duration {
        Duration::from_micros(self.0.abs_diff(other.0))
    }

    /// Converts it to the monotonic clock. A deadline should be converted once, as soon as it is known: from then on,
    /// setting the machine's clock does not move it.
    pub fn due(self) -> Instant {
        const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
        let left = SystemTime::from(self).duration_since(SystemTime::now());
        Instant::now() + left.unwrap_or(Duration::ZERO).min(FOREVER)
    }
}

impl From<SystemTime> for Timestamp {
    /// Times before the epoch become the epoch.
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
