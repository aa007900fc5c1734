//! Waiting for observable state, never for time alone.

use std::thread;
use std::time::{Duration, Instant};

/// How long an expected state may take to appear; generous, for machines that do other work too. A failing wait always
/// takes this long: no test may rely on its being short.
pub const SOON: Duration = Duration::from_secs(180);

/// The pause between two polls is a fraction of the time waited so far, since a long wait need not be noticed
/// immediately and polling costs something. It has a minimum and a maximum.
const PAUSE: u32 = 4;
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(50);

/// Polls until `probe` returns something, and fails the test with `what` once `limit` has passed.
#[track_caller]
pub fn until<T>(what: &str, limit: Duration, probe: impl FnMut() -> Option<T>) -> T {
    until_or_explain(limit, probe, || what.to_owned())
}

/// Like [`until`], with a message that is built only if the wait fails.
#[track_caller]
pub fn until_or_explain<T>(
    limit: Duration,
    probe: impl FnMut() -> Option<T>,
    what: impl Fn() -> String,
) -> T {
    let Some(found) = within(limit, probe) else {
        panic!("waited {limit:?} in vain: {}", what())
    };
    found
}

/// Like [`until`], with the last observed value in the message if the wait fails.
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

/// Polls until `probe` returns something or `limit` has passed.
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
