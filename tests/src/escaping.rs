//! The work function that tries to break out.

use crate::{Loan, Platform, Settings, built};

/// What it is deployed as.
pub const NAME: &str = "escaping";

/// A platform that has it.
#[track_caller]
pub fn start(settings: Settings) -> Platform {
    let platform = Platform::start(settings);
    deploy(&platform);
    platform
}

/// As [`start`], of those that are lent.
#[track_caller]
pub fn lent(settings: Settings) -> Loan {
    let platform = Platform::lent(settings);
    deploy(&platform);
    platform
}

#[track_caller]
fn deploy(platform: &Platform) {
    let program = built::program(NAME);
    let deploy = ["deploy", NAME, program.to_str().unwrap()];
    platform.cli(&deploy).exits(0);
}
