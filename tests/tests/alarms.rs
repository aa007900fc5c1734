//! Alarms of a cluster whose controllers are killed and restarted, one after another.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use burst_client::ListActivationsQuery;
use burst_tests::cluster::Setup;
use burst_tests::{Api, Cluster, Driver, wait};
use serde_json::{Value, json};

/// Milliseconds between two due times: longer than a busy machine delays the scheduler, since one fire makes up for all
/// due times missed in the meantime.
const PERIOD: u64 = 20_000;
/// How long before it was killed a controller may have missed a due time.
const MISSED: u64 = 10_000;
const KILLS: usize = 4;
const LIMIT: Duration = Duration::from_secs(240);

#[test]
fn alarms_fire_once_for_each_due_time() {
    let setup = Setup::new(Driver::Process).controllers(2).invokers(1);
    let mut cluster = Cluster::start(setup);
    create(&cluster.api());
    fires(&cluster.api(), |seen| !seen.is_empty());
    let mut outages = Vec::new();
    for kill in 0..KILLS {
        let controller = kill % 2;
        let began = now();
        cluster.kill_controller(controller);
        // The other controller fires in the meantime, as soon as it can.
        fires(&cluster.api_of(1 - controller), |seen| {
            seen.last()
                .is_some_and(|fire| start(fire) > began && has_run(fire))
        });
        outages.push(began - MISSED..=now());
        cluster.start_controllers(&[controller]);
        cluster.all_up_again();
    }
    let last = now();
    let seen = fires(&cluster.api(), |seen| {
        seen.last().is_some_and(|fire| start(fire) > last)
    });
    let due: Vec<u64> = (seen.iter()).map(|fire| start(fire) / PERIOD).collect();
    let times: BTreeSet<u64> = due.iter().copied().collect();
    let all = *times.first().unwrap()..=*times.last().unwrap();
    let left_out: Vec<u64> = all.clone().filter(|due| !times.contains(due)).collect();
    println!(
        "{} fires, {KILLS} kills, left out {left_out:?}",
        times.len()
    );
    // Without a scheduler no alarm fires, and one fire makes up for the missed ones.
    let excused = |due: &u64| {
        outages
            .iter()
            .any(|outage| outage.contains(&(due * PERIOD)))
    };
    assert!(
        left_out.iter().all(excused),
        "{left_out:?} of {all:?}, outages {outages:?}"
    );
    // The make-up fire may begin right before the next due time and have its record right after it.
    let twice: Vec<u64> = (due.windows(2))
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    let each_once = twice.iter().collect::<BTreeSet<_>>().len() == twice.len();
    assert!(
        each_once && twice.iter().all(excused),
        "{twice:?} of {due:?} fired twice, outages {outages:?}"
    );
    for activation in seen.iter().flat_map(activations) {
        cluster.api().ended_activation(&activation);
    }
}

/// Creates a trigger that an alarm fires, and a rule by which it runs an action.
#[track_caller]
fn create(api: &Api) {
    let code = "def main(args):\n    return {}\n";
    let ring = json!({"exec": {"kind": "python:default", "code": code}});
    api.put_action("ring", &ring);
    api.put_trigger("tick");
    api.put_rule("on-tick", "tick", "ring");
    let path = "namespaces/whisk.system/actions/alarms/alarm?blocking=true&result=true";
    let wanted = json!({"lifecycleEvent": "CREATE", "triggerName": "/_/tick", "authKey": api.auth(),
        "cron": format!("*/{} * * * * *", PERIOD / 1000)});
    let answer = api.send(api.request(reqwest::Method::POST, path).json(&wanted));
    assert_eq!(answer.status, 200, "{}", answer.text);
}

/// Milliseconds since the epoch.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

/// Waits until the records of all fires, the oldest first, are as wanted, and returns them.
#[track_caller]
fn fires(api: &Api, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let query = ListActivationsQuery {
        name: Some("tick".into()),
        limit: Some(200),
        docs: Some(true),
        ..ListActivationsQuery::default()
    };
    let list = || -> Vec<Value> {
        // Empty if the request was waiting for a controller that has been killed.
        let listed = api.client().list_activations(&query);
        let listed = listed.map(|listed| serde_json::from_str(listed.text()).unwrap());
        let mut all: Vec<Value> = listed.unwrap_or_default();
        all.reverse();
        all
    };
    wait::until_seen("the trigger fires", LIMIT, list, |all| wanted(all))
}

/// Milliseconds since the epoch.
fn start(fire: &Value) -> u64 {
    fire["start"].as_u64().unwrap()
}

fn has_run(fire: &Value) -> bool {
    !activations(fire).is_empty()
}

/// The activations of the actions that a trigger began.
fn activations(fire: &Value) -> Vec<String> {
    let lines = fire["logs"].as_array().unwrap().iter();
    let rules = lines.map(|line| serde_json::from_str::<Value>(line.as_str().unwrap()).unwrap());
    rules
        .filter_map(|rule| Some(rule["activationId"].as_str()?.to_owned()))
        .collect()
}
