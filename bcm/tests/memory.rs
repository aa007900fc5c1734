//! Bytes in flight stay under the configured bound, and so does the memory of the process.
//!
//! One test in a process of its own, because it measures the process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::time::Duration;

use burst_bcm::{BackendConfig, PackConfig, Tag, testing};

const MIB: usize = 1 << 20;
/// What each pack may hold without a worker having received it.
const BOUND: usize = 8 * MIB;
const WORKERS: u32 = 16;
/// What a worker may request at a time in an all-to-all.
const AHEAD: usize = 4 * MIB;
/// What each worker sends to all others together.
const EACH: usize = 16 * MIB;
/// Chunks being written and read, stacks, and memory the allocator keeps.
const SLACK: usize = 32 * MIB;

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

/// The memory of the process, and its peak since `forget_peak`.
fn now() -> usize {
    field("VmRSS")
}

fn peak() -> usize {
    field("VmHWM")
}

fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Whether a value consists of this many equal bytes; runs at the speed of memory in any build.
fn is_all(value: &[u8], byte: u8, length: usize) -> bool {
    value.len() == length && value[0] == byte && value[1..] == value[..length - 1]
}

fn configure(config: &mut PackConfig) {
    config.max_bytes_in_flight = BOUND;
    config.operation_timeout = Duration::from_secs(600);
}

#[test]
fn memory_stays_under_the_bound() {
    senders_without_receivers_are_held_up();
    all_to_all_needs_its_values_and_the_bound();
}

/// Eight workers send 16 MB each to workers that do not receive yet.
fn senders_without_receivers_are_held_up() {
    let half = WORKERS / 2;
    let piece = EACH / 8;
    let packs = testing::packs(&[half, half], &BackendConfig::new("direct"), configure).unwrap();
    forget_peak();
    let before = now();
    let results = testing::run_on(&packs, |worker| {
        let me = worker.worker_id();
        // Everything else uses another group: a wait for the same sender would request what it
        // offers.
        let group = worker.split(Some(0), 0)?;
        let group = group.expect("everyone has a color");
        group.barrier()?;
        std::thread::scope(|scope| {
            if me < half {
                let value = vec![me as u8; piece];
                let sending = scope.spawn(move || {
                    (0..8).try_for_each(|_| worker.send_tagged(value.clone(), me + half, Tag(1)))
                });
                // Meanwhile small messages go back and forth with another worker, many times longer
                // than the sends would take.
                let peer = half + (me + 1) % half;
                for i in 0..500u32 {
                    group.send(i, peer)?;
                    group.recv::<u32>(peer)?;
                }
                group.barrier()?;
                return sending.join().unwrap();
            }
            let peer = (me + half - 1) % half;
            for i in 0..500u32 {
                assert_eq!(group.recv::<u32>(peer)?, i);
                group.send(i, peer)?;
            }
            group.barrier()?;
            let grown = peak().saturating_sub(before);
            // Each sender has a piece and its copy; everything else is in flight.
            let senders = 2 * half as usize * piece;
            assert!(grown < BOUND + senders + SLACK, "{} MiB more", grown / MIB);
            let most = packs[1].traffic().most_bytes_in_flight as usize;
            assert!(most < BOUND + piece, "{} MiB in flight", most / MIB);
            group.my_pack().barrier()?;
            for _ in 0..8 {
                let value: Vec<u8> = worker.recv_tagged(me - half, Tag(1))?;
                assert!(is_all(&value, (me - half) as u8, piece));
            }
            Ok(())
        })
    });
    assert_eq!(results, vec![Ok(()); WORKERS as usize]);
}

fn all_to_all_needs_its_values_and_the_bound() {
    let packs = testing::packs(&[4, 4, 4, 4], &BackendConfig::new("direct"), configure).unwrap();
    let piece = EACH / WORKERS as usize;
    // The bound, and what the four workers of a pack request.
    let in_flight = BOUND + 4 * (AHEAD + 2 * piece);
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
            assert!(is_all(value, (me ^ from) as u8, piece));
        }
        // What was sent made room for what arrived; the rest was in flight. Without a bound it
        // would be 192 MiB.
        assert!(grown < 4 * in_flight + SLACK, "{} MiB more", grown / MIB);
        Ok(())
    });
    assert_eq!(results, vec![Ok(()); WORKERS as usize]);
    for pack in &packs {
        let most = pack.traffic().most_bytes_in_flight as usize;
        assert!(most < in_flight, "{} MiB in flight", most / MIB);
    }
}
