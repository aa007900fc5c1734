//! More simultaneous blocking calls than slots: none is lost, and each gets its own result.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use burst_client::ListActivationsQuery;
use burst_tests::{Api, Driver, Platform, Settings, wait};
use reqwest::Method;
use serde_json::{Value, json};

const CALLS: u64 = 30;

/// Takes long enough for all other calls to arrive before the first one ends.
const SQUARE: &str = "
import time

def main(args):
    time.sleep(0.05)
    return {'n': args['n'], 'square': int(args['n']) ** 2}
";

const NEXT: &str = "
def main(args):
    return {'n': args['n'] + 1}
";

#[test]
fn each_of_many_concurrent_calls_gets_its_own_result() {
    let platform = Platform::start(Settings::new(Driver::Process).slots(2));
    let api = platform.api();
    let python = |code: &str| json!({"kind": "python:default", "code": code});
    store(api, "square", python(SQUARE));
    store(api, "next", python(NEXT));
    let components = json!(["/_/next", "/_/square"]);
    store(
        api,
        "both",
        json!({"kind": "sequence", "components": components}),
    );

    let ids = all_at_once(|n| {
        let record = record(api, "square", n);
        let result = json!({"n": n, "square": n * n});
        assert_eq!(record["response"]["result"], result, "{n}: {record:#}");
        id(&record)
    });
    recorded(api, "square", CALLS, &ids);

    let ids = all_at_once(|n| {
        let record = record(api, "both", n);
        let result = json!({"n": n + 1, "square": (n + 1) * (n + 1)});
        assert_eq!(record["response"]["result"], result, "{n}: {record:#}");
        assert_eq!(record["logs"].as_array().unwrap().len(), 2, "{record:#}");
        id(&record)
    });
    recorded(api, "both", CALLS, &ids);
    recorded(api, "next", CALLS, &BTreeSet::new());

    let ids = all_at_once(|n| {
        let path = format!("web/guest/default/square.json?n={n}");
        let request = api.anonymous(Method::GET, &path);
        let answer = request.send().unwrap();
        let id = answer.headers()["X-OpenWhisk-Activation-Id"].clone();
        let status = answer.status();
        let text = answer.text().unwrap();
        assert_eq!(status, 200, "{n}: {text}");
        let result: Value = serde_json::from_str(&text).unwrap();
        // Values in a query are text.
        assert_eq!(result, json!({"n": n.to_string(), "square": n * n}), "{n}");
        id.to_str().unwrap().to_owned()
    });
    recorded(api, "square", 3 * CALLS, &ids);
}

#[track_caller]
fn store(api: &Api, name: &str, exec: Value) {
    let body = json!({"exec": exec, "annotations": [{"key": "web-export", "value": true}]});
    api.put_action(name, &body);
}

/// Makes all calls simultaneously and returns their results, all of which must differ.
#[track_caller]
fn all_at_once(call: impl Fn(u64) -> String + Sync) -> BTreeSet<String> {
    let start = Barrier::new(CALLS as usize);
    let (start, call) = (&start, &call);
    let ids: BTreeSet<String> = thread::scope(|scope| {
        let calls: Vec<_> = (0..CALLS)
            .map(|n| {
                scope.spawn(move || {
                    start.wait();
                    call(n)
                })
            })
            .collect();
        (calls.into_iter()).map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(ids.len() as u64, CALLS, "two calls are one activation");
    ids
}

/// The answer to a blocking call.
#[track_caller]
fn record(api: &Api, name: &str, n: u64) -> Value {
    api.invoke(name, &json!({"n": n})).expect(200)
}

fn id(record: &Value) -> String {
    record["activationId"].as_str().unwrap().to_owned()
}

/// Checks that an action has run exactly this many times, including these activations.
#[track_caller]
fn recorded(api: &Api, name: &str, runs: u64, ids: &BTreeSet<String>) {
    let query = ListActivationsQuery {
        name: Some(name.into()),
        limit: Some(200),
        ..ListActivationsQuery::default()
    };
    let list = || -> BTreeSet<String> { api.activations(&query).iter().map(id).collect() };
    let seen = wait::until_seen("all are recorded", wait::SOON, list, |seen| {
        seen.len() as u64 >= runs
    });
    assert_eq!(seen.len() as u64, runs, "{name} has run more often");
    assert!(ids.is_subset(&seen), "{name}: {ids:?} of {seen:?}");
}
