//! Proof that refused requests change nothing.

use burst_client::{ListDefinitionsQuery, ListFlaresQuery};

use crate::{Platform, read_json};

/// Makes requests and checks that definitions, flares and slots are the same afterwards as before.
#[track_caller]
pub fn changing_nothing(platform: &Platform, requests: impl FnOnce()) {
    let state = || {
        let api = platform.api();
        (
            read_json(
                api.client()
                    .list_definitions(&ListDefinitionsQuery::default()),
            ),
            read_json(api.client().list_flares(&ListFlaresQuery::default())),
            api.free_slots(),
        )
    };
    let before = state();
    requests();
    assert_eq!(state(), before);
}
