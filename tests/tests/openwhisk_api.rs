//! The parts of OpenWhisk's API beyond calls of one function: bursts as in the published prototype, conductors, the
//! action loop, log limits.

use std::collections::BTreeSet;

use burst_tests::{Driver, Platform, Settings, package, read_json};
use serde_json::{Value, json};

fn python(code: &str) -> Value {
    json!({"exec": {"kind": "python:default", "code": code}, "limits": {"memory": 128}})
}

const SQUARE: &str = "
import os

def main(args):
    return {'square': args['n'] ** 2, 'process': os.getppid()}
";

/// The results of the containers of a burst: for each, those of its workers.
#[track_caller]
fn burst(platform: &Platform, query: &str, workers: u64) -> Vec<Vec<Value>> {
    let path = format!("actions/square?burst=true{query}");
    let inputs: Vec<_> = (0..workers).map(|n| json!({ "n": n })).collect();
    let answer = platform.api().post(&path, &json!({ "value": inputs }));
    let body: Value = answer.expect(202);
    let ids = body["activationIds"].as_array().unwrap();
    let result = |id: &Value| {
        let record = platform.api().ended_activation(id.as_str().unwrap());
        assert!(
            record["end"].as_u64() >= record["start"].as_u64(),
            "{record:#}"
        );
        record["response"]["result"].as_array().unwrap().clone()
    };
    ids.iter().map(result).collect()
}

#[test]
fn bursts_behave_as_in_the_prototype() {
    let platform = Platform::lent(Settings::new(Driver::Process).slots(6));
    platform.api().put_action("square", &python(SQUARE));
    for (query, sizes) in [
        ("&granularity=2", vec![2, 2, 2]),
        ("&granularity=1", vec![1; 6]),
        ("", vec![6]),
        (
            "&granularity=2&join=true&chunk_size=64&debug=false",
            vec![6],
        ),
    ] {
        let containers = burst(&platform, query, 6);
        let got: Vec<_> = containers.iter().map(Vec::len).collect();
        assert_eq!(got, sizes, "{query}");
        let of = |result: &Value| result["process"].to_string();
        let apart: BTreeSet<_> = containers.iter().map(|them| of(&them[0])).collect();
        assert_eq!(apart.len(), sizes.len(), "{query}");
        for them in containers.iter().filter(|them| them.len() > 1) {
            // Their processes belong to one launcher.
            assert!(them.iter().all(|it| of(it) == of(&them[0])), "{query}");
        }
        for (n, result) in containers.concat().iter().enumerate() {
            assert_eq!(result["square"], n * n, "{query}");
        }
    }
}

#[test]
fn a_burst_larger_than_the_platform_is_refused() {
    let platform = Platform::lent(Settings::new(Driver::Process).slots(2));
    platform.api().put_action("square", &python(SQUARE));
    let inputs = vec![json!({"n": 1}); 3];
    let body = json!({ "value": inputs });
    let refused = platform.api().post("actions/square?burst=true", &body);
    let why = refused.refusal(400);
    assert!(why.contains('3') && why.contains('2'), "{why}");
    let nothing = platform
        .api()
        .post("actions/square?burst=true", &json!({"value": []}));
    nothing.refusal(400);
}

/// Doubles a number through another action until it is large enough.
const CONDUCTOR: &str = "
def main(args):
    if args.get('error'):
        return {'params': {'caught': args['error']}}
    steps = args.get('steps', 0)
    if args.get('n', 0) >= args.get('enough', 10):
        return {'params': {'n': args['n'], 'steps': steps}}
    state = {'steps': steps + 1, 'enough': args.get('enough', 10)}
    return {'action': args.get('component', 'double'), 'params': {'n': args['n']}, 'state': state}
";

#[test]
fn a_conductor_chooses_the_next_action() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    platform.api().put_action(
        "double",
        &python("def main(args):\n    return {'n': 2 * args['n']}\n"),
    );
    let mut conductor = python(CONDUCTOR);
    conductor["annotations"] = json!([{"key": "conductor", "value": true}]);
    platform.api().put_action("conductor", &conductor);
    let ended: Value = platform
        .api()
        .invoke("conductor", &json!({"n": 3}))
        .expect(200);
    assert_eq!(
        ended["response"]["result"],
        json!({"n": 12, "steps": 2}),
        "{ended:#}"
    );
    // Three runs of the conductor, and two of the actions it called.
    let parts: BTreeSet<_> = ended["logs"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    assert_eq!(parts.len(), 5, "{ended:#}");
    for part in ended["logs"].as_array().unwrap() {
        let part = platform.api().ended_activation(part.as_str().unwrap());
        assert_eq!(part["cause"], ended["activationId"], "{part:#}");
    }
    // It receives the error if an action does not exist, or if it calls too many.
    for (input, why) in [
        (json!({"n": 1, "component": "nobody"}), "nobody"),
        (json!({"n": 0}), "Too many actions"),
    ] {
        let caught: Value = platform
            .api()
            .invoke_for_result("conductor", &input)
            .expect(200);
        assert!(caught["caught"].as_str().unwrap().contains(why), "{caught}");
    }
}

const LOOP: &str = "#!/bin/sh
runs=0
while read -r line; do
  runs=$((runs + 1))
  echo said
  printf '{\"runs\": %d, \"told\": %s}\\n' $runs \"$line\" >&3
done
";

#[test]
fn an_executable_can_use_the_action_loop() {
    let platform = Platform::lent(Settings::new(Driver::Process).slots(1));
    let mut action = package::definition(&package::zip_of("exec", LOOP.as_bytes()));
    action["exec"]["kind"] = json!("python:default");
    action["exec"]["binary"] = json!(true);
    platform.api().put_action("looping", &action);
    for runs in 1..=3 {
        let result: Value = platform
            .api()
            .invoke_for_result("looping", &json!({"x": runs}))
            .expect(200);
        assert_eq!(result["runs"], runs, "one process for all");
        assert_eq!(result["told"]["value"], json!({"x": runs}));
        assert!(
            result["told"]["action_name"]
                .as_str()
                .unwrap()
                .ends_with("/looping")
        );
    }
}

/// Prints this many MiB in lines of one KiB.
const TALKER: &str = "
def main(args):
    for n in range(args['mib'] * 1024):
        print('x' * 1023)
    return {}
";

/// Calls an action that prints this much, and returns its log: the number of bytes, and the last line.
#[track_caller]
fn logged(platform: &Platform, mib: u64) -> (usize, String) {
    let ended: Value = (platform.api())
        .invoke("talker", &json!({ "mib": mib }))
        .expect(200);
    let id = ended["activationId"].as_str().unwrap();
    let logs = read_json(platform.api().client().get_activation_logs(id));
    let lines = logs["logs"].as_array().unwrap();
    let last = lines.last().map_or(String::new(), Value::to_string);
    (
        lines.iter().map(|line| line.as_str().unwrap().len()).sum(),
        last,
    )
}

#[test]
fn the_log_limit_of_an_action_is_enforced() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let mut action = python(TALKER);
    for (limit, least, most) in [(0, 0, 0), (1, 1 << 19, 2 << 20)] {
        action["limits"] = json!({"logs": limit, "memory": 128});
        platform.api().put_action("talker", &action);
        let (bytes, last) = logged(&platform, 4);
        assert!(
            (least..=most).contains(&bytes),
            "{limit} MiB: {bytes}, {last}"
        );
        assert!(
            limit == 0 || !last.contains("xxx"),
            "that it was cut is said: {last}"
        );
    }
}
