//! Checks scripted responses against the API's model: they must have all of its fields and no
//! others.

use burst_client::{
    Accepted, AcceptedGroup, CreatedNamespace, Definition, DefinitionSummary, Flare, FlareResult,
    FlareSummary, Group, GroupSummary, Invoker, Logs, Namespace, Timeline,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Checks that the API could respond to this request with this body.
pub fn check(line: &str, body: &str) {
    let (method, target) = line.split_once(' ').unwrap();
    let path = target.split('?').next().unwrap();
    let path = path.trim_start_matches("/api/v1").trim_start_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    let check_type = match (method, &parts[..]) {
        ("GET", ["bursts"] | ["bursts", _, "versions"]) => check_type::<Vec<DefinitionSummary>>,
        ("GET" | "PUT" | "DELETE", ["bursts", _])
        | ("GET", ["bursts", _, "versions", _])
        | ("POST", ["bursts", _, "rollback"]) => check_type::<Definition>,
        ("GET", ["flares"] | ["admin", "flares"]) => check_type::<Vec<FlareSummary>>,
        ("GET", ["flares", _]) => check_type::<Flare>,
        ("GET", ["flares", _, "result"]) => check_type::<FlareResult>,
        ("GET", ["flares", _, "logs"]) => check_type::<Logs>,
        ("GET", ["flares", _, "timeline"]) => check_type::<Timeline>,
        ("GET", ["groups"] | ["admin", "groups"]) => check_type::<Vec<GroupSummary>>,
        ("GET", ["groups", _]) => check_type::<Group>,
        ("POST", ["bursts" | "groups", _]) | ("DELETE", ["flares", _] | ["admin", "flares", _]) => {
            check_type::<Accepted>
        }
        ("POST", ["groups"]) | ("DELETE", ["groups", _] | ["admin", "groups", _]) => {
            check_type::<AcceptedGroup>
        }
        ("GET", ["invokers"]) => check_type::<Vec<Invoker>>,
        ("GET", ["admin", "namespaces"]) => check_type::<Vec<Namespace>>,
        ("PUT", ["admin", "namespaces", _]) => check_type::<CreatedNamespace>,
        ("GET" | "DELETE", ["admin", "namespaces", _]) => check_type::<Namespace>,
        _ => panic!("the API has no {line}"),
    };
    check_type(body);
}

fn check_type<T: DeserializeOwned + Serialize>(body: &str) {
    let read: T = serde_json::from_str(body).unwrap_or_else(|cause| panic!("{cause}: {body}"));
    let promised = serde_json::to_value(read).unwrap();
    let value: Value = serde_json::from_str(body).unwrap();
    assert_eq!(value, promised, "not what the API promises");
}
