//! What workers leave for the next flare of their group.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use serde_json::{Value, json};
use support::{Run, Runtime, act, end, named};

/// Runs a flare and gives what its workers count.
fn count(runtime: &Runtime, group: Option<&'static str>, workers: usize) -> Vec<Value> {
    let mut run = Run::new(&vec![act("count"); workers]);
    run.group = group;
    let events = runtime.events(&run);
    assert_eq!(end(&events)["reusable"], true, "{events:?}");
    let mut counts: Vec<_> = named(&events, "worker-succeeded")
        .into_iter()
        .map(|event| (event["worker"].as_u64(), event["output"].clone()))
        .collect();
    counts.sort_by_key(|(worker, _)| *worker);
    counts.into_iter().map(|(_, count)| count).collect()
}

#[test]
fn workers_find_it_again_in_flares_of_the_same_group_only() {
    let runtime = Runtime::with_acts();
    let both = |count: u32| vec![json!(count), json!(count)];
    assert_eq!(count(&runtime, Some("one"), 2), both(1));
    assert_eq!(count(&runtime, Some("one"), 2), both(2));
    assert_eq!(count(&runtime, Some("two"), 2), both(1));
    // What `one` left is gone: only the present group's is kept.
    assert_eq!(count(&runtime, Some("one"), 2), both(1));
    assert_eq!(count(&runtime, None, 2), both(1));
    assert_eq!(count(&runtime, None, 2), both(1));
    assert_eq!(count(&runtime, Some("one"), 2), both(1));
}

#[test]
fn a_pack_of_another_size_begins_anew() {
    let runtime = Runtime::with_acts();
    assert_eq!(count(&runtime, Some("one"), 1), [json!(1)]);
    assert_eq!(count(&runtime, Some("one"), 2), [json!(1), json!(1)]);
}
