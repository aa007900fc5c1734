//! The work function that tries to break out.

use crate::{Platform, Settings, built};

/// What it is deployed as.
pub const NAME: &str = "escaping";

/// A platform that has it.
#[track_caller]
pub fn start(settings: Settings) -> Platform {
    let platform = Platform::start(settings);
    let program = built::program(NAME);
    let deploy = ["deploy", NAME, program.to_str().unwrap()];
    platform.cli(&deploy).exits(0);
    platform
}
