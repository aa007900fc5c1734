//! Parts of a cluster broken in the middle of its work; what section 7 of the promise says holds
//! after each (`invariants`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;
use std::time::Duration;

use burst_tests::cluster::Setup;
use burst_tests::faults::Fault;
use burst_tests::invariants::Accepted;
use burst_tests::traffic::{Traffic, Wishes};
use burst_tests::{Cluster, Driver, command, docker, failing, node, wait};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Longer than any test lasts: what ends such a flare is the fault.
const LONG: u64 = 200_000;

/// The invoker on a machine of its own.
const REMOTE: usize = 3;

/// Two controllers, four invokers, PostgreSQL and S3 live through one fault after the other. At each
/// there are flares that run, that start and that wait.
#[test]
fn one_fault_after_the_other() {
    let setup = Setup::new(Driver::Process)
        .controllers(2)
        .limit(Duration::from_secs(600));
    let mut cluster = Cluster::start(setup);
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    let before = accepted.flare(&cluster, failing::NAME, &hold(16, 1));
    assert_eq!(accepted.ended(&cluster, &before).state, "succeeded");

    // What is struck fails or is tried again; what is not goes on.
    let seen = through(&mut cluster, &mut accepted, Fault::Pack, 2_000);
    assert_eq!(
        (seen.state.as_str(), seen.attempt),
        ("succeeded", 2),
        "{seen:#?}"
    );
    let seen = through(&mut cluster, &mut accepted, Fault::Invoker(1), 2_000);
    assert_eq!(
        (seen.state.as_str(), seen.attempt),
        ("succeeded", 2),
        "{seen:#?}"
    );
    let seen = through(&mut cluster, &mut accepted, Fault::Database(3), 2_000);
    assert_eq!(
        (seen.state.as_str(), seen.attempt),
        ("succeeded", 1),
        "{seen:#?}"
    );
    let seen = through(&mut cluster, &mut accepted, Fault::OtherController, 2_000);
    assert_eq!(
        (seen.state.as_str(), seen.attempt),
        ("succeeded", 1),
        "{seen:#?}"
    );
    // Whoever has the scheduler next takes the others for lost.
    for fault in [Fault::Scheduler, Fault::Controllers] {
        let seen = through(&mut cluster, &mut accepted, fault, LONG);
        assert_eq!(seen.state, "failed", "{seen:#?}");
        assert_eq!(seen.error.unwrap().kind, "controller-restarted");
    }
}

/// An invoker that stands still, or that nobody reaches, has no pack that runs when it is given up, so
/// that its flares may run elsewhere.
#[test]
fn who_is_given_up_runs_nothing() {
    let cluster = Cluster::start(Setup::new(Driver::Process).invokers(4).remote(REMOTE));
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    let stop = |cluster: &Cluster, signal| cluster.signal_invoker(0, signal);
    given_up(
        &cluster,
        &mut accepted,
        0,
        |cluster| stop(cluster, Signal::STOP),
        |cluster| stop(cluster, Signal::CONT),
    );
    given_up(
        &cluster,
        &mut accepted,
        REMOTE,
        |cluster| cluster.cable(REMOTE).cut(),
        |cluster| cluster.cable(REMOTE).mend(),
    );
}

/// A fault amid flares: one of twelve workers that hold for so long, some that start and end all the
/// time, and one that waits. Gives what became of the first.
#[track_caller]
fn through(
    cluster: &mut Cluster,
    accepted: &mut Accepted,
    fault: Fault,
    millis: u64,
) -> burst_tests::model::Flare {
    println!("{fault:?}");
    let mut long = hold(12, millis);
    long["retries"] = json!(1);
    let running = accepted.flare(cluster, failing::NAME, &long);
    cluster.api().all_wrote(&running, failing::MARK);
    let wishes = Wishes {
        size: 3,
        hold: 100,
        backends: vec!["direct"],
        bad: 5,
        pause: Duration::from_millis(200),
    };
    let queued = accepted.flare(cluster, failing::NAME, &hold(16, 1));
    let traffic = Traffic::start(cluster.apis(), 1, wishes);
    fault.strike(cluster);
    accepted.note(traffic.stop());
    let seen = accepted.ended(cluster, &running);
    assert_eq!(accepted.ended(cluster, &queued).state, "succeeded");
    accepted.hold(cluster);
    seen
}

