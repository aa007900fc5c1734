//! What each fault does to flares that run, that wait and that are new: `make faults`, which writes
//! `benchmarks/results/faults/faults.csv` and from it the page `docs/operations/faults.md`.
//!
//! `BURST_FAULT_RUNS` says how often each fault is struck, each time on a cluster of its own: two controllers, three
//! invokers, PostgreSQL, a bucket and Redis. What went wrong is a row of the table like all else; that a flare is lost,
//! hangs or runs twice fails the test in the end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod flares;
mod page;
mod strikes;

use std::env;
use std::time::Duration;

use burst_tests::cluster::Setup;
use burst_tests::{Cluster, Driver, counted};

use self::flares::{Row, Work};
use self::strikes::Case;

/// The invoker on a machine of its own.
const REMOTE: usize = 1;
const INVOKERS: usize = 3;
/// Of each invoker: a pack of four and one of two fill it.
const SLOTS: u32 = 6;

#[test]
fn what_each_fault_does_to_flares() {
    let runs = setting("BURST_FAULT_RUNS").map_or(1, |text| text.parse().expect("a number"));
    let only = setting("BURST_FAULTS");
    let wanted = |case: &Case| only.as_ref().is_none_or(|part| case.name.contains(part));
    let cases: Vec<Case> = strikes::all().into_iter().filter(wanted).collect();
    let mut rows = Vec::new();
    for run in 1..=runs {
        let setup = Setup::new(Driver::Process)
            .controllers(2)
            .invokers(INVOKERS)
            .slots(SLOTS)
            .remote(REMOTE)
            .redis()
            .limit(Duration::from_secs(180 * cases.len() as u64 + 300));
        let mut cluster = Cluster::start(setup);
        let mut work = Work::new(counted::deploy(&cluster));
        for case in &cases {
            let seen = work.through(&mut cluster, case, run);
            seen.iter().for_each(|row| println!("{row}"));
            rows.extend(seen);
            // What there is so far is kept, should the rest fail.
            page::write(&rows, &cases);
        }
    }
    let bad: Vec<String> = rows
        .iter()
        .filter(|row| row.is_bad())
        .map(Row::to_string)
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}
