//! Parts of a cluster killed in the middle of its work; what section 7 of the promise says holds
//! after each (`invariants`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burst_tests::cluster::Setup;
use burst_tests::invariants::Accepted;
use burst_tests::{Cluster, Driver, docker, failing, node, wait};
use serde_json::{Value, json};

/// Longer than any test lasts: what ends such a flare is the fault.
const LONG: u64 = 200_000;

#[test]
fn an_invoker_of_process_packs_is_killed() {
    an_invoker_is_killed(Driver::Process);
}

#[test]
fn an_invoker_of_docker_packs_is_killed() {
    an_invoker_is_killed(Driver::Docker);
}

fn an_invoker_is_killed(driver: Driver) {
    let mut cluster = Cluster::start(Setup::new(driver).invokers(2));
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    let before = accepted.flare(&cluster, failing::NAME, &hold(8, 1));
    assert_eq!(accepted.ended(&cluster, &before).state, "succeeded");

    let running = accepted.flare(&cluster, failing::NAME, &hold(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    let queued = accepted.flare(&cluster, failing::NAME, &hold(4, 1));
    cluster.kill_invoker(1);
    // While it is away: its peers are told, and what fits on the rest runs.
    let flare = accepted.ended(&cluster, &running);
    assert_eq!(flare.state, "failed", "{flare:#?}");
    assert_eq!(accepted.ended(&cluster, &queued).state, "succeeded");

    cluster.start_invoker(1);
    cluster.all_up();
    let after = accepted.flare(&cluster, failing::NAME, &hold(8, 1));
    assert_eq!(accepted.ended(&cluster, &after).state, "succeeded");
    accepted.hold(&cluster);
}

#[test]
fn a_pack_is_killed_and_the_flare_is_tried_again() {
    let cluster = Cluster::start(Setup::new(Driver::Process).invokers(2));
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    let mut again = hold(8, 2_000);
    again["retries"] = json!(1);
    let retried = accepted.flare(&cluster, failing::NAME, &again);
    cluster.api().all_wrote(&retried, failing::MARK);
    node::kill(cluster.runtimes().first().expect("a pack").pid);
    let flare = accepted.ended(&cluster, &retried);
    assert_eq!(
        (flare.state.as_str(), flare.attempt),
        ("succeeded", 2),
        "{flare:#?}"
    );

    let running = accepted.flare(&cluster, failing::NAME, &hold(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    node::kill(cluster.runtimes().first().expect("a pack").pid);
    let flare = accepted.ended(&cluster, &running);
    assert_eq!(flare.state, "failed", "{flare:#?}");
    accepted.hold(&cluster);
}

#[test]
fn the_only_controller_is_killed() {
    let mut cluster = Cluster::start(Setup::new(Driver::Process).invokers(2));
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    let before = accepted.flare(&cluster, failing::NAME, &hold(8, 1));
    assert_eq!(accepted.ended(&cluster, &before).state, "succeeded");

    let running = accepted.flare(&cluster, failing::NAME, &hold(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    let queued = accepted.flare(&cluster, failing::NAME, &hold(6, 1));
    assert_eq!(cluster.api().status(&queued).state, "queued");
    cluster.kill_controller(0);
    cluster.start_controllers(&[0]);

    let flare = accepted.ended(&cluster, &running);
    assert_eq!(flare.state, "failed", "{flare:#?}");
    assert_eq!(flare.error.unwrap().kind, "controller-restarted");
    // The invokers come back by themselves, with nothing of the old scheduler's left on them.
    cluster.all_up();
    let flare = accepted.ended(&cluster, &queued);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    accepted.hold(&cluster);
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
    accepted.hold(&cluster);
}

#[test]
fn a_paused_invoker_kills_what_was_given_up() {
    use rustix::process::Signal;
    let cluster = Cluster::start(Setup::new(Driver::Process).invokers(2));
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    let running = accepted.flare(&cluster, failing::NAME, &hold(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    cluster.signal_invoker(1, Signal::STOP);
    wait::until_seen(
        "the paused invoker is down",
        node::START_LIMIT,
        || cluster.api().invokers(),
        |seen| seen.iter().any(|i| i.id == "invoker1" && i.state == "down"),
    );
    cluster.signal_invoker(1, Signal::CONT);
    assert_eq!(accepted.ended(&cluster, &running).state, "failed");
    cluster.all_up();
    accepted.hold(&cluster);
}

/// A flare whose workers run for so many milliseconds.
fn hold(size: u32, millis: u64) -> Value {
    json!({"size": size, "params": failing::hold(millis), "timeout": LONG})
}
