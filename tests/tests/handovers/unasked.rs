//! What no client asks for again is begun all the same when it is submitted while the scheduler changes its controller:
//! steps of a sequence, the actions of rules, and calls whose clients have given no key.

use burst_tests::{Api, Cluster, wait};
use serde_json::{Value, json};

use super::{LIMIT, two};

#[test]
fn steps_of_sequences_and_actions_of_rules_are_begun_while_nobody_schedules() {
    let mut cluster = Cluster::start(two());
    create(&cluster.api());
    let scheduler = cluster.scheduler();
    let api = cluster.api_of(1 - scheduler);
    cluster.kill_controller(scheduler);
    let begin = |path: &str| -> String {
        let begun: Value = api.post(path, &json!({})).expect(202);
        begun["activationId"].as_str().unwrap().to_owned()
    };
    // Nobody waits for the first two to begin.
    let sequence = begin("actions/twice");
    let fire = begin("triggers/tick");
    let call = begin("actions/add");
    let result = |id: &str| record(&api, id)["response"]["result"].clone();
    assert_eq!(result(&sequence), json!({"n": 2}));
    assert_eq!(result(&call), json!({"n": 1}));
    let logs = record(&api, &fire)["logs"].clone();
    let rule: Value = serde_json::from_str(logs[0].as_str().unwrap()).unwrap();
    let ran = rule["activationId"].as_str();
    assert_eq!(
        result(ran.expect("it has begun")),
        json!({"n": 1}),
        "{rule}"
    );
    let runs: Vec<Value> = api.get("activations?name=add&limit=200").expect(200);
    assert_eq!(runs.len(), 4, "each ran once: {runs:#?}");
}

/// An action, a sequence of it and itself, and a trigger by which it runs.
#[track_caller]
fn create(api: &Api) {
    let put = |path: &str, body: Value| {
        let answer = api.put(path, &body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    };
    let code = "def main(args):\n    return {'n': args.get('n', 0) + 1}\n";
    let program = json!({"kind": "python:default", "code": code});
    put("actions/add", json!({"exec": program}));
    let steps = json!({"kind": "sequence", "components": ["/_/add", "/_/add"]});
    put("actions/twice", json!({"exec": steps}));
    put("triggers/tick", json!({}));
    let rule = json!({"trigger": "/_/tick", "action": "/_/add"});
    put("rules/on-tick", rule);
}

#[track_caller]
fn record(api: &Api, id: &str) -> Value {
    let path = format!("activations/{id}");
    wait::until("it has a record", LIMIT, || {
        let answer = api.get(&path);
        (answer.status == 200).then(|| answer.expect(200))
    })
}
