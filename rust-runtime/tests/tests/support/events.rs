//! Access to the events of a flare.

use serde_json::Value;

pub fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["event"] == name)
        .collect()
}

/// Returns the failure of a worker, which must have failed exactly once.
pub fn failure(events: &[Value], worker: u64) -> Value {
    let failed = named(events, "worker-failed");
    let of: Vec<_> = failed
        .iter()
        .filter(|event| event["worker"] == worker)
        .collect();
    assert_eq!(of.len(), 1, "worker {worker}: {events:?}");
    of[0]["error"].clone()
}

/// Returns the last event, which must be the pack's end.
pub fn end(events: &[Value]) -> &Value {
    let last = events.last().unwrap();
    assert_eq!(last["event"], "pack-ended", "{events:?}");
    last
}

pub fn logs(events: &[Value], worker: Value, stream: &str) -> Vec<String> {
    named(events, "log")
        .into_iter()
        .filter(|event| event["worker"] == worker && event["stream"] == stream)
        .flat_map(|event| event["text"].as_str().unwrap().split('\n'))
        .map(str::to_owned)
        .collect()
}
