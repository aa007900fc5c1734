//! Memory of every kind. A worker's pack has 128 MiB, and a little on top.

use serde_json::json;

use super::script::{Expected, Script, in_flare};

const OUT_OF_MEMORY: &[&str] = &["out-of-memory"];

pub fn scripts() -> Vec<Script> {
    vec![
        in_flare(
            "a gigabyte at once",
            Expected::Failure(OUT_OF_MEMORY),
            json!([{"do": "touch", "mebibytes": 1024}]),
        ),
        in_flare(
            "a gigabyte slowly",
            Expected::Failure(OUT_OF_MEMORY),
            json!([{"do": "touch", "mebibytes": 1024, "each": 8, "millis": 5}]),
        ),
        in_flare(
            "all that it may have, and kept",
            Expected::Success,
            json!([{"do": "touch", "mebibytes": 100}]),
        ),
        in_flare(
            "a gigabyte in shared memory",
            Expected::Anything,
            json!([{"do": "fill", "in": "shared memory"}]),
        )
        .in_containers(),
        in_flare(
            "a gigabyte in /tmp",
            Expected::Anything,
            json!([{"do": "fill"}]),
        )
        .in_containers(),
        in_flare(
            "the cache of pages",
            Expected::Anything,
            json!([{"do": "fill", "mebibytes": 48, "read": true, "gone": true}]),
        ),
        in_flare(
            "a gigabyte in a file without a name",
            Expected::Failure(OUT_OF_MEMORY),
            json!([{"do": "memory-file", "mebibytes": 1024}]),
        )
        .in_containers()
        .accounted(),
        in_flare(
            "a gigabyte that outlives its maker",
            Expected::Failure(OUT_OF_MEMORY),
            json!([{"do": "shared-segment", "mebibytes": 1024}]),
        )
        .in_containers()
        .accounted(),
        in_flare(
            "a little that outlives its maker",
            Expected::Success,
            json!([{"do": "shared-segment", "mebibytes": 32}]),
        )
        .in_containers(),
        in_flare(
            "memory that is locked",
            Expected::Success,
            json!([{"do": "lock", "mebibytes": 64}, {"do": "call", "name": "mlockall", "arguments": [3]}]),
        ),
        in_flare(
            "a hundred terabytes of addresses",
            Expected::Success,
            json!([{"do": "reserve", "gibibytes": 100_000}]),
        ),
        in_flare(
            "as many mappings as there may be",
            Expected::Anything,
            json!([{"do": "take", "what": "mappings"}]),
        )
        .discard_packs(),
        in_flare(
            "a child that eats",
            Expected::Anything,
            json!([{"do": "fork", "lives": "eat"}, {"do": "sleep", "millis": 500}]),
        )
        .in_containers(),
        in_flare(
            "twenty children that eat",
            Expected::Anything,
            json!([{"do": "fork", "count": 20, "lives": "eat"}, {"do": "sleep", "millis": 500}]),
        )
        .in_containers(),
        in_flare(
            "a stack without a ground",
            Expected::Failure(&["abort", "signal", "out-of-memory"]),
            json!([{"do": "overflow"}]),
        ),
    ]
}
