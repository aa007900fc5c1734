//! Waiting for what shows, and what takes no waiting.

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::PATIENCE;

/// Looks again and again until there is something, for at most as long as patience lasts.
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::yield_now();
    }
}

/// What is done at once has not waited for the flare's time-out. How long it takes is not asserted: this machine may
/// have much else to do.
pub fn assert_at_once(since: Instant) {
    let took = since.elapsed();
    assert!(took < PATIENCE, "it took {took:?}");
}

/// Whether a process of this number is there, be it as a zombie.
pub fn process_exists(process: u64) -> bool {
    PathBuf::from(format!("/proc/{process}")).exists()
}

pub fn wait_until_gone(process: u64) {
    wait_until("the process is gone", || {
        (!process_exists(process)).then_some(())
    });
}

pub fn now_micros() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_micros() as u64
}
