use serde_json::json;

use super::{ID, sent, wsk};
use crate::platform::Platform;
use crate::program::{AUTH, Burst};

const FEED: &str = "POST /api/v1/namespaces/whisk.system/actions/alarms/interval";
const TRIGGER: &str = r#"{"namespace":"guest","name":"tick","version":"0.0.1","publish":false,
    "annotations":[{"key":"feed","value":"/whisk.system/alarms/interval"}],"parameters":[],"limits":{},"updated":1}"#;

fn record(result: &str) -> String {
    format!(r#"{{"activationId":"{ID}","response":{{"result":{result}}}}}"#)
}

/// Returns the activation of a feed that fails.
fn failed(status: &str, result: &str) -> String {
    format!(
        r#"{{"namespace":"guest","name":"interval","version":"0.0.1","publish":false,"annotations":[],
            "activationId":"{ID}","subject":"guest","start":1,"logs":[],
            "response":{{"status":"{status}","success":false,"result":{result}}}}}"#
    )
}

#[test]
fn triggers_fire_or_report_why_not() {
    let platform = Platform::start();
    platform
        .always("PUT /triggers/t", 200, TRIGGER)
        .always(
            "POST /triggers/t",
            202,
            &format!(r#"{{"activationId":"{ID}"}}"#),
        )
        .always("POST /triggers/alone", 204, "");
    let burst = wsk(&platform);
    let create = ["trigger", "create", "t", "-p", "a", "1"];
    assert_eq!(burst.wsk(&create).ok(), "ok: created trigger t\n");
    assert_eq!(
        sent(&platform),
        json!({"namespace": "_", "name": "t", "parameters": [{"key": "a", "value": 1}]})
    );
    assert_eq!(
        burst
            .wsk(&["trigger", "fire", "t", r#"{"x": 1}"#, "-p", "b", "2"])
            .ok(),
        format!("ok: triggered /_/t with id {ID}\n")
    );
    assert_eq!(sent(&platform), json!({"x": 1, "b": 2}));
    assert_eq!(
        burst.wsk(&["trigger", "fire", "alone"]).ok(),
        "trigger /_/alone did not fire as it is not associated with an active rule\n"
    );
}

#[test]
fn feeds_are_invoked_when_their_triggers_change() {
    let platform = Platform::start();
    platform
        .always("PUT /triggers/tick", 200, TRIGGER)
        .always("GET /triggers/tick", 200, TRIGGER)
        .always("DELETE /triggers/tick", 200, TRIGGER)
        .always(FEED, 200, &record(r#"{"config":{"minutes":5}}"#));
    let burst = wsk(&platform);
    let feed = [
        "--feed",
        "/whisk.system/alarms/interval",
        "-p",
        "minutes",
        "5",
    ];
    let activation = format!(
        "{{\n    \"activationId\": \"{ID}\",\n    \"response\": {{\n        \"result\": {{\n            \
         \"config\": {{\n                \"minutes\": 5\n            }}\n        }}\n    }}\n}}\n"
    );
    let created = burst
        .wsk(&[&["trigger", "create", "tick"], &feed[..]].concat())
        .ok();
    assert_eq!(
        created,
        format!(
            "ok: invoked /whisk.system/alarms/interval with id {ID}\n{activation}ok: created trigger tick\n"
        )
    );
    let call =
        |event: &str| json!({"lifecycleEvent": event, "triggerName": "/_/tick", "authKey": AUTH});
    let mut create = call("CREATE");
    create["minutes"] = 5.into();
    assert_eq!(sent(&platform), create);
    let put = &platform.requests()[0].body;
    assert_eq!(
        put,
        &json!({"namespace": "_", "name": "tick",
                "annotations": [{"key": "feed", "value": "/whisk.system/alarms/interval"}]})
    );
    // Programs parse the output, so the feed's activation must start at its first character.
    assert_eq!(burst.wsk(&["trigger", "get", "tick"]).ok(), activation);
    assert_eq!(sent(&platform), call("READ"));
    let name = burst.wsk(&["trigger", "get", "tick", "name"]).ok();
    assert!(
        name.ends_with("displaying field name\n\"tick\"\n"),
        "{name}"
    );
    let updated = burst
        .wsk(&["trigger", "update", "tick", "-p", "minutes", "7"])
        .ok();
    assert_eq!(updated, format!("{activation}ok: updated trigger tick\n"));
    let mut update = call("UPDATE");
    update["minutes"] = 7.into();
    assert_eq!(sent(&platform), update);
    assert_eq!(
        burst.wsk(&["trigger", "delete", "tick"]).ok(),
        format!("{activation}ok: deleted trigger tick\n")
    );
    let requests = platform.requests();
    assert_eq!(requests[requests.len() - 2].body, call("DELETE"));
    assert!(
        burst
            .wsk(&["trigger", "update", "tick", "--feed", "x"])
            .fails(2)
            .contains("feed")
    );
}

#[test]
fn a_trigger_is_deleted_if_its_feed_fails() {
    let platform = Platform::start();
    platform
        .always("PUT /triggers/tick", 200, TRIGGER)
        .always("DELETE /triggers/tick", 200, TRIGGER)
        .always(
            FEED,
            502,
            &failed("application error", r#"{"error":"minutes is missing"}"#),
        );
    let burst = wsk(&platform);
    let create = [
        "trigger",
        "create",
        "tick",
        "--feed",
        "/whisk.system/alarms/interval",
    ];
    let refused = burst.wsk(&create);
    assert!(
        refused.fails(246).contains("minutes is missing"),
        "{refused:?}"
    );
    assert_eq!(platform.lines().last().unwrap(), "DELETE /triggers/tick");
}

#[test]
fn a_trigger_is_shown_and_deleted_although_its_feed_fails() {
    let refused = failed("application error", r#"{"error":"no such alarm"}"#);
    let gone = r#"{"error":"The requested resource does not exist.","code":"t3"}"#;
    for (status, answer, why) in [
        (502, refused.as_str(), "no such alarm"),
        (404, gone, "does not exist"),
    ] {
        let platform = Platform::start();
        platform
            .always("GET /triggers/tick", 200, TRIGGER)
            .always("DELETE /triggers/tick", 200, TRIGGER)
            .always(FEED, status, answer);
        let burst = wsk(&platform);
        let shown = burst.wsk(&["trigger", "get", "tick"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(
            shown.out.starts_with("ok: got trigger tick\n{\n"),
            "{shown:?}"
        );
        assert!(
            shown.err.contains("READ") && shown.err.contains(why),
            "{shown:?}"
        );
        let deleted = burst.wsk(&["trigger", "delete", "tick"]);
        assert_eq!(deleted.code, Some(0), "{deleted:?}");
        assert_eq!(deleted.out, "ok: deleted trigger tick\n");
        assert!(
            deleted.err.contains("DELETE") && deleted.err.contains(why),
            "{deleted:?}"
        );
        assert_eq!(platform.lines().last().unwrap(), "DELETE /triggers/tick");
    }
}

#[test]
fn only_application_errors_of_a_feed_are_invalid_requests() {
    for (status, code) in [
        ("application error", 6),
        ("action developer error", 8),
        ("whisk internal error", 8),
    ] {
        let platform = Platform::start();
        let record = failed(status, r#"{"error":"no such minute"}"#);
        platform
            .always("PUT /triggers/tick", 200, TRIGGER)
            .always("DELETE /triggers/tick", 200, TRIGGER)
            .always(FEED, 502, &record);
        let feed = ["--feed", "/whisk.system/alarms/interval"];
        let create = [&["trigger", "create", "tick"], &feed[..]].concat();
        let ran = Burst::of(&platform).run(&create);
        let sentence = ran.fails(code);
        assert!(sentence.contains("no such minute"), "{ran:?}");
        assert!(wsk(&platform).wsk(&create).fails(246).contains(sentence));
    }
}
