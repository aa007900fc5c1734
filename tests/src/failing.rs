//! The work function of `tests/programs/failing`, whose behaviour its input chooses.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::{Api, Platform, built};
use burst_client::Flare;

/// Name under which it is deployed.
pub const NAME: &str = "failing";

/// The line that the chosen worker writes right before it does what its input asks for.
pub const MARK: &str = "now: ";

/// Longer than any test lasts: only the fault can end such a flare.
pub const LONG: Duration = Duration::from_secs(600);
/// [`LONG`] as a request has its timeout, in milliseconds.
pub const LONG_TIMEOUT: u64 = LONG.as_millis() as u64;
/// For a flare that ends at once.
pub const SHORT: Duration = Duration::from_millis(1);

/// Deploys it, built already, with the CLI.
#[track_caller]
pub fn deploy(platform: &Platform) {
    deploy_as(platform, NAME, &[]);
}

/// Deploys it under another name and with additional flags.
#[track_caller]
pub fn deploy_as(platform: &Platform, name: &str, flags: &[&str]) {
    let program = built::program(NAME);
    let mut arguments = vec!["deploy", name, program.to_str().unwrap()];
    arguments.extend(flags);
    platform.cli(&arguments).exits(0);
}

/// The request of a flare whose workers [`hold`], with a [`LONG`] timeout.
pub fn holding(size: u32, time: Duration) -> Value {
    json!({"size": size, "params": hold(time), "timeout": LONG_TIMEOUT})
}

/// When a worker wrote its last line before its deed.
#[track_caller]
pub fn marked(api: &Api, flare: &Flare, who: u32) -> SystemTime {
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

/// Input that makes every worker succeed immediately.
pub fn succeed() -> Value {
    json!({"how": "succeed"})
}

/// Input that makes every worker report how often it was called on its group, and in which process.
pub fn count() -> Value {
    json!({"how": "count"})
}

/// Input that makes every worker report its process, and a hash of every environment variable, one
/// per line.
pub fn variables() -> Value {
    json!({"how": "variables"})
}

/// Input that makes every worker run for this long, busy, and succeed.
pub fn hold(time: Duration) -> Value {
    json!({"how": "hold", "millis": time.as_millis() as u64})
}

/// Like [`hold`], but workers end early if this file appears, which only packs that are processes
/// can see.
pub fn hold_until(file: &Path, time: Duration) -> Value {
    json!({"how": "hold", "millis": time.as_millis() as u64, "file": file})
}
