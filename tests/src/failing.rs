//! The work function of `tests/programs/failing`, whose behaviour its input chooses.

use serde_json::{Value, json};

use crate::{Platform, built};

/// Name under which it is deployed.
pub const NAME: &str = "failing";

/// The line the chosen worker writes right before it does what it was told.
pub const MARK: &str = "now: ";

/// Deploys it, built already, with the CLI.
#[track_caller]
pub fn deploy(platform: &Platform) {
    deploy_as(platform, NAME, &[]);
}

/// Deploys it under another name and with more flags.
#[track_caller]
pub fn deploy_as(platform: &Platform, name: &str, flags: &[&str]) {
    let program = built::program(NAME);
    let mut arguments = vec!["deploy", name, program.to_str().unwrap()];
    arguments.extend(flags);
    platform.cli(&arguments).exits(0);
}

/// Input that makes worker `who` do `how` while the others wait for it.
pub fn input(how: &str, who: u32) -> Value {
    json!({"how": how, "who": who})
}

/// Input that makes every worker succeed at once.
pub fn succeed() -> Value {
    json!({"how": "succeed"})
}

/// Input that makes every worker say how often it was called on its group, and in which process.
pub fn count() -> Value {
    json!({"how": "count"})
}

/// Input that makes every worker run for so many milliseconds, awake, and succeed.
pub fn hold(millis: u64) -> Value {
    json!({"how": "hold", "millis": millis})
}
