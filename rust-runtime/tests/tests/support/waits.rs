//! Waiting for what shows, and what takes no waiting.

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use burst_test_servers::wait;

use super::PATIENCE;

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
    wait::until("the process is gone", wait::SOON, || {
        (!process_exists(process)).then_some(())
    });
}

pub fn now_micros() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_micros() as u64
}
