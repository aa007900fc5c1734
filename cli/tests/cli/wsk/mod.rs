//! Tests of OpenWhisk's command line.

mod actions;
mod activations;
mod apis;
mod invocations;
mod packages;
mod properties;
mod rules;
mod triggers;
mod web;

use crate::platform::Platform;
use crate::program::{AUTH, Burst};

/// Returns a program that knows the platform from `~/.wskprops`.
fn wsk(platform: &Platform) -> Burst {
    let burst = Burst::alone();
    let properties = format!("APIHOST=http://{}\nAUTH={AUTH}\n", platform.address());
    burst.file(".wskprops", properties);
    burst
}

/// Returns the body of the last request.
fn sent(platform: &Platform) -> serde_json::Value {
    platform.requests().pop().unwrap().body
}

/// Returns an action as in a response of the platform.
fn action(namespace: &str, name: &str, annotations: &str, parameters: &str) -> String {
    format!(
        r#"{{"namespace":"{namespace}","name":"{name}","version":"0.0.1","publish":false,"exec":{{"kind":"nodejs:20"}},
            "limits":{{"timeout":60000,"memory":256,"logs":10,"concurrency":1}},"updated":1,
            "annotations":[{annotations}],"parameters":[{parameters}]}}"#
    )
}

const ID: &str = "44794bd6aab74415b4e42a308d880e5b";
