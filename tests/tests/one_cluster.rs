//! Controllers that are paused, end, or cannot reach each other: there is one cluster at a time, and one scheduler.

use burst_tests::cluster::Setup;
use burst_tests::failing::{LONG, LONG_TIMEOUT, SHORT, holding};
use burst_tests::invariants::{self, Accepted};
use burst_tests::{Cluster, Driver, failing, node, wait};
use rustix::process::Signal;
use serde_json::json;
use std::fs;
use std::time::Duration;

/// The file whose appearance ends the flares that wait for it.
const OVER: &str = "over";

/// How long the database remembers which side won after a partition.
const RELEASE: &str = "pekko.cluster.split-brain-resolver.lease-majority.release-after = 1s";

/// The first seed comes back while the other controller is paused: it founds no second cluster, but waits until the
/// other resumes. When no controller is left, any seed founds the next cluster.
#[test]
fn a_restarted_seed_forms_no_second_cluster() {
    let (mut cluster, mut accepted) = invariants::cluster(two());
    let ended = accepted.flare(&cluster, failing::NAME, &holding(8, SHORT));
    assert_eq!(accepted.ended(&cluster, &ended).state, "succeeded");
    let running = accepted.flare(&cluster, failing::NAME, &holding(8, Duration::from_secs(5)));
    cluster.api().all_wrote(&running, failing::MARK);
    let queued = accepted.flare(&cluster, failing::NAME, &holding(6, SHORT));
    assert_eq!(founded(&cluster), 1);

    cluster.signal_controller(1, Signal::STOP);
    cluster.kill_controller(0);
    cluster.begin_controller(0);
    waits_for_the_cluster(&cluster, 0);
    cluster.signal_controller(1, Signal::CONT);
    cluster.await_controller(0);
    cluster.all_up();
    assert_eq!(founded(&cluster), 1);
    // Its outcome depends on which of the two ran the scheduler.
    accepted.ended(&cluster, &running);
    assert_eq!(accepted.ended(&cluster, &queued).state, "succeeded");
    accepted.check(&cluster);

    cluster.kill_controller(0);
    cluster.kill_controller(1);
    cluster.start_controllers(&[1]);
    cluster.start_controllers(&[0]);
    cluster_works(&cluster, &mut accepted);
    assert_eq!(founded(&cluster), 2);
}

/// The controller that runs the scheduler is paused until another one has taken over and the database has forgotten the
/// partition: it ends when it resumes. It also does so if that other controller has ended in the meantime.
#[test]
fn a_paused_controller_ends_after_its_scheduler_was_replaced() {
    let (mut cluster, mut accepted) = invariants::cluster(two().line(RELEASE));
    let (paused, other) = replaced(&mut cluster, &mut accepted);
    lease_is_free(&mut cluster);
    cluster.signal_controller(paused, Signal::CONT);
    cluster.controller_ended(paused);
    cluster.start_controllers(&[paused]);
    cluster_works(&cluster, &mut accepted);
    assert_eq!(cluster.scheduler(), other);

    let (paused, other) = replaced(&mut cluster, &mut accepted);
    cluster.kill_controller(other);
    cluster.begin_controller(other);
    cluster.signal_controller(paused, Signal::CONT);
    cluster.controller_ended(paused);
    cluster.await_controller(other);
    cluster.start_controllers(&[paused]);
    cluster_works(&cluster, &mut accepted);
}

/// Pauses the controller that runs the scheduler, with a flare queued, until another one has taken over. Returns both.
fn replaced(cluster: &mut Cluster, accepted: &mut Accepted) -> (usize, usize) {
    let paused = cluster.scheduler();
    let over = cluster.scratch().join(OVER);
    // It does not exist the first time.
    let _ = fs::remove_file(&over);
    let until = failing::hold_until(&over, LONG);
    let running = json!({"size": 8, "params": until, "timeout": LONG_TIMEOUT});
    let running = accepted.flare(cluster, failing::NAME, &running);
    cluster.api().all_wrote(&running, failing::MARK);
    accepted.flare(cluster, failing::NAME, &holding(8, SHORT));
    cluster.signal_controller(paused, Signal::STOP);
    let other = wait::until("another one has it", node::START_LIMIT, || {
        let now = cluster.scheduler();
        (now != paused).then_some(now)
    });
    (paused, other)
}

/// Lets the flares end that ran all the time. Each controller accepts flares, and they succeed.
#[track_caller]
fn cluster_works(cluster: &Cluster, accepted: &mut Accepted) {
    cluster.all_up();
    fs::write(cluster.scratch().join(OVER), "").unwrap();
    for api in cluster.apis() {
        let flare = api.run(failing::NAME, 8, &failing::hold(SHORT));
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
    }
    accepted.check(cluster);
}

/// Returns how many clusters its controllers have founded.
fn founded(cluster: &Cluster) -> usize {
    let logs = (0..cluster.apis().len()).map(|index| cluster.controller_log(index));
    logs.map(|log| log.matches("this controller founds it").count())
        .sum()
}

/// The two controllers cannot reach each other for longer than the database remembers which side won; invokers and the
/// database reach both. One continues and the other ends; when restarted, it waits until it reaches the first one.
#[test]
fn a_partition_between_two_controllers_leaves_one() {
    let (mut cluster, mut accepted) = invariants::cluster(two().partition().line(RELEASE));
    let running = accepted.flare(&cluster, failing::NAME, &holding(8, Duration::from_secs(5)));
    cluster.api().all_wrote(&running, failing::MARK);
    let queued = accepted.flare(&cluster, failing::NAME, &holding(6, SHORT));
    cluster.partition().open();
    let ended = wait::until("one of them ends", node::START_LIMIT, || {
        (0..2).find(|index| cluster.has_ended(*index))
    });
    cluster.controller_ended(ended);
    lease_is_free(&mut cluster);
    cluster.all_up();
    accepted.ended(&cluster, &running);
    assert_eq!(accepted.ended(&cluster, &queued).state, "succeeded");

    cluster.begin_controller(ended);
    waits_for_the_cluster(&cluster, ended);
    cluster.partition().close();
    cluster.await_controller(ended);
    cluster_works(&cluster, &mut accepted);
    assert_eq!(founded(&cluster), 1);
}

/// Waits until the log of a controller reports that it waits for the others.
#[track_caller]
fn waits_for_the_cluster(cluster: &Cluster, controller: usize) {
    let message = "the database says that other controllers are members of a cluster";
    wait::until("it says what it waits for", node::START_LIMIT, || {
        cluster
            .controller_log(controller)
            .contains(message)
            .then_some(())
    });
}

/// Waits until the database has forgotten which side won.
#[track_caller]
fn lease_is_free(cluster: &mut Cluster) {
    let locks =
        "select count(*) from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock'";
    wait::until("the lease is free again", node::START_LIMIT, || {
        (cluster.postgres().ask(locks)? == "0").then_some(())
    });
}

/// Two controllers and two invokers.
fn two() -> Setup {
    Setup::new(Driver::Process).controllers(2).invokers(2)
}
