use serde_json::json;

use super::{sent, wsk};
use crate::platform::Platform;
use crate::program::AUTH;

const GATEWAY: &str = "/api/v1/web/whisk.system/apimgmt";

fn action(web: bool) -> String {
    format!(
        r#"{{"namespace":"guest/tools","name":"hello","annotations":[{{"key":"web-export","value":{web}}},
            {{"key":"require-whisk-auth","value":"secret"}}]}}"#
    )
}

fn api() -> String {
    r#"{"gwApiUrl":"http://gw/shop","gwApiActivated":true,"tenantId":"guest","apidoc":{
        "basePath":"/shop","info":{"title":"Shop","version":"1.0.0"},"paths":{"/orders":{"get":{
        "operationId":"getOrders","x-openwhisk":{"action":"hello","namespace":"guest","package":"tools",
        "url":"u"}}}}}}"#
        .into()
}

#[test]
fn apis_lead_to_web_actions() {
    let platform = Platform::start();
    let made = format!("POST {GATEWAY}/createApi.http");
    platform
        .whatever("GET /actions/tools/hello", 200, &action(true))
        .whatever("GET /actions/plain", 200, &action(false))
        .whatever(&made, 200, &api());
    let burst = wsk(&platform);
    let create = [
        "api",
        "create",
        "/shop",
        "/orders/{id}",
        "GET",
        "tools/hello",
        "-n",
        "Shop",
    ];
    assert_eq!(
        burst.wsk(&create).ok(),
        "ok: created API /shop/orders/{id} GET for action /_/tools/hello\nhttp://gw/shop/orders/{id}\n"
    );
    let url = format!(
        "http://{}/api/v1/web/guest/tools/hello.json",
        platform.address()
    );
    assert_eq!(
        sent(&platform),
        json!({"apidoc": {
            "namespace": "guest", "gatewayBasePath": "/shop", "gatewayPath": "/orders/{id}",
            "gatewayMethod": "GET", "id": "API:guest:/shop", "apiName": "Shop",
            "pathParameters": [{"name": "id", "in": "path", "required": true, "type": "string"}],
            "action": {"name": "tools/hello", "namespace": "guest", "backendMethod": "GET",
                       "backendUrl": url, "authkey": AUTH, "secureKey": "secret"}
        }})
    );
    let line = platform.lines().pop().unwrap();
    assert!(line.ends_with("&responsetype=json"), "{line}");
    let refused = burst.wsk(&["api", "create", "/orders", "get", "plain"]);
    assert!(refused.fails(2).contains("--web true"), "{refused:?}");
    for wrong in [
        ["orders", "get", "tools/hello"],
        ["/orders", "fetch", "tools/hello"],
    ] {
        assert_eq!(
            burst.wsk(&[&["api", "create"], &wrong[..]].concat()).code,
            Some(2)
        );
    }
    burst.file("swagger.json", r#"{"basePath":"/shop"}"#);
    let from_file = burst
        .wsk(&["api", "create", "--config-file", "swagger.json"])
        .ok();
    assert_eq!(
        from_file,
        "ok: created API /orders get for action /guest/tools/hello\nhttp://gw/shop/orders\n"
    );
    assert_eq!(
        sent(&platform)["apidoc"]["swagger"],
        r#"{"basePath":"/shop"}"#
    );
}

#[test]
fn apis_are_listed_shown_and_deleted() {
    let platform = Platform::start();
    let found = format!(r#"{{"apis":[{{"value":{}}}]}}"#, api());
    platform
        .whatever(&format!("GET {GATEWAY}/getApi.http"), 200, &found)
        .whatever(&format!("DELETE {GATEWAY}/deleteApi.http"), 200, "{}");
    let burst = wsk(&platform);
    assert_eq!(
        burst.wsk(&["api", "list"]).ok(),
        "ok: APIs\n\
         Action                Verb  API Name  URL\n\
         /guest/tools/hello     get  Shop      http://gw/shop/orders\n"
    );
    let full = burst.wsk(&["api", "list", "/shop", "--full"]).ok();
    assert!(full.contains("\n  Base path: /shop\n"), "{full}");
    let shown = burst.wsk(&["api", "get", "/shop"]).ok();
    assert!(shown.contains("\"basePath\": \"/shop\""), "{shown}");
    let part = burst.wsk(&["api", "get", "/shop", "/orders"]).ok();
    assert!(part.starts_with("{\n    \"get\": {"), "{part}");
    burst.wsk(&["api", "get", "/shop", "/none"]).fails(148);
    assert_eq!(
        burst
            .wsk(&["api", "delete", "/shop", "/orders", "get"])
            .ok(),
        "ok: deleted API /orders get from /shop\n"
    );
    let line = platform.lines().pop().unwrap();
    assert!(
        line.contains("basepath=%2Fshop&relpath=%2Forders&operation=get&force=true"),
        "{line}"
    );
}
