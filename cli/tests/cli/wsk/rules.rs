use serde_json::json;

use super::{sent, wsk};
use crate::platform::Platform;

const RULE: &str = r#"{"namespace":"guest","name":"on","version":"0.0.1","publish":false,"status":"active",
    "trigger":{"path":"guest","name":"t"},"action":{"path":"guest","name":"a"},"annotations":[],"updated":1}"#;

#[test]
fn rules_are_created_toggled_and_listed_with_their_status() {
    let platform = Platform::start();
    let other = RULE.replace(r#""on""#, r#""gone""#);
    platform
        .always("PUT /rules/on", 200, RULE)
        .always("POST /rules/on", 200, "")
        .always("GET /rules/on", 200, RULE)
        .always("GET /api/v1/namespaces/guest/rules/on", 200, RULE)
        .always("GET /rules", 200, &format!("[{RULE},{other}]"))
        .always("DELETE /rules/on", 200, RULE);
    let burst = wsk(&platform);
    let create = ["rule", "create", "on", "t", "tools/a"];
    assert_eq!(burst.wsk(&create).ok(), "ok: created rule on\n");
    assert_eq!(
        sent(&platform),
        json!({"namespace": "_", "name": "on", "trigger": "/_/t", "action": "/_/tools/a"})
    );
    assert_eq!(
        burst.wsk(&["rule", "update", "on", "t", "a"]).ok(),
        "ok: updated rule on\n"
    );
    assert_eq!(
        burst.wsk(&["rule", "enable", "on"]).ok(),
        "ok: enabled rule on\n"
    );
    assert_eq!(sent(&platform), json!({"status": "active"}));
    assert_eq!(
        burst.wsk(&["rule", "disable", "on"]).ok(),
        "ok: disabled rule on\n"
    );
    assert_eq!(sent(&platform), json!({"status": "inactive"}));
    assert_eq!(
        burst.wsk(&["rule", "status", "on"]).ok(),
        "ok: rule on is active\n"
    );
    // A rule that was deleted in the meantime is left out.
    assert_eq!(
        burst.wsk(&["rule", "list"]).ok(),
        format!("rules\n{:<70} private       active\n", "/guest/on")
    );
    assert_eq!(
        burst.wsk(&["rule", "get", "on", "--summary"]).ok(),
        "rule /guest/on\n   (status: active)\n"
    );
    let deleted = burst.wsk(&["rule", "delete", "on", "--disable"]).ok();
    assert_eq!(deleted, "ok: deleted rule on\n");
    let lines = platform.lines();
    let end = &lines[lines.len() - 2..];
    assert_eq!(end, ["POST /rules/on", "DELETE /rules/on"]);
}

#[test]
fn namespace_get_lists_all_entities() {
    let platform = Platform::start();
    for collection in ["packages", "actions", "triggers", "rules"] {
        platform.always(&format!("GET /{collection}"), 200, "[]");
    }
    platform.always("GET /api/v1/namespaces", 200, r#"["guest"]"#);
    let burst = wsk(&platform);
    assert_eq!(
        burst.wsk(&["namespace", "list"]).ok(),
        "namespaces\nguest\n"
    );
    let all = "Entities in namespace: _\npackages\nactions\ntriggers\nrules\n";
    assert_eq!(burst.wsk(&["namespace", "get"]).ok(), all);
    assert_eq!(burst.wsk(&["list"]).ok(), all);
    assert!(
        platform
            .lines()
            .contains(&"GET /triggers?limit=0&skip=0".into())
    );
}
