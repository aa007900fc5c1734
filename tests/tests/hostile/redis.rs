//! Redis, on which each flare has a user of its own.

use serde_json::{Value, json};

use super::script::Script;
use super::servers::{all, two_pack_script};

/// Commands that the server must all refuse; the flare's own user has no access to others' keys.
fn refused(name: &'static str, commands: &Value) -> Script {
    two_pack_script(name, &json!({"do": "redis", "commands": commands}))
        .expect_result("redis", |result| {
            all(result, |answer| answer.starts_with('-'))
        })
}

pub fn scripts() -> Vec<Script> {
    vec![
        refused(
            "keys of others",
            &json!([
                ["GET", "x"],
                ["SET", "x", "1"],
                ["DEL", "burst:NEIGHBOUR:0"],
                ["RPUSH", "burst:FLAR", "1"],
                ["BLPOP", "burst:other:x", "0.1"],
                ["XADD", "burst:other:x", "*", "a", "b"],
                ["GET", "burst:*"]
            ]),
        ),
        refused(
            "the whole server",
            &json!([
                ["FLUSHALL"],
                ["CONFIG", "SET", "maxmemory", "1"],
                ["KEYS", "*"],
                ["SCAN", "0"],
                ["MONITOR"],
                ["CLIENT", "KILL", "TYPE", "normal"],
                ["CLIENT", "PAUSE", "10000"],
                ["SHUTDOWN", "NOSAVE"],
                ["DEBUG", "SLEEP", "5"],
                ["EVAL", "while true do end", "0"],
                ["ACL", "SETUSER", "default", "on", "nopass", "+@all", "~*"],
                ["REPLICAOF", "127.0.0.1", "1"],
                ["SUBSCRIBE", "x"],
                ["PUBLISH", "x", "x"],
                ["FUNCTION", "FLUSH"]
            ]),
        ),
        refused("another database", &json!([["SELECT", "1"]])),
        two_pack_script(
            "a key in another database",
            &json!({"do": "redis", "commands": [["SELECT", "1"], ["SET", "burst:FLARE:left", "1"]]}),
        ),
        two_pack_script(
            "keys of its own that do not expire",
            &json!({"do": "redis", "commands": [
                ["SET", "burst:FLARE:left", "1"],
                ["RPUSH", "burst:FLARE:list", "1"],
                ["SADD", "burst:FLARE:set", "1"]
            ]}),
        ),
        refused(
            "somebody else's name",
            &json!([
                ["AUTH", "default", ""],
                ["AUTH", "default", "default"],
                ["AUTH", ""]
            ]),
        ),
        two_pack_script(
            "no name at all",
            &json!({"do": "redis", "anonymous": true, "commands": [["GET", "x"], ["PING"]]}),
        )
        .expect_result("redis", |answers| {
            answers.to_string().matches("NOAUTH").count() == 2
        }),
        two_pack_script(
            "a hundred connections that wait",
            &json!({"do": "redis", "connections": 100, "millis": 500,
                "commands": [["PING"]]}),
        ),
        two_pack_script(
            "fifty megabytes of its own keys",
            &json!({"do": "redis", "connections": 50, "commands": [
                ["RPUSH", "burst:FLARE:left", "MEGABYTE"]
            ]}),
        ),
        two_pack_script(
            "noise at the server",
            &json!({"do": "backend-noise", "text": "\u{ff}\u{0}noise\r\n", "times": 10_000,
                "connections": 50}),
        ),
        two_pack_script(
            "a command of a thousand million words",
            &json!({"do": "backend-noise", "text": "*1000000000\r\n$1000000000\r\n",
                "connections": 50}),
        ),
        two_pack_script(
            "half a command on each of many connections",
            &json!({"do": "backend-noise", "text": "*3\r\n$3\r\nSET\r\n", "connections": 200}),
        ),
    ]
}
