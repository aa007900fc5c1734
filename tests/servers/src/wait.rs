//! Waiting for observable state, never for time alone.

use std::thread;
use std::time::{Duration, Instant};

/// How long a state that is due may take to show; generous, for machines that do other things too. Nothing else
/// ends a wait that is in vain: no test may count on its being short.
pub const SOON: Duration = Duration::from_secs(180);

/// Between two looks: a part of what has been waited, as who waits for long is not to be told at once, and a look costs
/// something. At least, and at most.
const PAUSE: u32 = 4;
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(50);

/// Polls until `probe` gives something, and fails the test with `what` when `limit` has passed.
#[track_caller]
pub fn until<T>(what: &str, limit: Duration, probe: impl FnMut() -> Option<T>) -> T {
    until_told(limit, probe, || what.to_owned())
}

/// As [`until`], with a message that is made when the wait was in vain.
#[track_caller]
pub fn until_told<T>(
    limit: Duration,
    probe: impl FnMut() -> Option<T>,
    what: impl Fn() -> String,
) -> T {
    let Some(found) = within(limit, probe) else {
        panic!("waited {limit:?} in vain: {}", what())
    };
    found
}

/// As [`until`], with the last thing seen in the message when the wait was in vain.
#[track_caller]
pub fn until_seen<T: std::fmt::Debug>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> T,
    good: impl Fn(&T) -> bool,
) -> T {
    let mut last = None;
    let probe = || {
        let seen = look();
        if good(&seen) {
            return Some(seen);
        }
        last = Some(seen);
        None
    };
    let Some(seen) = within(limit, probe) else {
        panic!("waited {limit:?} in vain: {what}; last seen: {last:#?}")
    };
    seen
}

/// Polls until `probe` gives something, or `limit` has passed.
pub fn within<T>(limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let found = probe();
        if found.is_some() || began.elapsed() >= limit {
            return found;
        }
        thread::sleep((began.elapsed() / PAUSE).clamp(SHORTEST, LONGEST));
    }
}
