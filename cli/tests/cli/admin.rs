//! `burst admin`.

use serde_json::json;

use crate::platform::Platform;
use crate::program::Burst;
use crate::samples;

const ADMIN: &str = "admin:secret-admin-key";
const LIMITS: &str = r#"{"burstSize":9,"concurrentSlots":8,"memory":1024,"packageSize":1048576,"flaresPerMinute":60,"definitions":7,"definitionsSize":2097152,"storedSize":3145728,"invocationsPerMinute":61,"firesPerMinute":62,"deploysPerMinute":31,"requestsPerMinute":3200,"concurrentRequests":33,"egress":true}"#;

fn administrator(platform: &Platform) -> Burst {
    Burst::of(platform).with("BURST_ADMIN_AUTH", ADMIN)
}

fn namespace(name: &str, revoked: &str) -> String {
    format!(r#"{{"name":"{name}","limits":{LIMITS},"created":1,"revoked":{revoked}}}"#)
}

#[test]
fn a_created_namespace_is_shown_with_its_credentials_and_limits() {
    let platform = Platform::start();
    let answer =
        format!(r#"{{"name":"team","limits":{LIMITS},"created":1,"revoked":null,"auth":"u:k"}}"#);
    platform.on("PUT /api/v1/admin/namespaces/team", 200, &answer);
    let burst = administrator(&platform);
    let shown = burst
        .run(&[
            "admin",
            "namespace",
            "create",
            "team",
            "--slots",
            "8",
            "--memory",
            "1G",
            "--package-size",
            "1M",
            "--definitions",
            "7",
            "--stored-size",
            "3M",
            "--invocation-rate",
            "61",
            "--fire-rate",
            "62",
            "--deploy-rate",
            "31",
            "--request-rate",
            "3200",
            "--requests",
            "33",
            "--egress",
            "--overwrite",
        ])
        .ok();
    for part in [
        "team",
        "u:k",
        "1024 MiB per worker",
        "1.0 MiB",
        "2.0 MiB",
        "3.0 MiB",
        "invocations a minute  61",
        "fires a minute        62",
        "deploys a minute      31",
        "requests a minute     3200",
        "requests at once      33",
        "internet",
        "keep them",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let requests = platform.requests();
    assert_eq!(
        requests[0].line,
        "PUT /api/v1/admin/namespaces/team?overwrite=true"
    );
    assert_eq!(
        requests[0].body,
        json!({"limits": {"concurrentSlots": 8, "memory": 1024,
            "packageSize": 1_048_576, "definitions": 7,
            "storedSize": 3_145_728, "invocationsPerMinute": 61, "firesPerMinute": 62, "deploysPerMinute": 31, "requestsPerMinute": 3200,
            "concurrentRequests": 33, "egress": true}})
    );
    assert!(requests[0].auth.starts_with("Basic "));
    let json = ["admin", "namespace", "create", "team", "--output", "json"];
    assert_eq!(burst.run(&json).ok().trim_end(), answer);
}

#[test]
fn namespaces_are_listed_with_their_state() {
    let platform = Platform::start();
    platform.on(
        "GET /api/v1/admin/namespaces?limit=2",
        200,
        &format!("[{},{}]", namespace("a", "null"), namespace("b", "2")),
    );
    let shown = administrator(&platform)
        .run(&["admin", "namespace", "list", "--limit", "2"])
        .ok();
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0][..2], ["NAMESPACE", "STATE"]);
    assert_eq!(lines[1][..4], ["a", "open", "9", "8"]);
    assert_eq!(lines[2][..2], ["b", "revoked"]);
}

#[test]
fn a_namespace_is_shown_with_all_its_limits() {
    let platform = Platform::start();
    let path = "GET /api/v1/admin/namespaces/b";
    platform.on(path, 200, &namespace("b", "2"));
    let burst = administrator(&platform);
    let shown = burst.run(&["admin", "namespace", "get", "b"]).ok();
    for part in [
        "revoked",
        "stored size",
        "3.0 MiB",
        "requests at once      33",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn revocations_and_refusals_are_reported() {
    let platform = Platform::start();
    platform.on(
        "DELETE /api/v1/admin/namespaces/team",
        200,
        &namespace("team", "2"),
    );
    let burst = administrator(&platform);
    assert_eq!(
        burst.run(&["admin", "namespace", "revoke", "team"]).ok(),
        "ok: revoked team\n"
    );
    let refusal = r#"{"error":"Not you.","code":"t1"}"#;
    platform.on("GET /api/v1/admin/namespaces", 401, refusal);
    assert_eq!(
        burst.run(&["admin", "namespace", "list"]).fails(4),
        "Not you. [t1]"
    );
}

#[test]
fn flares_and_groups_of_all_namespaces_are_listed_and_ended() {
    let platform = Platform::start();
    let flare = |id: &str, group: Option<&str>| {
        samples::flare_summary(json!({"flareId": id, "groupId": group, "namespace": "team",
            "name": "work", "state": "running", "size": 4}))
    };
    let flares = json!([
        flare("f1000000000000000000000000000001", None),
        flare(
            "f2000000000000000000000000000002",
            Some("a1000000000000000000000000000001")
        ),
    ]);
    let group = samples::group_summary(json!({"groupId": "a1000000000000000000000000000001",
        "namespace": "team", "name": "work", "state": "open", "size": 4}));
    platform.on(
        "GET /api/v1/admin/flares?namespace=team&state=running",
        200,
        &flares.to_string(),
    );
    platform.on("GET /api/v1/admin/groups", 200, &json!([group]).to_string());
    platform.on(
        "DELETE /api/v1/admin/flares/f1000000000000000000000000000001",
        202,
        r#"{"flareId":"f1000000000000000000000000000001"}"#,
    );
    platform.on(
        "DELETE /api/v1/admin/groups/a1000000000000000000000000000001",
        202,
        r#"{"groupId":"a1000000000000000000000000000001"}"#,
    );
    let burst = administrator(&platform);
    let list = ["admin", "flare", "list", "--namespace", "team"];
    let cells = |shown: String| -> Vec<Vec<String>> {
        let rows = shown.lines().skip(1);
        rows.map(|row| row.split_whitespace().take(5).map(Into::into).collect())
            .collect()
    };
    let flares = cells(
        burst
            .run(&[&list[..], &["--state", "running"]].concat())
            .ok(),
    );
    assert_eq!(flares[0], ["f10000000000", "team", "work", "running", "4"]);
    assert_eq!(flares[1], ["f20000000000", "team", "work", "running", "4"]);
    let groups = cells(burst.run(&["admin", "group", "list"]).ok());
    assert_eq!(groups[0], ["a10000000000", "team", "work", "open", "4"]);
    assert_eq!(
        burst
            .run(&[
                "admin",
                "flare",
                "cancel",
                "f1000000000000000000000000000001"
            ])
            .ok(),
        "ok: cancelling flare f1000000000000000000000000000001\n"
    );
    assert_eq!(
        burst
            .run(&[
                "admin",
                "group",
                "close",
                "a1000000000000000000000000000001"
            ])
            .ok(),
        "ok: closing group a1000000000000000000000000000001\n"
    );
}

#[test]
fn admin_commands_need_the_administrators_credentials() {
    let platform = Platform::start();
    platform.on("GET /api/v1/admin/namespaces", 200, "[]");
    let list = ["admin", "namespace", "list"];
    // A user's credentials are not tried.
    let sentence = Burst::of(&platform).run(&list);
    for part in ["BURST_ADMIN_AUTH", "`burst property set --admin-auth …`"] {
        assert!(sentence.fails(2).contains(part), "{sentence:?}");
    }
    let burst = Burst::of(&platform);
    burst.file(".burst.properties", format!("ADMIN_AUTH={ADMIN}\n"));
    burst.run(&list).ok();
    Burst::of(&platform)
        .run(&[&list[..], &["--admin-auth", ADMIN]].concat())
        .ok();
    let ran = administrator(&platform).run(&[&list[..], &["--auth", ADMIN]].concat());
    assert!(ran.fails(2).contains("--admin-auth admin:KEY"), "{ran:?}");
    let auths: Vec<String> = platform.requests().into_iter().map(|r| r.auth).collect();
    assert_eq!(auths.len(), 2);
    assert_eq!(auths[0], auths[1]);
}

#[test]
fn administrator_and_user_credentials_are_not_interchangeable() {
    let platform = Platform::start();
    platform.on("GET /api/v1/admin/namespaces", 200, "[]");
    let burst = Burst::alone().with("BURST_APIHOST", platform.address());
    burst.run(&["property", "set", "--auth", "u:k"]).ok();
    let ran = burst.run(&["property", "set", "--auth", ADMIN]);
    assert!(ran.fails(2).contains("write --admin-auth"), "{ran:?}");
    let ran = burst.run(&["property", "set", "--admin-auth", "u:k"]);
    assert!(ran.fails(2).contains("not admin:key"), "{ran:?}");
    let ran = burst.run(&["list", "--auth", ADMIN]);
    assert!(ran.fails(2).contains("write --admin-auth"), "{ran:?}");

    burst.run(&["property", "set", "--admin-auth", ADMIN]).ok();
    assert_eq!(burst.run(&["property", "get", "--auth"]).ok(), "u:k\n");
    let shown = burst.run(&["property", "get", "--admin-auth"]).ok();
    assert_eq!(shown.trim_end(), ADMIN);
    let all = burst.run(&["property", "get"]).ok();
    assert!(
        all.contains("ADMIN_AUTH") && !all.contains("secret"),
        "{all}"
    );
    burst.run(&["admin", "namespace", "list"]).ok();
}
