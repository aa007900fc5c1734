//! The units of times: whatever the API tells of has happened just now.

use std::time::{Duration, SystemTime};

use burst_client::{ListActionsQuery, ListActivationsQuery, ListDefinitionsQuery, ListFlaresQuery};
use burst_tests::{Driver, Platform, Settings, failing};
use serde_json::json;

/// Far more than the test takes; a time in the wrong unit is off by decades.
const CLOSE: Duration = Duration::from_secs(3600);

#[track_caller]
fn is_now(what: &str, time: SystemTime) {
    let now = SystemTime::now();
    assert!(now - CLOSE < time && time < now + CLOSE, "{what}: {time:?}");
}

#[test]
fn times_of_definitions_flares_and_groups_have_documented_units() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    failing::deploy(&platform);
    let api = platform.api();
    let client = api.client();
    let definition = client.get_definition(failing::NAME).unwrap();
    is_now("definition", definition.read().unwrap().updated);
    let definitions = client.list_definitions(&ListDefinitionsQuery::default());
    let definitions = definitions.unwrap().read().unwrap();
    is_now("definition in the list", definitions[0].updated);

    let id = api.flare(
        failing::NAME,
        &json!({"size": 2, "params": failing::succeed()}),
    );
    let flare = api.ended(&id);
    is_now("created", flare.created);
    is_now("started", flare.started.unwrap());
    is_now("ended", flare.ended.unwrap());
    for worker in &flare.workers {
        is_now("worker", worker.started.unwrap());
        is_now("worker's end", worker.ended.unwrap());
    }
    let flares = client.list_flares(&ListFlaresQuery::default()).unwrap();
    is_now("flare in the list", flares.read().unwrap()[0].created);
    is_now("line", api.logs(&id).logs[0].at);
    let timeline = api.timeline(&id);
    is_now("timeline", timeline.created);
    is_now("timeline's end", timeline.now);
    let phase = &timeline.workers[0].phases[0];
    is_now("phase", phase.start);
    is_now("phase's end", phase.end.unwrap());

    let options =
        json!({"definition": failing::NAME, "size": 1, "idleTimeout": 60_000, "timeout": 50_000});
    let group = api.try_group(&options).unwrap();
    client.close_group(&group).unwrap();
    let group = client.get_group(&group).unwrap().read().unwrap();
    is_now("group", group.created);
    assert_eq!(group.idle_timeout, Duration::from_secs(60));
    assert_eq!(group.timeout, Duration::from_secs(50));
}

#[test]
fn times_of_openwhisk_entities_have_documented_units() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let api = platform.api();
    let client = api.client();
    let before = SystemTime::now();
    let code = "def main(args):\n    return {}\n";
    let exec = json!({"kind": "python:3", "code": code});
    api.put_action(
        "timed",
        &json!({"exec": exec, "limits": {"timeout": 30_000}}),
    );
    api.put_trigger("trigger");
    api.put_rule("rule", "trigger", "timed");
    let actions = client.list_actions(&ListActionsQuery::default()).unwrap();
    let actions: serde_json::Value = serde_json::from_str(actions.read().unwrap().get()).unwrap();
    let updated = Duration::from_millis(actions[0]["updated"].as_u64().unwrap());
    is_now("action", SystemTime::UNIX_EPOCH + updated);
    let trigger = client.get_trigger("trigger").unwrap().read().unwrap();
    is_now("trigger", trigger.updated);
    let rule = client.get_rule("rule").unwrap().read().unwrap();
    is_now("rule", rule.updated);

    let id = api.begin("timed", &json!({}));
    api.ended_activation(&id);
    let record = client.get_activation(&id).unwrap().read().unwrap();
    is_now("activation", record.start);
    is_now("activation's end", record.end.unwrap());
    // A query is in the same unit.
    let count = |since: SystemTime| {
        let query = ListActivationsQuery {
            since: Some(since),
            ..ListActivationsQuery::default()
        };
        api.activations(&query).len()
    };
    assert_eq!(count(before), 1);
    assert_eq!(count(SystemTime::now() + CLOSE), 0);
}
