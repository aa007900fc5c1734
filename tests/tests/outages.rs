//! The storage behind invocations, sequences and triggers fails for a while: the database, or the space on its disk.
//! New requests are refused with a time to retry, accepted ones end in their records, and everything recovers without
//! intervention.

use std::time::{Duration, SystemTime};
use std::{fs, thread};

use burst_tests::cluster::Setup;
use burst_tests::counted::{self, Order};
use burst_tests::disk::SmallDisk;
use burst_tests::faults::Fault;
use burst_tests::invariants::Accepted;
use burst_tests::invocations::{self, Callee, Ledger, Pace, Stream};
use burst_tests::patient::Patient;
use burst_tests::{Cluster, Driver, Platform, Settings, wait};

const PACE: Pace = Pace {
    clients: 8,
    pause: Duration::from_millis(300),
};
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn accepted_calls_complete_despite_a_database_outage() {
    let setup = Setup::new(Driver::Process).controllers(2).invokers(2);
    let mut cluster = Cluster::start(setup);
    let runs = invocations::deploy(&cluster.api(), cluster.scratch());
    let stream = Stream::start(&cluster.apis(), 1, PACE);
    accepted(&stream, 100);
    Fault::Database(Duration::from_secs(10)).strike(&mut cluster);
    accepted(&stream, 100);
    let sent = stream.stop();
    let ledger = Ledger::read(&cluster.api(), &sent, &runs);
    println!("{}\n{:#?}", sent.summary(), ledger.ends());
    ledger.check(&sent);
    // Accepted calls complete, however often they have to be retried.
    for callee in [Callee::Python, Callee::Rust, Callee::Sequence] {
        let failed = ledger.failed(&sent, callee);
        assert!(failed.is_empty(), "{failed:#?}");
    }
    Accepted::default().check(&cluster);
}

/// Its workers end in time, with outputs too large to be sent to a controller in one piece, and nobody can store those
/// before the deadline.
#[test]
fn outputs_in_time_are_kept_if_the_database_is_down_at_the_deadline() {
    let setup = Setup::new(Driver::Process).controllers(2).invokers(2);
    let mut cluster = Cluster::start(setup);
    let runs = counted::deploy(&cluster);
    let over = cluster.scratch().join("over");
    let mut client = Patient::new(cluster.apis(), 0);
    // Its pack is then ready, and its timeout includes no start.
    let first = client.start(&Order::new(1, 2), &runs, false).unwrap();
    assert_eq!(client.ended(&first, LIMIT).unwrap().state, "succeeded");
    let order = Order::new(2, 2).letters(1 << 20).until(&over);
    let order = order.option("timeout", 60_000);
    let id = client.start(&order, &runs, false).unwrap();
    let begun = || runs.read().len();
    wait::until_seen("its workers have begun", LIMIT, begun, |count| *count == 4);
    let api = cluster.api();
    let late = api.deadline(&api.in_state(&id, "running"));
    cluster.postgres().kill();
    fs::write(&over, "").unwrap();
    // The length of a fault is part of the fault; nothing is synchronised by it.
    while SystemTime::now() < late + Duration::from_secs(3) {
        thread::sleep(Duration::from_millis(100));
    }
    cluster.postgres().start_again();
    cluster.all_up_again();
    let flare = client.ended(&id, LIMIT).unwrap();
    client.check_outcome(&order, &flare).unwrap();
    Accepted::default().check(&cluster);
}

/// The embedded database, with the files beside it.
#[test]
fn invocations_recover_from_a_full_disk() {
    let mut platform = Platform::start(Settings::new(Driver::Process));
    platform.kill();
    let disk = SmallDisk::over(&platform.data().join("controller"), 100);
    platform.start_again();
    let runs = invocations::deploy(platform.api(), platform.scratch());
    let stream = Stream::start(&[platform.api().clone()], 1, PACE);
    accepted(&stream, 100);
    disk.fill();
    let before = stream.refused();
    let more = |refused: &usize| *refused >= before + 50;
    wait::until_seen("calls are refused", LIMIT, || stream.refused(), more);
    disk.free();
    accepted(&stream, 100);
    let sent = stream.stop();
    let ledger = Ledger::read(platform.api(), &sent, &runs);
    println!("{}\n{:#?}", sent.summary(), ledger.ends());
    ledger.check(&sent);
    platform.stop();
}

/// Waits until this many more calls have been accepted.
#[track_caller]
fn accepted(stream: &Stream, more: usize) {
    let wanted = stream.accepted() + more;
    let enough = |accepted: &usize| *accepted >= wanted;
    wait::until_seen("calls are accepted", LIMIT, || stream.accepted(), enough);
}
