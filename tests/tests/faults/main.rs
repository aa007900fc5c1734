//! What each fault does to flares that run, that wait and that are new: `make faults`, which writes
//! `benchmarks/results/faults/faults.csv` and from it the page `docs/operations/faults.md`.
//!
//! `BURST_FAULT_RUNS` says how often each fault is struck, each time on a cluster of its own: two controllers, three
//! invokers, PostgreSQL, a bucket and Redis; `BURST_FAULT_CLUSTERS` how many of these there are at a time, and
//! `BURST_FAULTS` parts of the names of those faults that are wanted, with `|`
//! between: the rows of the others stay as they are. With no runs the page is made anew. What went wrong is a row of the table like all else; that a flare is lost,
//! hangs or runs twice fails the test in the end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod flares;
mod page;
mod strikes;

use std::sync::Mutex;
use std::time::Duration;
use std::{env, thread};

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
    let runs: Vec<u32> = (1..=number("BURST_FAULT_RUNS")).collect();
    let only = setting("BURST_FAULTS").unwrap_or_default();
    // What is not struck keeps its rows: with no runs all do.
    let wanted =
        |case: &Case| !runs.is_empty() && only.split('|').any(|part| case.name.contains(part));
    let cases: Vec<Case> = strikes::all().into_iter().filter(wanted).collect();
    let rows = Mutex::new(page::others(&cases));
    for together in runs.chunks(number("BURST_FAULT_CLUSTERS") as usize) {
        thread::scope(|scope| {
            for run in together {
                scope.spawn(|| strike_all(*run, &cases, &rows));
            }
        });
    }
    let rows = rows.into_inner().unwrap();
    page::write(&rows);
    let bad = rows.iter().filter(|row| row.is_bad());
    let bad: Vec<String> = bad.map(Row::to_string).collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// All faults on one cluster, one after the other.
fn strike_all(run: u32, cases: &[Case], rows: &Mutex<Vec<Row>>) {
    let setup = Setup::as_it_comes(Driver::Process)
        .controllers(2)
        .invokers(INVOKERS)
        .slots(SLOTS)
        .remote(REMOTE)
        .redis()
        .limit(Duration::from_secs(180 * cases.len() as u64 + 300));
    let mut cluster = Cluster::start(setup);
    let mut work = Work::new(counted::deploy(&cluster));
    for case in cases {
        let seen = work.through(&mut cluster, case, run);
        seen.iter().for_each(|row| println!("{row}"));
        let mut rows = rows.lock().unwrap();
        rows.extend(seen);
        rows.sort_by_key(|row| row.run);
        // What there is so far is kept, should the rest fail.
        page::write(&rows);
    }
}

fn number(name: &str) -> u32 {
    setting(name).map_or(1, |text| text.parse().expect(name))
}

fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}
