//! Single faults in a working cluster; after each, the guarantees of docs/architecture/failure.md hold (`invariants`).

use std::fs;
use std::time::Duration;

use burst_client::Flare;
use burst_tests::cluster::Setup;
use burst_tests::disk::SmallDisk;
use burst_tests::failing::{LONG, LONG_TIMEOUT, SHORT, holding};
use burst_tests::faults::Fault;
use burst_tests::invariants::{self, Accepted};
use burst_tests::traffic::{Traffic, TrafficOptions};
use burst_tests::{Cluster, Driver, Platform, Settings, docker, failing, node, times, wait};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The invoker on a separate machine.
const REMOTE: usize = 1;

/// Two controllers, four invokers, PostgreSQL and S3 survive one fault after another. During each, flares run, start
/// and wait.
#[test]
fn a_cluster_survives_successive_faults() {
    let setup = Setup::new(Driver::Process)
        .controllers(2)
        // The test is not about how fast another controller takes over on a busy machine.
        .set("burst.invokers.contact-timeout", "90s");
    let (mut cluster, mut accepted) = invariants::cluster(setup);
    let before = accepted.flare(&cluster, failing::NAME, &holding(16, SHORT));
    assert_eq!(accepted.ended(&cluster, &before).state, "succeeded");

    // Flares that a fault hits are retried; the next scheduler continues with the other packs. All flares run until the
    // fault has struck, however long that takes.
    type Strikes = fn(usize) -> Fault;
    let faults: [(Strikes, u32); 5] = [
        (Fault::Pack, 2),
        (Fault::Invoker, 2),
        (|_| Fault::Scheduler, 1),
        (|_| Fault::PausedScheduler, 1),
        (|_| Fault::Controllers, 1),
    ];
    for (number, (fault, attempt)) in faults.into_iter().enumerate() {
        let struck = cluster.scratch().join(format!("struck-{number}"));
        let params = failing::hold_until(&struck, LONG);
        let seen = through(&mut cluster, &mut accepted, &params, |cluster, invoker| {
            fault(invoker).strike(cluster);
            fs::write(&struck, "").unwrap();
        });
        assert_eq!(
            (seen.state.as_str(), seen.attempt),
            ("succeeded", attempt),
            "{seen:#?}"
        );
    }
    // Flares that are not hit continue, and may end in the meantime.
    for fault in [
        Fault::Database(Duration::from_secs(3)),
        Fault::OtherController,
    ] {
        let params = failing::hold(Duration::from_secs(2));
        let strike = |cluster: &mut Cluster, _| fault.strike(cluster);
        let seen = through(&mut cluster, &mut accepted, &params, strike);
        assert_eq!(
            (seen.state.as_str(), seen.attempt),
            ("succeeded", 1),
            "{seen:#?}"
        );
    }
}

/// Applies a fault during flares: one of twelve workers with this input, all of which have begun; some that start and
/// end all the time; and one that waits. `strike` gets an invoker that has a pack of the first flare, whose outcome is
/// returned.
#[track_caller]
fn through(
    cluster: &mut Cluster,
    accepted: &mut Accepted,
    params: &Value,
    strike: impl FnOnce(&mut Cluster, usize),
) -> Flare {
    let long = json!({"size": 12, "params": params, "timeout": LONG_TIMEOUT, "retries": 1});
    let running = accepted.flare(cluster, failing::NAME, &long);
    cluster.api().all_wrote(&running, failing::MARK);
    let queued = accepted.flare(cluster, failing::NAME, &holding(16, SHORT));
    let traffic = small_flares(cluster, 5);
    let invoker = &cluster.api().status(&running).packs[0].invoker;
    let invoker = invoker.trim_start_matches("invoker").parse().unwrap();
    strike(cluster, invoker);
    accepted.note(traffic.stop());
    let seen = accepted.ended(cluster, &running);
    assert_eq!(accepted.ended(cluster, &queued).state, "succeeded");
    accepted.check(cluster);
    seen
}

