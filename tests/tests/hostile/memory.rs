//! Memory of every kind. A worker's pack has 128 MiB, and a little on top.

use serde_json::json;

use super::script::{Ends, Script, within};

const TOO_MUCH: &[&str] = &["out-of-memory"];

pub fn scripts() -> Vec<Script> {
    vec![
        within(
            "a gigabyte at once",
            Ends::Badly(TOO_MUCH),
            json!([{"do": "touch", "mebibytes": 1024}]),
        ),
        within(
            "a gigabyte slowly",
            Ends::Badly(TOO_MUCH),
            json!([{"do": "touch", "mebibytes": 1024, "each": 8, "millis": 5}]),
        ),
        within(
            "all that it may have, and kept",
            Ends::Well,
            json!([{"do": "touch", "mebibytes": 100}]),
        ),
        within(
            "a gigabyte in shared memory",
            Ends::Somehow,
            json!([{"do": "fill", "in": "shared memory"}]),
        )
        .in_containers(),
        within("a gigabyte in /tmp", Ends::Somehow, json!([{"do": "fill"}])).in_containers(),
        within(
            "the cache of pages",
            Ends::Somehow,
            json!([{"do": "fill", "mebibytes": 48, "read": true, "gone": true}]),
        ),
        within(
            "a gigabyte in a file without a name",
            Ends::Badly(TOO_MUCH),
            json!([{"do": "memory-file", "mebibytes": 1024}]),
        )
        .in_containers()
        .counted(),
        within(
            "a gigabyte that outlives its maker",
            Ends::Badly(TOO_MUCH),
            json!([{"do": "shared-segment", "mebibytes": 1024}]),
        )
        .in_containers()
        .counted(),
        within(
            "a little that outlives its maker",
            Ends::Well,
            json!([{"do": "shared-segment", "mebibytes": 32}]),
        )
        .in_containers(),
        within(
            "memory that is locked",
            Ends::Well,
            json!([{"do": "lock", "mebibytes": 64}, {"do": "call", "name": "mlockall", "arguments": [3]}]),
        ),
        within(
            "a hundred terabytes of addresses",
            Ends::Well,
            json!([{"do": "reserve", "gibibytes": 100_000}]),
        ),
        within(
            "as many mappings as there may be",
            Ends::Somehow,
            json!([{"do": "take", "what": "mappings"}]),
        )
        .spoiled(),
        within(
            "a child that eats",
            Ends::Somehow,
            json!([{"do": "fork", "lives": "eat"}, {"do": "sleep", "millis": 500}]),
        )
        .in_containers(),
        within(
            "twenty children that eat",
            Ends::Somehow,
            json!([{"do": "fork", "count": 20, "lives": "eat"}, {"do": "sleep", "millis": 500}]),
        )
        .in_containers(),
        within(
            "a stack without a ground",
            Ends::Badly(&["abort", "signal", "out-of-memory"]),
            json!([{"do": "overflow"}]),
        ),
    ]
}
