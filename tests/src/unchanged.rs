//! Proof that refused requests change nothing.

use crate::Platform;

/// Makes requests and checks that definitions, flares and slots are afterwards as before.
#[track_caller]
pub fn changing_nothing(platform: &Platform, requests: impl FnOnce()) {
    let state = || {
        let api = platform.api();
        (
            api.get("bursts").json,
            api.get("flares").json,
            api.free_slots(),
        )
    };
    let before = state();
    requests();
    assert_eq!(state(), before);
}
