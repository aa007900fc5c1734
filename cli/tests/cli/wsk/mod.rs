//! OpenWhisk's command line.

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

/// One that knows the platform by `~/.wskprops`.
fn wsk(platform: &Platform) -> Burst {
    let burst = Burst::alone();
    let properties = format!("APIHOST=http://{}\nAUTH={AUTH}\n", platform.address());
    burst.file(".wskprops", properties);
    burst
}

/// What was sent with the last request.
fn sent(platform: &Platform) -> serde_json::Value {
    platform.requests().pop().unwrap().body
}

const ID: &str = "44794bd6aab74415b4e42a308d880e5b";
