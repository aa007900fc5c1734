//! How a call ends while others run in the same program, and how that affects them.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::{beside, call, output, staying, waiting};
use crate::support::{Package, act, end, failure};

#[test]
fn a_flare_that_ends_the_process_fails_the_others_with_the_reason() {
    for (deed, how) in [
        ("exit", "exit code 3"),
        ("thrown", "exit code 1"),
        ("rejected", "exit code 1"),
    ] {
        let runtime = beside(3);
        let others = [staying(&runtime), staying(&runtime)];
        let events = runtime.act(&[act(deed)]);
        let error = failure(&events, 0);
        assert_eq!(error["kind"], "exit", "{deed} {error}");
        assert!(error["message"].to_string().contains(how), "{deed} {error}");
        for other in others {
            let events: Vec<_> = other.collect();
            let error = failure(&events, 0);
            assert_eq!(error["kind"], "pack-lost", "{deed} {error}");
            let message = error["message"].as_str().unwrap();
            assert!(
                message.contains("another call in it ended the process"),
                "{message}"
            );
            assert!(message.contains(how), "{message}");
            assert_eq!(end(&events)["reusable"], false);
        }
        runtime.wait_until_programs_end();
    }
}

#[test]
fn a_flare_that_does_not_end_fails_the_others_with_the_reason() {
    for (deed, how) in [
        ("stay", "did not end in time"),
        ("spin", "did not end in time"),
    ] {
        let runtime = beside(2);
        let other = staying(&runtime);
        let mut late = call(act(deed));
        late.timeout = Duration::from_millis(700);
        assert_eq!(
            failure(&runtime.events(&late), 0)["kind"],
            "timeout",
            "{deed}"
        );
        let error = failure(&other.collect::<Vec<_>>(), 0);
        assert_eq!(error["kind"], "pack-lost", "{deed} {error}");
        assert!(error["message"].as_str().unwrap().contains(how), "{error}");
        runtime.wait_until_programs_end();
    }
}

#[test]
fn a_cancelled_flare_fails_the_others_with_the_reason() {
    let runtime = beside(2);
    let (other, mut cancelled) = (staying(&runtime), staying(&runtime));
    let path = format!("/packs/{}/abort", cancelled.flare_id);
    let reason = json!({"kind": "cancelled", "message": "no more"});
    assert_eq!(runtime.post(&path, &reason).0, 204);
    assert_eq!(
        cancelled.until("worker-failed")["error"]["kind"],
        "cancelled"
    );
    let error = failure(&other.collect::<Vec<_>>(), 0);
    assert!(
        error["message"].to_string().contains("was cancelled"),
        "{error}"
    );
}

#[test]
fn a_failed_call_does_not_disturb_the_others_and_none_follows_it() {
    let runtime = beside(3);
    let directory = Package::empty();
    let (other, file) = waiting(&runtime, &directory);
    let failed = runtime.act(&[act("fail")]);
    assert!(
        failure(&failed, 0)["message"]
            .to_string()
            .contains("at once")
    );
    assert_eq!(end(&failed)["reusable"], false);
    let (status, answer) = runtime.post("/packs", &call(act("quiet")).body());
    assert_eq!(status, 409, "{answer}");
    fs::write(file, "").unwrap();
    let other: Vec<_> = other.collect();
    assert_eq!(output(&other), json!({}));
    assert_eq!(end(&other)["reusable"], false);
    runtime.wait_until_programs_end();
}
