//! Attacks that concern every server that carries messages of all flares: the flare's account there is removed, with
//! everything it has left, however the flare ends.

use serde_json::{Value, json};

use super::script::{Ends, Script, honest, refused, script, within};

const DIED: &[&str] = &["exit", "signal", "abort", "internal", "pack-lost"];

/// A script with two packs, as a flare with a single pack uses no server.
pub fn played(name: &'static str, deed: &Value) -> Script {
    within(name, Ends::Well, json!([deed])).and(honest(json!([])))
}

/// Returns whether every answer in a non-empty list satisfies `good`.
pub fn all(came: &Value, good: fn(&str) -> bool) -> bool {
    let answers = came.as_array().filter(|answers| !answers.is_empty());
    answers.is_some_and(|answers| {
        answers
            .iter()
            .all(|answer| good(answer.as_str().unwrap_or_default()))
    })
}

/// Returns whether all HTTP statuses in a non-empty list are refusals.
pub fn forbidden(came: &Value) -> bool {
    let statuses = came.as_array().filter(|statuses| !statuses.is_empty());
    statuses.is_some_and(|statuses| {
        statuses
            .iter()
            .all(|status| [401, 403, 404, 405].contains(&status.as_u64().unwrap_or(0)))
    })
}

/// Flares that do not end well, after they have been given an account.
pub fn scripts() -> Vec<Script> {
    let hang = json!({"do": "hang"});
    let account = json!({"do": "backend-address"});
    vec![
        script(
            "with an account, and never ready",
            Ends::Late,
            json!([hang]),
        )
        .and(honest(json!([])))
        .timeout(1_500),
        within(
            "with an account, and its program ends",
            Ends::Badly(DIED),
            json!([account, {"do": "exit"}]),
        )
        .and(honest(json!([{"do": "sleep", "millis": 300}]))),
        within(
            "with an account, and its runtime is killed",
            Ends::Somehow,
            json!([account, {"do": "kill", "who": "runtime", "signal": 9}, {"do": "sleep"}]),
        )
        .and(honest(json!([])))
        .timeout(10_000),
        within(
            "with an account, and out of memory",
            Ends::Badly(&["out-of-memory"]),
            json!([account, {"do": "touch", "mebibytes": 1024}]),
        )
        .and(honest(json!([]))),
        within(
            "with an account, and no hello",
            Ends::Badly(&["start-failed"]),
            json!([]),
        )
        .before(json!([{"do": "exit"}]))
        .and(honest(json!([]))),
        played(
            "somebody else's account, in the runtime's memory",
            &json!({"do": "read-memory"}),
        )
        .noted("read-memory", refused),
        played(
            "somebody else's account, in the runtime's environment",
            &json!({"do": "read", "path": "/proc/1/environ"}),
        )
        .noted("read", refused),
    ]
}
