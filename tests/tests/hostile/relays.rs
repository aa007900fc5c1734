//! The relay between a sandbox and its server: connections that take up all it has, that send nothing until the end,
//! and that go to other services at the server's address.

use serde_json::{Value, json};

use super::script::Script;
use super::servers::two_pack_script;

/// Whether only the server itself was reached.
fn one(result: &Value) -> bool {
    result == 1
}

pub fn scripts() -> Vec<Script> {
    vec![
        two_pack_script(
            "a thousand connections to its server, kept",
            &json!({"do": "connect", "to": "server", "count": 1000, "kept": true}),
        ),
        two_pack_script(
            "half a request at its server, 200 times, kept",
            &json!({"do": "connect", "to": "server", "kind": "half a header", "length": 390_000,
                "count": 200, "millis": 1000, "kept": true}),
        ),
        two_pack_script(
            "a scan of its server's ports",
            &json!({"do": "scan", "to": "server", "ports": 200, "millis": 60_000}),
        )
        .expect_result("scan", one),
    ]
}
