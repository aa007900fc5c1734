use serde_json::json;

use super::{sent, wsk};
use crate::platform::Platform;

const PACKAGE: &str = r#"{"namespace":"guest","name":"tools","version":"0.0.1","publish":true,"binding":{},"updated":1,
    "parameters":[{"key":"host","value":"h"}],"annotations":[{"key":"description","value":"all sorts"}],
    "actions":[{"name":"hello","version":"0.0.1","annotations":[{"key":"parameters","value":[{"name":"who"}]}]}],
    "feeds":[{"name":"changes","version":"0.0.1","annotations":[{"key":"feed","value":true}]}]}"#;

#[test]
fn packages_are_created_bound_shown_and_deleted() {
    let platform = Platform::start();
    platform
        .always("PUT /packages/tools", 200, PACKAGE)
        .always("PUT /packages/bound", 200, PACKAGE)
        .always("GET /packages/tools", 200, PACKAGE)
        .always("DELETE /packages/tools", 200, PACKAGE)
        .always("GET /packages", 200, &format!("[{PACKAGE}]"))
        .always("GET /api/v1/namespaces/whisk.system/packages", 200, "[]")
        .always(
            "POST /packages/refresh",
            200,
            r#"{"added":[],"updated":[],"deleted":[]}"#,
        );
    let burst = wsk(&platform);
    let create = [
        "package", "create", "tools", "-p", "a", "1", "--shared", "yes",
    ];
    assert_eq!(burst.wsk(&create).ok(), "ok: created package tools\n");
    assert_eq!(
        sent(&platform),
        json!({"namespace": "_", "name": "tools", "publish": true,
               "parameters": [{"key": "a", "value": 1}]})
    );
    let update = ["package", "update", "tools", "-a", "k", "v"];
    assert_eq!(burst.wsk(&update).ok(), "ok: updated package tools\n");
    let bind = [
        "package",
        "bind",
        "/whisk.system/utils",
        "bound",
        "-p",
        "b",
        "x",
    ];
    assert_eq!(burst.wsk(&bind).ok(), "ok: created binding bound\n");
    assert_eq!(
        sent(&platform),
        json!({"namespace": "_", "name": "bound", "parameters": [{"key": "b", "value": "x"}],
               "binding": {"namespace": "whisk.system", "name": "utils"}})
    );
    let shown = burst.wsk(&["package", "get", "tools"]).ok();
    assert!(shown.starts_with("ok: got package tools\n{\n"), "{shown}");
    assert_eq!(
        burst.wsk(&["package", "get", "tools", "--summary"]).ok(),
        "package /guest/tools: all sorts\n   (parameters: *host)\n \
         action /guest/tools/hello: Returns a result based on parameter who\n   (parameters: who)\n \
         feed   /guest/tools/changes\n   (parameters: none defined)\n"
    );
    assert_eq!(
        burst.wsk(&["package", "list"]).ok(),
        format!("packages\n{:<70} shared\n", "/guest/tools")
    );
    assert_eq!(
        burst.wsk(&["package", "list", "/whisk.system"]).ok(),
        "packages\n"
    );
    let deleted = burst.wsk(&["package", "delete", "tools", "--force"]).ok();
    assert_eq!(deleted, "ok: deleted package tools\n");
    let refreshed = burst.wsk(&["package", "refresh"]).ok();
    assert!(refreshed.starts_with("ok: _ refreshed successfully\ncreated bindings:\n  none\n"));
    assert!(
        platform
            .lines()
            .contains(&"DELETE /packages/tools?force=true".into())
    );
    burst.wsk(&["package", "get", "a/b"]).fails(2);
}
