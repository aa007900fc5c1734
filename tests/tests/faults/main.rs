//! What each fault does to running, waiting and new flares: `make faults`, which writes
//! `benchmarks/results/faults/faults.csv` and from it the page `docs/operations/faults.md`.
//!
//! `BURST_FAULT_RUNS` sets how often each fault is applied, each time on a separate cluster: two controllers, three
//! invokers, PostgreSQL, a bucket and Redis. `BURST_FAULT_CLUSTERS` sets how many of these run at a time.
//! `BURST_FAULTS` selects faults by parts of their names, separated by `|`; the rows of the others stay unchanged. With
//! no runs, only the page is written again. A failed flare is a row of the table like any other; a flare that is lost,
//! hangs or runs twice fails the test at the end.
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

/// The invoker on a separate machine.
const REMOTE: usize = 1;
const INVOKERS: usize = 3;
/// The slots of each invoker: a pack of four and one of two fill it.
const SLOTS: u32 = 6;

#[test]
fn what_each_fault_does_to_flares() {
    let runs: Vec<u32> = (1..=number("BURST_FAULT_RUNS")).collect();
    let only = setting("BURST_FAULTS").unwrap_or_default();
    // Faults that are not applied keep their rows: with no runs, all do.
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

/// Applies all faults to one cluster, one after another.
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
        // The rows so far are kept in case a later fault fails the test.
        page::write(&rows);
    }
}

fn number(name: &str) -> u32 {
    setting(name).map_or(1, |text| text.parse().expect(name))
}

fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}
