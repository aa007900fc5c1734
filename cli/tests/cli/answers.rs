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
    let says = match (method, &parts[..]) {
        ("GET", ["bursts"] | ["bursts", _, "versions"]) => says::<Vec<DefinitionSummary>>,
        ("GET" | "PUT" | "DELETE", ["bursts", _])
        | ("GET", ["bursts", _, "versions", _])
        | ("POST", ["bursts", _, "rollback"]) => says::<Definition>,
        ("GET", ["flares"] | ["admin", "flares"]) => says::<Vec<FlareSummary>>,
        ("GET", ["flares", _]) => says::<Flare>,
        ("GET", ["flares", _, "result"]) => says::<FlareResult>,
        ("GET", ["flares", _, "logs"]) => says::<Logs>,
        ("GET", ["flares", _, "timeline"]) => says::<Timeline>,
        ("GET", ["groups"] | ["admin", "groups"]) => says::<Vec<GroupSummary>>,
        ("GET", ["groups", _]) => says::<Group>,
        ("POST", ["bursts" | "groups", _]) | ("DELETE", ["flares", _] | ["admin", "flares", _]) => {
            says::<Accepted>
        }
        ("POST", ["groups"]) | ("DELETE", ["groups", _] | ["admin", "groups", _]) => {
            says::<AcceptedGroup>
        }
        ("GET", ["invokers"]) => says::<Vec<Invoker>>,
        ("GET", ["admin", "namespaces"]) => says::<Vec<Namespace>>,
        ("PUT", ["admin", "namespaces", _]) => says::<CreatedNamespace>,
        ("GET" | "DELETE", ["admin", "namespaces", _]) => says::<Namespace>,
        _ => panic!("the API has no {line}"),
    };
    says(body);
}

fn says<T: DeserializeOwned + Serialize>(body: &str) {
    let read: T = serde_json::from_str(body).unwrap_or_else(|cause| panic!("{cause}: {body}"));
    let promised = serde_json::to_value(read).unwrap();
    let said: Value = serde_json::from_str(body).unwrap();
    assert_eq!(said, promised, "not what the API promises");
}
