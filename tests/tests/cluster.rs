//! Controllers and invokers as separate processes: flares across several invokers.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use burst_tests::cluster::Setup;
use burst_tests::faults::Fault;
use burst_tests::invariants::{self, Accepted};
use burst_tests::{Api, Cluster, Driver, account, built, command, failing, refused, wait};
use reqwest::Method;
use serde_json::{Value, json};

#[test]
fn process_packs_run_on_four_invokers() {
    runs_on_four_invokers(Driver::Process);
}

#[test]
fn docker_packs_run_on_four_invokers() {
    runs_on_four_invokers(Driver::Docker);
}

fn runs_on_four_invokers(driver: Driver) {
    let cluster = Cluster::start(Setup::new(driver));
    let mut accepted = Accepted::default();
    cluster.deploy("hello");
    let greeting = json!({"size": 16, "params": {"name": "World"}});
    let id = accepted.flare(&cluster, "hello", &greeting);
    let flare = accepted.ended(&cluster, &id);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    let invokers: BTreeSet<_> = flare.packs.iter().map(|pack| &pack.invoker).collect();
    assert_eq!(invokers.len(), 4, "{flare:#?}");

    // Its input and output are files on this machine.
    if !driver.isolates() {
        sort(&cluster, &mut accepted);
    }
    accepted.check(&cluster);
}

/// Workers on all four invokers exchange all their data.
fn sort(cluster: &Cluster, accepted: &mut Accepted) {
    let (input, output) = (cluster.scratch().join("in"), cluster.scratch().join("out"));
    fs::create_dir(&output).unwrap();
    account::give(&output);
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    tera(&["generate", input, "--records", "100000"]);
    cluster.deploy("terasort");
    let body =
        json!({"size": 16, "params": {"input": input, "output": output}, "timeout": 600_000});
    let id = accepted.flare(cluster, "terasort", &body);
    let flare = accepted.ended(cluster, &id);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    tera(&["validate", input, output]);
}

fn tera(arguments: &[&str]) {
    let limit = Duration::from_secs(180);
    let tera = built::program("tera");
    let finished = command::run(Command::new(tera).args(arguments), limit);
    assert_eq!(finished.code, Some(0), "{finished:#?}");
}

/// Whichever controller is asked, and whether or not the one that accepted the request still runs.
#[test]
fn requests_with_the_same_key_start_one_flare_across_controllers() {
    let setup = Setup::new(Driver::Process).controllers(2).invokers(2);
    let (mut cluster, mut accepted) = invariants::cluster(setup.slots(8));
    let body = failing::holding(8, Duration::from_secs(3));
    let asked = |api: &Api, key: &str| {
        let request = api.request(Method::POST, "namespaces/_/bursts/failing");
        let request = request.header("Idempotency-Key", key).json(&body);
        let answer = api.send(request);
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json["flareId"].as_str().unwrap().to_owned()
    };
    let keys: Vec<_> = (0..4).map(|number| format!("key-{number}")).collect();
    let apis = cluster.apis();
    let ids: Vec<_> = keys
        .iter()
        .map(|key| {
            let ids: Vec<_> = thread::scope(|scope| {
                let callers = (0..20).map(|number| &apis[number % apis.len()]);
                let callers = callers.map(|api| scope.spawn(move || asked(api, key)));
                let callers: Vec<_> = callers.collect();
                callers.into_iter().map(|it| it.join().unwrap()).collect()
            });
            assert_eq!(BTreeSet::from_iter(&ids).len(), 1, "{ids:?}");
            ids[0].clone()
        })
        .collect();
    Fault::Scheduler.strike(&mut cluster);
    cluster.all_up_again();
    for (key, id) in keys.iter().zip(&ids) {
        for api in cluster.apis() {
            assert_eq!(&asked(&api, key), id);
        }
    }
    for id in &ids {
        accepted.ended(&cluster, id);
    }
    accepted.check(&cluster);
}

#[test]
fn a_stopped_invoker_is_down_at_once_and_used_again_after_its_start() {
    let mut cluster = Cluster::start(Setup::new(Driver::Process).invokers(2));
    let mut accepted = Accepted::default();
    cluster.deploy(failing::NAME);
    cluster.stop_invoker(1);
    wait::until_seen(
        "the invoker is down",
        wait::SOON,
        || cluster.api().invokers(),
        |seen| seen.iter().any(|i| i.id == "invoker1" && i.state == "down"),
    );
    let refused = refused(
        cluster.api().client().flare(failing::NAME, &flare_of(8)),
        400,
    );
    assert!(refused.contains("4 slots"), "{refused}");
    cluster.start_invoker(1);
    cluster.all_up();
    let id = accepted.flare(&cluster, failing::NAME, &flare_of(8));
    assert_eq!(accepted.ended(&cluster, &id).state, "succeeded");
    accepted.check(&cluster);
}

fn flare_of(size: u32) -> Value {
    json!({"size": size, "params": failing::succeed()})
}
