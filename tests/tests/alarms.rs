//! Alarms of a cluster whose controllers are killed and started again, one after the other.

use std::collections::BTreeSet;
use std::time::Duration;

use burst_tests::cluster::Setup;
use burst_tests::{Api, Cluster, Driver, wait};
use serde_json::{Value, json};

/// Between two due times.
const SECONDS: u64 = 5;
const KILLS: usize = 4;
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn alarms_fire_once_for_each_due_time() {
    let setup = Setup::new(Driver::Process).controllers(2).invokers(1);
    let mut cluster = Cluster::start(setup);
    create(&cluster.api());
    let mut seen = fires(&cluster.api(), 2);
    for kill in 0..KILLS {
        let controller = kill % 2;
        cluster.kill_controller(controller);
        // The other one fires meanwhile.
        seen = fires(&cluster.api_of(1 - controller), seen.len() + 1);
        cluster.start_controllers(&[controller]);
        cluster.all_up();
    }
    let seen = fires(&cluster.api(), seen.len() + 2);
    let due: Vec<u64> = (seen.iter())
        .map(|fire| fire["start"].as_u64().unwrap() / (SECONDS * 1000))
        .collect();
    let times: BTreeSet<u64> = due.iter().copied().collect();
    assert_eq!(times.len(), due.len(), "a due time fired twice: {due:?}");
    let all = times.last().unwrap() - times.first().unwrap() + 1;
    let left_out = all as usize - times.len();
    println!("{} of {all} due times, {KILLS} kills", times.len());
    // A controller that ends right after it took a time leaves that one out.
    assert!(left_out <= KILLS, "{left_out} of {all} due times were left out: {due:?}");
    for fire in seen {
        for line in fire["logs"].as_array().unwrap() {
            let rule: Value = serde_json::from_str(line.as_str().unwrap()).unwrap();
            if let Some(id) = rule["activationId"].as_str() {
                let ended = || cluster.api().get(&format!("activations/{id}")).status;
                wait::until_seen("its action has a record", LIMIT, ended, |status| *status == 200);
            }
        }
    }
}

/// A trigger that an alarm fires, and a rule by which it runs an action.
#[track_caller]
fn create(api: &Api) {
    let put = |path: &str, body: Value| {
        let answer = api.put(path, &body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    };
    let code = "def main(args):\n    return {}\n";
    put("actions/ring", json!({"exec": {"kind": "python:default", "code": code}}));
    put("triggers/tick", json!({}));
    put("rules/on-tick", json!({"trigger": "/_/tick", "action": "/_/ring"}));
    let path = "namespaces/whisk.system/actions/alarms/alarm?blocking=true&result=true";
    let wanted = json!({"lifecycleEvent": "CREATE", "triggerName": "/_/tick", "authKey": api.auth(),
        "cron": format!("*/{SECONDS} * * * * *")});
    let answer = api.send(api.request(reqwest::Method::POST, path).json(&wanted));
    assert_eq!(answer.status, 200, "{}", answer.text);
}

/// The records of all fires, the oldest first, once there are so many.
#[track_caller]
fn fires(api: &Api, count: usize) -> Vec<Value> {
    let list = || -> Vec<Value> {
        let listed = api.get("activations?name=tick&limit=200&docs=true");
        // While the controller's first request waits for one that is no more.
        if listed.status == 200 { listed.expect(200) } else { Vec::new() }
    };
    let enough = |listed: &Vec<Value>| listed.len() >= count;
    let mut all = wait::until_seen("the trigger fires", LIMIT, list, enough);
    all.reverse();
    all
}
