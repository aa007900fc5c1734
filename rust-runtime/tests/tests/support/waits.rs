//! Waits for visible effects, and checks that something did not wait.

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use burst_test_servers::wait;

use super::PATIENCE;

/// Asserts that something did not wait for the flare's timeout. The limit is generous, because the machine may be
/// busy.
pub fn assert_at_once(since: Instant) {
    let took = since.elapsed();
    assert!(took < PATIENCE, "it took {took:?}");
}

/// Whether a process with this id exists, even as a zombie.
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