/// While an invoker is not to be reached, its flare ends and what waited runs on the others; when it is
/// given up nothing runs on it any more. Then it comes back.
#[track_caller]
fn given_up(
    cluster: &Cluster,
    accepted: &mut Accepted,
    lost: usize,
    lose: impl Fn(&Cluster),
    mend: impl Fn(&Cluster),
) {
    let api = cluster.api();
    let first = accepted.flare(cluster, failing::NAME, &hold(16, LONG));
    api.all_wrote(&first, failing::MARK);
    assert!(!cluster.working(lost).is_empty());
    let next = accepted.flare(cluster, failing::NAME, &hold(12, 1));
    lose(cluster);
    wait::until_seen(
        "the invoker is down",
        node::START_LIMIT,
        || api.invokers(),
        |seen| {
            seen.iter()
                .any(|i| i.id == format!("invoker{lost}") && i.state == "down")
        },
    );
    let left = cluster.working(lost);
    assert!(
        left.is_empty(),
        "its slots are given up, and it still runs {left:#?}"
    );
    assert_eq!(accepted.ended(cluster, &first).state, "failed");
    let flare = accepted.ended(cluster, &next);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    mend(cluster);
    cluster.all_up();
    accepted.hold(cluster);
}

#[test]
fn everything_is_killed() {
    let mut cluster = Cluster::start(Setup::new(Driver::Docker).invokers(2));
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    let running = accepted.flare(&cluster, failing::NAME, &hold(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    let queued = accepted.flare(&cluster, failing::NAME, &hold(6, 1));
    let containers: Vec<_> = cluster.containers().iter().map(docker::id).collect();
    assert!(!containers.is_empty());
    cluster.kill_controller(0);
    cluster.kill_invoker(0);
    cluster.kill_invoker(1);
    cluster.start_controllers(&[0]);
    cluster.start_invoker(0);
    cluster.start_invoker(1);
    cluster.all_up();
    // Before it took anything new an invoker cleared away what its former life had left.
    let now: Vec<_> = cluster.containers().iter().map(docker::id).collect();
    assert!(!containers.iter().any(|old| now.contains(old)), "{now:?}");
    assert_eq!(accepted.ended(&cluster, &running).state, "failed");
    assert_eq!(accepted.ended(&cluster, &queued).state, "succeeded");

    let running = accepted.flare(&cluster, failing::NAME, &hold(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    cluster.kill_invoker(1);
    // While it is away: its peers are told, and what fits on the rest runs.
    assert_eq!(accepted.ended(&cluster, &running).state, "failed");
    let alone = accepted.flare(&cluster, failing::NAME, &hold(4, 1));
    assert_eq!(accepted.ended(&cluster, &alone).state, "succeeded");
    cluster.start_invoker(1);
    cluster.all_up();
    accepted.hold(&cluster);
}

/// A flare whose workers run for so many milliseconds.
fn hold(size: u32, millis: u64) -> Value {
    json!({"size": size, "params": failing::hold(millis), "timeout": LONG})
}

/// The packages of an invoker lie on a disk of one mebibyte: the flare fails with the reason, and once there is
/// room the same one runs.
#[test]
fn the_disk_under_the_packages_is_full() {
    let cluster = Cluster::start(Setup::new(Driver::Process).invokers(1));
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    let disk = SmallDisk::under(&cluster.invoker_data(0).join("invoker/packages"));
    let full = accepted.flare(&cluster, failing::NAME, &hold(4, 1));
    let flare = accepted.ended(&cluster, &full);
    assert_eq!(flare.state, "failed", "{flare:#?}");
    let error = flare.error.unwrap();
    assert_eq!(error.kind, "start-failed", "{error:#?}");
    accepted.hold(&cluster);
    disk.grow();
    let room = accepted.flare(&cluster, failing::NAME, &hold(4, 1));
    assert_eq!(accepted.ended(&cluster, &room).state, "succeeded");
    accepted.hold(&cluster);
}

/// A file system of its own over a directory; dropping it unmounts it.
struct SmallDisk(String);

impl SmallDisk {
    #[track_caller]
    fn under(directory: &std::path::Path) -> Self {
        let place = directory.to_str().unwrap().to_owned();
        mount(&[
            "mount",
            "-t",
            "tmpfs",
            "-o",
            "size=1m,mode=755",
            "tmpfs",
            &place,
        ]);
        Self(place)
    }

    fn grow(&self) {
        mount(&["mount", "-o", "remount,size=256m", &self.0]);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: packs may still run from it.
        let _ = Command::new("umount").args(["--lazy", &self.0]).status();
    }
}

#[track_caller]
fn mount(arguments: &[&str]) {
    let mut command = Command::new(arguments[0]);
    let finished = command::run(command.args(&arguments[1..]), Duration::from_secs(10));
    assert_eq!(
        finished.code,
        Some(0),
        "small disks need root: {finished:#?}"
    );
}
