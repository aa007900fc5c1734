//! Attacks that concern every server that carries messages of all flares: the flare's account there is removed, with
//! everything it has left, however the flare ends.

use serde_json::{Value, json};

use super::script::{Expected, Script, begin_and_end, in_flare, refused, script};

const CRASH: &[&str] = &["exit", "signal", "abort", "internal", "pack-lost"];

/// A script with two packs, as a flare with a single pack uses no server.
pub fn two_pack_script(name: &'static str, step: &Value) -> Script {
    in_flare(name, Expected::Success, json!([step])).and(begin_and_end(json!([])))
}

/// Returns whether every answer in a non-empty list satisfies `good`.
pub fn all(result: &Value, good: fn(&str) -> bool) -> bool {
    let answers = result.as_array().filter(|answers| !answers.is_empty());
    answers.is_some_and(|answers| {
        answers
            .iter()
            .all(|answer| good(answer.as_str().unwrap_or_default()))
    })
}

/// Returns whether all HTTP statuses in a non-empty list are refusals.
pub fn forbidden(result: &Value) -> bool {
    let statuses = result.as_array().filter(|statuses| !statuses.is_empty());
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
            Expected::Timeout,
            json!([hang]),
        )
        .and(begin_and_end(json!([])))
        .timeout(1_500),
        in_flare(
            "with an account, and its program ends",
            Expected::Failure(CRASH),
            json!([account, {"do": "exit"}]),
        )
        .and(begin_and_end(json!([{"do": "sleep", "millis": 300}]))),
        in_flare(
            "with an account, and its runtime is killed",
            Expected::Anything,
            json!([account, {"do": "kill", "who": "runtime", "signal": 9}, {"do": "sleep"}]),
        )
        .and(begin_and_end(json!([])))
        .timeout(10_000),
        in_flare(
            "with an account, and out of memory",
            Expected::Failure(&["out-of-memory"]),
            json!([account, {"do": "touch", "mebibytes": 1024}]),
        )
        .and(begin_and_end(json!([]))),
        in_flare(
            "with an account, and no hello",
            Expected::Failure(&["start-failed"]),
            json!([]),
        )
        .before(json!([{"do": "exit"}]))
        .and(begin_and_end(json!([]))),
        two_pack_script(
            "somebody else's account, in the runtime's memory",
            &json!({"do": "read-memory"}),
        )
        .expect_result("read-memory", refused),
        two_pack_script(
            "somebody else's account, in the runtime's environment",
            &json!({"do": "read", "path": "/proc/1/environ"}),
        )
        .expect_result("read", refused),
    ]
}
