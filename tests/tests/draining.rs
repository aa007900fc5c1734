//! Machines that are taken out of service: by the administrator, or because their invokers are told to stop.

use std::fs;

use burst_client::{Flare, InvokerState};
use burst_tests::cli::Cli;
use burst_tests::cluster::Setup;
use burst_tests::{Api, Cluster, Driver, failing, invariants, refused, wait};
use rustix::process::Signal;
use serde_json::{Value, json};

const ADMIN: &str = "admin:0123456789abcdef0123456789abcdef";

fn two() -> Setup {
    let key = ADMIN.trim_start_matches("admin:");
    Setup::new(Driver::Process)
        .invokers(2)
        .set("burst.http.admin-key", key)
}

fn cli(cluster: &Cluster, words: &[&str], code: i32) -> String {
    cli_of(&cluster.api(), cluster, words, code)
}

fn cli_of(api: &Api, cluster: &Cluster, words: &[&str], code: i32) -> String {
    let mut arguments = vec!["invokers"];
    arguments.extend(words);
    arguments.extend(["--admin-auth", ADMIN]);
    let finished = Cli::of(api, cluster.scratch()).run(&arguments);
    let finished = finished.exits(code);
    format!("{}{}", finished.stdout, finished.stderr)
}

/// Waits until the flare runs and returns its only invoker.
fn runs_on(api: &Api, id: &str) -> String {
    wait::until_seen(
        "the flare runs",
        wait::SOON,
        || api.status(id),
        |flare| flare.state == "running",
    );
    api.status(id).packs[0].invoker.clone()
}

fn until(file: &std::path::Path, retries: u32) -> Value {
    let params = failing::hold_until(file, failing::LONG);
    json!({"size": 4, "granularity": 4, "params": params, "timeout": failing::LONG_TIMEOUT, "retries": retries})
}

fn succeeded(flare: &Flare) {
    assert_eq!(flare.state.as_str(), "succeeded", "{flare:#?}");
}

#[test]
fn a_draining_invoker_finishes_its_flares_and_gets_none_until_resumed() {
    let (mut cluster, mut accepted) = invariants::cluster(two());
    let over = cluster.scratch().join("over");
    let held = accepted.flare(&cluster, failing::NAME, &until(&over, 0));
    let drained = runs_on(&cluster.api(), &held);

    let output = cli(&cluster, &["drain", &drained, "--wait", "10ms"], 9);
    assert!(output.contains("4 of its slots"), "{output}");
    let state = |cluster: &Cluster| {
        let seen = cluster
            .api()
            .invokers()
            .into_iter()
            .find(|i| i.id == drained);
        seen.map(|seen| seen.state)
    };
    assert_eq!(state(&cluster), Some(InvokerState::from("draining")));
    let other = accepted.flare(&cluster, failing::NAME, &until(&over, 0));
    assert_ne!(runs_on(&cluster.api(), &other), drained);
    let eight = json!({"size": 8, "params": failing::succeed()});
    let refused = refused(cluster.api().client().flare(failing::NAME, &eight), 400);
    assert!(refused.contains("4 slots"), "{refused}");

    fs::write(&over, "").unwrap();
    for id in [&held, &other] {
        succeeded(&accepted.ended(&cluster, id));
    }
    cli(&cluster, &["drain", &drained, "--wait", "1m"], 0);
    assert_eq!(state(&cluster), Some(InvokerState::from("drained")));
    // A restart of the controller changes nothing: the machine was drained, and nobody has resumed it.
    cluster.kill_controller(0);
    cluster.start_controllers(&[0]);
    cluster.all_up();
    assert_eq!(state(&cluster), Some(InvokerState::from("drained")));
    let output = cli(&cluster, &["resume", &drained], 0);
    assert!(output.contains("takes flares again"), "{output}");
    let id = accepted.flare(&cluster, failing::NAME, &eight);
    assert_eq!(accepted.ended(&cluster, &id).state, "succeeded");
    accepted.check(&cluster);
}

/// One of the controllers runs the scheduler, and the other one asks it.
#[test]
fn every_controller_can_drain_an_invoker() {
    let cluster = Cluster::start(two().controllers(2));
    for api in cluster.apis() {
        cli_of(&api, &cluster, &["drain", "invoker0", "--wait", "1m"], 0);
        for seen in cluster.apis() {
            let seen = seen.invokers();
            let drained = seen.iter().filter(|invoker| invoker.state == "drained");
            assert_eq!(drained.count(), 1, "{seen:#?}");
        }
        let output = cli_of(&api, &cluster, &["resume", "invoker0"], 0);
        assert!(output.contains("takes flares again"), "{output}");
    }
}

#[test]
fn a_stopping_invoker_lets_its_flares_end() {
    // The flares end when the test lets them, however long a busy machine takes.
    let setup = two().set_invokers("burst.drain-timeout", "10m");
    let (mut cluster, mut accepted) = invariants::cluster(setup);
    let over = cluster.scratch().join("over");
    let held = accepted.flare(&cluster, failing::NAME, &until(&over, 0));
    let stopping = runs_on(&cluster.api(), &held);
    let index: usize = stopping.trim_start_matches("invoker").parse().unwrap();
    cluster.signal_invoker(index, Signal::TERM);
    wait::until_seen(
        "it says that it leaves",
        wait::SOON,
        || cluster.api().invokers(),
        |seen| {
            seen.iter()
                .any(|i| i.id == stopping && i.state == "draining")
        },
    );
    let other = accepted.flare(&cluster, failing::NAME, &until(&over, 0));
    assert_ne!(runs_on(&cluster.api(), &other), stopping);
    fs::write(&over, "").unwrap();
    for id in [&held, &other] {
        succeeded(&accepted.ended(&cluster, id));
    }
    // It has already been signalled; this waits for its end.
    cluster.stop_invoker(index);
    cluster.start_invoker(index);
    cluster.all_up();
    accepted.check(&cluster);
}

#[test]
fn flares_that_exceed_the_drain_timeout_are_retried_on_another_invoker() {
    let setup = two().set_invokers("burst.drain-timeout", "500ms");
    let (mut cluster, mut accepted) = invariants::cluster(setup);
    let over = cluster.scratch().join("over");
    let again = accepted.flare(&cluster, failing::NAME, &until(&over, 1));
    let stopping = runs_on(&cluster.api(), &again);
    let index: usize = stopping.trim_start_matches("invoker").parse().unwrap();
    cluster.stop_invoker(index);
    fs::write(&over, "").unwrap();
    let flare = accepted.ended(&cluster, &again);
    assert_eq!(
        (flare.state.as_str(), flare.attempt),
        ("succeeded", 2),
        "{flare:#?}"
    );
    assert_ne!(flare.packs[0].invoker, stopping);
    cluster.start_invoker(index);
    cluster.all_up();
    accepted.check(&cluster);
}
