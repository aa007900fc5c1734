//! The work function of `tests/programs/failing`, whose behaviour its input chooses.

use std::path::Path;

use serde_json::{Value, json};

use crate::{Api, Platform, built};
use burst_client::Flare;

/// Name under which it is deployed.
pub const NAME: &str = "failing";

/// The line the chosen worker writes right before it does what it was told.
pub const MARK: &str = "now: ";

/// A time-out longer than any test lasts, in milliseconds: what ends such a flare is the fault.
pub const LONG: u64 = 600_000;

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

/// A flare whose workers [`hold`], with a [`LONG`] time-out.
pub fn holding(size: u32, millis: u64) -> Value {
    json!({"size": size, "params": hold(millis), "timeout": LONG})
}

/// When a worker wrote its last line before its deed, in microseconds.
#[track_caller]
pub fn marked(api: &Api, flare: &Flare, who: u32) -> u64 {
    let logs = api.logs(&flare.flare_id).logs;
    let marks = logs
        .iter()
        .filter(|line| line.worker == Some(who) && line.line.starts_with(MARK));
    let last = marks.map(|line| line.at).max();
    last.unwrap_or_else(|| panic!("the last words of worker {who} are not in the logs: {logs:#?}"))
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

/// Input that makes every worker say which process it is in, and in a line each a hash of
/// every environment variable.
pub fn variables() -> Value {
    json!({"how": "variables"})
}

/// Input that makes every worker run for so many milliseconds, awake, and succeed.
pub fn hold(millis: u64) -> Value {
    json!({"how": "hold", "millis": millis})
}

/// As [`hold`], and shorter when this file is there, which packs that are processes see.
pub fn hold_until(file: &Path, millis: u64) -> Value {
    json!({"how": "hold", "millis": millis, "file": file})
}
