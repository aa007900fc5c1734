//! What invocations, sequences and triggers write to is away for a while: the database, or the room on its disk. What is
//! new is refused with a time to try again, what was accepted ends in its record, and all goes on without anybody's help.

use std::time::Duration;

use burst_tests::cluster::Setup;
use burst_tests::disk::SmallDisk;
use burst_tests::faults::Fault;
use burst_tests::invariants::Accepted;
use burst_tests::invocations::{self, Ledger, Pace, Stream};
use burst_tests::{Cluster, Driver, Platform, Settings, wait};

const PACE: Pace = Pace {
    clients: 8,
    pause: Duration::from_millis(300),
};
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn the_database_stops_for_ten_seconds() {
    let setup = Setup::new(Driver::Process).controllers(2).invokers(2);
    let mut cluster = Cluster::start(setup);
    let runs = invocations::deploy(&cluster.api(), cluster.scratch());
    let stream = Stream::start(&cluster.apis(), 1, PACE);
    accepted(&stream, 100);
    Fault::Database(10).strike(&mut cluster);
    accepted(&stream, 100);
    let sent = stream.stop();
    let ledger = Ledger::read(&cluster.api(), &sent, &runs);
    println!("{}\n{:#?}", sent.summary(), ledger.ends());
    ledger.holds(&sent);
    Accepted::default().hold(&cluster);
}

/// The embedded database, with what stands beside it.
#[test]
fn the_disk_is_full_amid_invocations() {
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
    ledger.holds(&sent);
    platform.stop();
}

/// Waits until so many more were accepted.
#[track_caller]
fn accepted(stream: &Stream, more: usize) {
    let wanted = stream.accepted() + more;
    let enough = |accepted: &usize| *accepted >= wanted;
    wait::until_seen("calls are accepted", LIMIT, || stream.accepted(), enough);
}
