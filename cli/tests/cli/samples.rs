//! Sample responses of the API with every field. Tests change the fields they are about.

use serde_json::{Value, json};

pub fn definition(changes: Value) -> Value {
    let more = json!({"parameters": {}, "environment": {}, "secrets": []});
    merged(more, definition_summary(changes))
}

pub fn definition_summary(changes: Value) -> Value {
    let sample = json!({
        "namespace": "guest", "name": "hello", "version": "0.0.1",
        "exec": {"kind": "rust", "package": "abc", "size": 9},
        "config": {"granularity": null, "packing": null, "backend": null, "chunkSize": null,
            "timeout": 60_000, "memory": 256, "retries": 0},
        "updated": 0,
    });
    merged(sample, changes)
}

/// A flare of two workers. Both have the flare's state, and the second one has its error.
pub fn flare(changes: Value) -> Value {
    let summary = flare_summary(changes);
    let (state, error) = (&summary["state"], &summary["error"]);
    let more = json!({
        "queue": null,
        "packs": [pack()],
        "workers": [
            {"worker": 0, "pack": 0, "state": state, "started": 3000, "ended": 9000, "error": null},
            {"worker": 1, "pack": 0, "state": state, "started": 3000, "ended": null, "error": error},
        ],
    });
    merged(more, summary)
}

pub fn flare_summary(changes: Value) -> Value {
    let own = json!({
        "flareId": "f1000000000000000000000000000001", "groupId": null, "state": "succeeded",
        "attempt": 1, "created": 1000, "started": 3000, "ended": 9000,
    });
    merged(merged(shared(), own), changes)
}

pub fn group(changes: Value) -> Value {
    let more = json!({"queue": null, "packs": [pack()]});
    merged(more, group_summary(changes))
}

pub fn group_summary(changes: Value) -> Value {
    let own = json!({
        "groupId": "a1000000000000000000000000000001", "state": "open", "idleTimeout": 1,
        "created": 1000, "opened": 3000, "closed": null,
    });
    merged(merged(shared(), own), changes)
}

pub fn invoker(changes: Value) -> Value {
    let sample = json!({
        "id": "invoker0", "slots": 8, "freeSlots": 8, "usedSlots": 0, "drained": false,
        "cpuLoad": 0.5, "state": "up", "quarantine": null, "driver": "process",
        "warmPacks": 0, "prewarmedPacks": 0, "runtime": {"arch": "x86_64", "glibc": "2.36"},
    });
    merged(sample, changes)
}

/// Returns the fields that flares and groups have in common, including their options.
fn shared() -> Value {
    json!({
        "namespace": "guest", "name": "hello", "version": "0.0.1", "size": 2,
        "granularity": 2, "packing": "mixed", "backend": "direct", "chunkSize": null,
        "timeout": 1, "memory": 1, "error": null,
    })
}

fn pack() -> Value {
    json!({"pack": 0, "invoker": "invoker0", "workers": [0, 1], "start": "cold"})
}

/// Merges objects field by field; other values are replaced by the change.
fn merged(sample: Value, changes: Value) -> Value {
    match (sample, changes) {
        (Value::Object(mut sample), Value::Object(changes)) => {
            for (name, change) in changes {
                let value = sample.remove(&name).unwrap_or_default();
                sample.insert(name, merged(value, change));
            }
            sample.into()
        }
        (_, change) => change,
    }
}
