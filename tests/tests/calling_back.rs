//! Functions that call the platform back, at the address and with the key that it gives them.

use std::time::{Duration, SystemTime};

use burst_client::{Answer, Error, ListActionsQuery};
use burst_tests::{Api, Driver, Platform, Settings, refused, wait};
use reqwest::Method;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const TWICE: &str = "
def main(args):
    return {'twice': 2 * args['n']}
";

/// Calls another action of its namespace. It must not go through a proxy of the machine.
const CALLER: &str = "
import base64, json, os, urllib.request

def main(args):
    host, key = os.environ['__OW_API_HOST'], os.environ['__OW_API_KEY']
    credentials = base64.b64encode(key.encode()).decode()
    request = urllib.request.Request(
        host + '/api/v1/namespaces/_/actions/twice?blocking=true&result=true',
        json.dumps({'n': int(args['n'])}).encode(),
        {'Content-Type': 'application/json', 'Authorization': 'Basic ' + credentials})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=50) as answer:
        got = json.load(answer)
    return {'host': host, 'key': key, 'deadline': os.environ['__OW_DEADLINE'], 'got': got}
";

/// Returns what it was given to its caller.
const TELLER: &str = "
import os

def main(args):
    told = {name: os.environ.get('__OW_' + name.upper()) for name in ('api_host', 'api_key', 'deadline')}
    return {'host': told['api_host'], 'key': told['api_key'], 'deadline': told['deadline']}
";

#[track_caller]
fn store(api: &Api, name: &str, code: &str, timeout: Duration, annotations: Value) {
    let body = json!({
        "exec": {"kind": "python:default", "code": code},
        "limits": {"timeout": timeout.as_millis() as u64},
        "annotations": annotations,
    });
    api.put_action(name, &body);
}

fn keyed() -> Value {
    json!({"key": "provide-api-key", "value": true})
}

#[track_caller]
fn invoke(api: &Api, name: &str, n: u64) -> Value {
    api.invoke_for_result(name, &json!({"n": n})).expect(200)
}

/// The answer of a web action to a caller without credentials.
#[track_caller]
fn stranger(platform: &Platform, call: &str) -> Value {
    let path = format!("web/{}/default/{call}", platform.namespace());
    let request = platform.api().anonymous(Method::GET, &path);
    platform.api().send(request).expect(200)
}

/// An API client with the key that a function was given.
#[track_caller]
fn with_key(platform: &Platform, context: &Value) -> Api {
    let key = context["key"].as_str().unwrap();
    assert_ne!(key, platform.api().auth(), "it is not its caller's own");
    Api::new(platform.api().base(), key)
}

/// Milliseconds since the epoch.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

/// The timeout of functions that must also work on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// The timeout of a function whose deadline the test waits for: it only returns what it was given.
const SHORT: Duration = Duration::from_secs(30);

/// Has the function with the short timeout called, and tries the key that it was given before its deadline.
#[track_caller]
fn briefly(platform: &Platform, call: impl Fn(&Api) -> Value) -> Value {
    for _ in 0..5 {
        let context = call(platform.api());
        match actions(&with_key(platform, &context)) {
            Err(cause) if cause.status() == Some(401) && now() > deadline(&context) => continue,
            answer => answer.unwrap(),
        };
        return context;
    }
    panic!("its key is never good in its time")
}

fn actions(api: &Api) -> Result<Answer<Box<RawValue>>, Error> {
    api.client().list_actions(&ListActionsQuery::default())
}

fn deadline(context: &Value) -> u64 {
    context["deadline"].as_str().unwrap().parse().unwrap()
}

/// Waits until the deadline of the function's run has passed: its key, valid until then, is rejected.
#[track_caller]
fn key_expires(platform: &Platform, context: &Value) {
    let deadline = deadline(context);
    wait::until_seen("its time is up", wait::SOON, now, |now| *now > deadline);
    let late = with_key(platform, context);
    refused(actions(&late), 401);
    late.invoke("twice", &json!({"n": 1})).refusal(401);
}

#[test]
fn a_function_calls_back_with_a_key_that_is_valid_while_it_runs() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let api = platform.api();
    store(api, "twice", TWICE, LONG, json!([]));
    let annotations = json!([keyed(), {"key": "web-export", "value": true}]);
    store(api, "caller", CALLER, LONG, annotations);
    let context = invoke(api, "caller", 4);
    assert_eq!(context["got"], json!({"twice": 8}), "{context}");
    assert_eq!(
        context["host"],
        api.base(),
        "the port is the one it was given in place of 0"
    );
    // A call by a stranger carries no key: the function's key is for its owner's namespace.
    let web = stranger(&platform, "caller.json?n=21");
    assert_eq!(web["got"], json!({"twice": 42}), "{web}");
    assert_ne!(web["key"], context["key"]);
    let annotations = json!([keyed(), {"key": "web-export", "value": true}]);
    store(api, "brief", TELLER, SHORT, annotations);
    let context = briefly(&platform, |api| invoke(api, "brief", 0));
    let web = briefly(&platform, |_| stranger(&platform, "brief.json"));
    key_expires(&platform, &context);
    key_expires(&platform, &web);
    assert_eq!(api.count_activations(Some("twice")), 2);
}

/// No function in a sandbox can reach the controller, so its caller tries the key that it was given.
#[test]
fn functions_in_sandboxes_get_a_valid_key_only_on_request() {
    let platform = Platform::lent(Settings::new(Driver::Sandbox));
    let api = platform.api();
    store(api, "twice", TWICE, LONG, json!([]));
    store(api, "keyless", TELLER, LONG, json!([]));
    store(api, "keyed", TELLER, LONG, json!([keyed()]));
    let keyless = invoke(api, "keyless", 0);
    assert_eq!(keyless["host"], api.base());
    assert_eq!(keyless["key"], Value::Null);
    let given = invoke(api, "keyed", 0);
    assert_eq!(given["host"], api.base());
    let got = invoke(&with_key(&platform, &given), "twice", 5);
    assert_eq!(got, json!({"twice": 10}));
    store(api, "brief", TELLER, SHORT, json!([keyed()]));
    let context = briefly(&platform, |api| invoke(api, "brief", 0));
    key_expires(&platform, &context);
}