/// An invoker that is paused or unreachable has no running packs by the time it is given up, so that its flares can run
/// elsewhere.
#[test]
fn an_invoker_that_was_given_up_runs_no_packs() {
    let setup = Setup::new(Driver::Process).invokers(2).remote(REMOTE);
    // Within the first timeout no other controller should take over; a busy machine may need the second one to kill
    // packs.
    let setup = setup
        .set("burst.invokers.contact-timeout", "15s")
        .set("burst.invokers.kill-timeout", "10s");
    let (cluster, mut accepted) = invariants::cluster(setup);
    given_up(
        &cluster,
        &mut accepted,
        0,
        || cluster.signal_invoker(0, Signal::STOP),
        || cluster.signal_invoker(0, Signal::CONT),
    );
    given_up(
        &cluster,
        &mut accepted,
        REMOTE,
        || cluster.cable(REMOTE).cut(),
        || cluster.cable(REMOTE).mend(),
    );
}

/// While an invoker is unreachable, its flare ends and the waiting one runs on the other invoker; once it is given up,
/// nothing runs on it any more. Then it comes back.
#[track_caller]
fn given_up(
    cluster: &Cluster,
    accepted: &mut Accepted,
    lost: usize,
    lose: impl Fn(),
    mend: impl Fn(),
) {
    let api = cluster.api();
    let first = accepted.flare(cluster, failing::NAME, &holding(8, LONG));
    api.all_wrote(&first, failing::MARK);
    assert!(!cluster.working(lost).is_empty());
    let next = accepted.flare(cluster, failing::NAME, &holding(4, SHORT));
    lose();
    let id = format!("invoker{lost}");
    wait::until_seen(
        "the invoker is down",
        node::START_LIMIT,
        || api.invokers(),
        |seen| seen.iter().any(|i| i.id == id && i.state == "down"),
    );
    let left = cluster.working(lost);
    assert!(
        left.is_empty(),
        "its slots are given up, and it still runs {left:#?}"
    );
    assert_eq!(accepted.ended(cluster, &first).state, "failed");
    let flare = accepted.ended(cluster, &next);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    mend();
    cluster.all_up();
    accepted.check(cluster);
}

