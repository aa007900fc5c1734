//! The work function that tries to break out of its pack.

use crate::{Loan, Platform, Settings, built};

/// The name under which it is deployed.
pub const NAME: &str = "escaping";

/// Starts a platform on which it is deployed.
#[track_caller]
pub fn start(settings: Settings) -> Platform {
    let platform = Platform::start(settings);
    deploy(&platform);
    platform
}

/// Like [`start`], with a lent platform.
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
