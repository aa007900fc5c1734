//! Bytes in flight stay under the configured bound, and so does the memory of the process.
//!
//! One test in a process of its own, because it measures the process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::time::Duration;

use burst_bcm::{BackendConfig, PackConfig, testing};

const MIB: usize = 1 << 20;
/// What each pack may hold that nobody has received.
const BOUND: usize = 24 * MIB;
const WORKERS: u32 = 16;
/// What each worker has for all others together.
const EACH: usize = 16 * MIB;
/// Chunks being written and read, stacks, and what the allocator keeps.
const SLACK: usize = 64 * MIB;

fn field(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap();
    let kilobytes: usize = line
        .trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kilobytes << 10
}

/// The memory the process has, and the most it had since `forget_peak`.
fn now() -> usize {
    field("VmRSS")
}

fn peak() -> usize {
    field("VmHWM")
}

fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

fn configure(config: &mut PackConfig) {
    config.max_bytes_in_flight = BOUND;
    config.operation_timeout = Duration::from_secs(60);
}

#[test]
fn memory_stays_under_the_bound() {
    what_nobody_receives_is_held_up();
    all_to_all_needs_its_values_and_the_bound();
}

/// Eight workers send 16 MB each to workers that do not receive yet.
fn what_nobody_receives_is_held_up() {
    let half = WORKERS / 2;
    let packs = testing::packs(&[half, half], &BackendConfig::new("direct"), configure).unwrap();
    let results = testing::run_on(&packs, |worker| {
        let me = worker.worker_id();
        let piece = EACH / 8;
        if me < half {
            let value = vec![me as u8; piece];
            worker.barrier()?;
            for _ in 0..8 {
                worker.send(value.clone(), me + half)?;
            }
            return Ok(());
        }
        worker.barrier()?;
        let before = now();
        std::thread::sleep(Duration::from_millis(1500));
        let grown = now().saturating_sub(before);
        // The senders have a piece and its copy each; all else is in flight.
        let senders = 2 * half as usize * piece;
        assert!(
            grown < BOUND + senders + SLACK / 2,
            "{} MiB in flight",
            grown / MIB
        );
        for _ in 0..8 {
            let value: Vec<u8> = worker.recv(me - half)?;
            assert!(value.len() == piece && value.iter().all(|&byte| byte == (me - half) as u8));
        }
        Ok(())
    });
    assert_eq!(results, vec![Ok(()); WORKERS as usize]);
}

fn all_to_all_needs_its_values_and_the_bound() {
    let packs = testing::packs(&[4, 4, 4, 4], &BackendConfig::new("direct"), configure).unwrap();
    let piece = EACH / WORKERS as usize;
    let results = testing::run_on(&packs, |worker| {
        let me = worker.worker_id();
        let values: Vec<Vec<u8>> = (0..WORKERS)
            .map(|to| vec![(me ^ to) as u8; piece])
            .collect();
        worker.barrier()?;
        if me == 0 {
            forget_peak();
        }
        worker.barrier()?;
        let before = now();
        let got = worker.all_to_all(values)?;
        worker.barrier()?;
        let grown = peak().saturating_sub(before);
        for (from, value) in (0..WORKERS).zip(&got) {
            assert!(value.len() == piece && value.iter().all(|&byte| byte == (me ^ from) as u8));
        }
        // What came from other packs is there beside what was sent; the rest was in flight.
        let arrived = WORKERS as usize * (WORKERS as usize - 4) * piece;
        assert!(
            grown < arrived + 4 * BOUND + SLACK,
            "{} MiB more",
            grown / MIB
        );
        Ok(())
    });
    assert_eq!(results, vec![Ok(()); WORKERS as usize]);
}
