//! Times and durations, which the API has in several units.

use std::time::{Duration, UNIX_EPOCH};

use burst_client::{ActivationSummary, ListActivationsQuery, Options, Phase};
use serde_json::{Value, from_value, json, to_value};

use crate::platform::Platform;

#[test]
fn phase_times_are_exact_microseconds() {
    let text = json!({"name": "start", "start": 1_764_000_000_123_456_u64, "end": null});
    let phase: Phase = from_value(text.clone()).unwrap();
    let start = UNIX_EPOCH + Duration::from_micros(1_764_000_000_123_456);
    assert_eq!((phase.start, phase.end), (start, None));
    assert_eq!(to_value(&phase).unwrap(), text);
}

#[test]
fn activation_times_are_milliseconds() {
    let text = json!({
        "namespace": "guest", "name": "a", "version": "0.0.1", "subject": "guest", "activationId": "1", "publish": false,
        "start": 1_764_000_000_123_u64, "end": 1_764_000_000_456_u64, "duration": 333, "statusCode": 0,
        "annotations": [],
    });
    let record: ActivationSummary = from_value(text).unwrap();
    let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    assert_eq!(record.start, at(1_764_000_000_123));
    assert_eq!(record.end, Some(at(1_764_000_000_456)));
    assert_eq!(record.duration, Some(Duration::from_millis(333)));
    let again = to_value(&record).unwrap();
    assert_eq!(
        (&again["start"], &again["duration"]),
        (&json!(1_764_000_000_123_u64), &json!(333))
    );
}

#[test]
fn durations_are_sent_in_milliseconds_and_omitted_if_not_given() {
    let options = Options {
        timeout: Some(Duration::from_secs(90)),
        ..Options::default()
    };
    assert_eq!(to_value(&options).unwrap(), json!({"timeout": 90_000}));
    let none = to_value(Options::default()).unwrap();
    assert_eq!(none, json!({}));
}

#[test]
fn query_times_are_milliseconds() {
    let platform = Platform::answering("200 OK", "[]");
    let query = ListActivationsQuery {
        since: Some(UNIX_EPOCH + Duration::from_micros(1_764_000_000_123_999)),
        ..ListActivationsQuery::default()
    };
    platform.client().list_activations(&query).unwrap();
    let asked = platform.asked();
    let line = asked.lines().next().unwrap();
    assert!(line.contains("?since=1764000000123 "), "{line}");
}

/// What no platform of ours sends is an error or shown as it is, and never a panic.
#[test]
fn extreme_times_are_read_or_refused() {
    let phase =
        |start: Value| from_value::<Phase>(json!({"name": "p", "start": start, "end": null}));
    for fine in [json!(0), json!(i64::MAX), json!(-1)] {
        let read = phase(fine.clone()).unwrap();
        assert_eq!(to_value(&read).unwrap()["start"], fine);
    }
    let unended: Phase = from_value(json!({"name": "p", "start": 1})).unwrap();
    assert_eq!(unended.end, None);
    for odd in [json!(u64::MAX), json!(1.5), json!("1"), json!(null)] {
        assert!(phase(odd.clone()).is_err(), "{odd}");
    }
}
