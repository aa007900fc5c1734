//! Differences between times that a platform tells.

use std::time::{Duration, SystemTime};

/// Returns how long it was from one time to another, which must not be earlier.
#[track_caller]
pub fn between(start: SystemTime, end: SystemTime) -> Duration {
    end.duration_since(start)
        .expect("the end is not before the start")
}

/// The same in milliseconds.
#[track_caller]
pub fn milliseconds_between(start: SystemTime, end: SystemTime) -> f64 {
    between(start, end).as_secs_f64() * 1e3
}