#[test]
fn a_cluster_recovers_after_all_nodes_were_killed() {
    let (mut cluster, mut accepted) = invariants::cluster(Setup::new(Driver::Docker).invokers(2));
    let running = accepted.flare(&cluster, failing::NAME, &holding(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    let queued = accepted.flare(&cluster, failing::NAME, &holding(6, SHORT));
    let containers: Vec<_> = cluster.containers().iter().map(docker::id).collect();
    assert!(!containers.is_empty());
    cluster.kill_controller(0);
    cluster.kill_invoker(0);
    cluster.kill_invoker(1);
    cluster.start_controllers(&[0]);
    cluster.start_invoker(0);
    cluster.start_invoker(1);
    cluster.all_up();
    // Before it accepted anything new, the invoker removed what its previous run had left.
    let now: Vec<_> = cluster.containers().iter().map(docker::id).collect();
    assert!(!containers.iter().any(|old| now.contains(old)), "{now:?}");
    assert_eq!(accepted.ended(&cluster, &running).state, "failed");
    assert_eq!(accepted.ended(&cluster, &queued).state, "succeeded");

    let running = accepted.flare(&cluster, failing::NAME, &holding(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    cluster.kill_invoker(1);
    // While it is down, its peers are notified, and flares that fit on the rest run.
    assert_eq!(accepted.ended(&cluster, &running).state, "failed");
    let alone = accepted.flare(&cluster, failing::NAME, &holding(4, SHORT));
    assert_eq!(accepted.ended(&cluster, &alone).state, "succeeded");
    cluster.start_invoker(1);
    cluster.all_up();
    accepted.check(&cluster);
}

/// The packages of an invoker are on a disk of one mebibyte: the flare fails with the reason, and once there is room
/// the same flare runs.
#[test]
fn flares_fail_only_while_the_package_disk_is_full() {
    let (cluster, mut accepted) = invariants::cluster(Setup::new(Driver::Process).invokers(1));
    let disk = SmallDisk::over(&cluster.invoker_data(0).join("invoker/packages"), 1);
    let full = accepted.flare(&cluster, failing::NAME, &holding(4, SHORT));
    let flare = accepted.ended(&cluster, &full);
    assert_eq!(flare.state, "failed", "{flare:#?}");
    let error = flare.error.unwrap();
    assert_eq!(error.kind, "start-failed", "{error:#?}");
    accepted.check(&cluster);
    disk.grow();
    let room = accepted.flare(&cluster, failing::NAME, &holding(4, SHORT));
    assert_eq!(accepted.ended(&cluster, &room).state, "succeeded");
    accepted.check(&cluster);
}

/// The database and the packages of a platform are on a disk that is full for a while: running flares continue, new
/// ones are refused, and once there is room everything works as before.
#[test]
fn a_platform_recovers_from_a_full_data_disk() {
    let mut platform = Platform::start(Settings::new(Driver::Process).slots(4));
    platform.kill();
    let disk = SmallDisk::over(&platform.data().join("controller"), 60);
    platform.start_again();
    failing::deploy(&platform);
    let go = platform.data().join("go");
    let params = failing::hold_until(&go, LONG);
    let running = platform.api().flare(
        failing::NAME,
        &json!({"size": 1, "params": params, "timeout": LONG_TIMEOUT}),
    );
    platform.api().all_wrote(&running, failing::MARK);
    disk.fill();
    fs::write(&go, "").unwrap();
    // Each of them is a write that fails.
    for _ in 0..5 {
        let more = platform.api().try_flare(failing::NAME, &holding(1, SHORT));
        assert_eq!(more, None, "it was accepted");
    }
    disk.free();
    assert_eq!(platform.api().ended(&running).state, "succeeded");
    let more = platform.api().run(failing::NAME, 1, &failing::succeed());
    assert_eq!(more.state, "succeeded", "{more:#?}");
    failing::deploy_as(&platform, "another", &[]);
    platform.stop();
}

/// The clock of one node is set an hour ahead, and back: no flare is lost, retried, or timed out early.
#[test]
fn setting_the_clock_of_a_node_affects_no_flare() {
    let (cluster, mut accepted) =
        invariants::cluster(Setup::new(Driver::Process).invokers(2).clocks());
    clock_set(&cluster, &mut accepted, |ahead| {
        cluster.set_invoker_clock(0, ahead);
    });
    clock_set(&cluster, &mut accepted, |ahead| {
        cluster.set_controller_clock(0, ahead);
    });
}

#[track_caller]
fn clock_set(cluster: &Cluster, accepted: &mut Accepted, set: impl Fn(i64)) {
    const TIME_OUT: Duration = Duration::from_secs(30);
    // In warm packs all of them begin long before the timeout.
    let warming = accepted.flare(cluster, failing::NAME, &holding(8, SHORT));
    assert_eq!(accepted.ended(cluster, &warming).state, "succeeded");
    let mut endless = holding(1, LONG);
    endless["timeout"] = json!(TIME_OUT.as_millis() as u64);
    let running = accepted.flare(
        cluster,
        failing::NAME,
        &holding(4, TIME_OUT - Duration::from_secs(1)),
    );
    let endless = accepted.flare(cluster, failing::NAME, &endless);
    cluster.api().all_wrote(&running, failing::MARK);
    cluster.api().all_wrote(&endless, failing::MARK);
    let queued = accepted.flare(cluster, failing::NAME, &holding(8, SHORT));
    let traffic = small_flares(cluster, 0);
    for ahead in [3600, 0] {
        set(ahead);
        let between = accepted.flare(cluster, failing::NAME, &holding(2, SHORT));
        accepted.ended(cluster, &between);
    }
    let sent = traffic.stop();
    accepted.note(sent.clone());
    let mut all = sent.flares;
    all.extend([running, queued]);
    for id in all {
        let flare = accepted.ended(cluster, &id);
        assert_eq!(
            (flare.state.as_str(), flare.attempt),
            ("succeeded", 1),
            "{flare:#?}"
        );
    }
    let flare = accepted.ended(cluster, &endless);
    assert_eq!(flare.state, "timed-out", "{flare:#?}");
    let lasted = times::between(flare.created, flare.ended.unwrap());
    assert!(
        (TIME_OUT..Duration::from_secs(3600)).contains(&lasted),
        "{lasted:?} {flare:#?}"
    );
    accepted.check(cluster);
}

/// A continuous stream of flares of up to three workers; `bad` of a hundred fail, and as many are cancelled.
fn small_flares(cluster: &Cluster, bad: u32) -> Traffic {
    let options = TrafficOptions {
        size: 3,
        hold: Duration::from_millis(100),
        backends: vec!["direct"],
        bad,
        pause: Duration::from_millis(200),
    };
    Traffic::flares(cluster.apis(), 1, options)
}
