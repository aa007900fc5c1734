use serde_json::json;

use super::{action, sent, wsk};
use crate::platform::Platform;
use crate::program::AUTH;

const GATEWAY: &str = "/api/v1/web/whisk.system/apimgmt";

fn hello(web: bool) -> String {
    let web = format!(r#"{{"key":"web-export","value":{web}}}"#);
    let secret = r#"{"key":"require-whisk-auth","value":"secret"}"#;
    action("guest/tools", "hello", &format!("{web},{secret}"), "")
}

fn api() -> String {
    r#"{"gwApiUrl":"http://gw/shop","gwApiActivated":true,"tenantId":"guest","apidoc":{
        "basePath":"/shop","info":{"title":"Shop","version":"1.0.0"},"paths":{"/orders":{"get":{
        "operationId":"getOrders","x-openwhisk":{"action":"hello","namespace":"guest","package":"tools",
        "url":"u"}}}}}}"#
        .into()
}

#[test]
fn apis_are_created_for_web_actions_only() {
    let platform = Platform::start();
    let made = format!("POST {GATEWAY}/createApi");
    platform
        .always("GET /actions/tools/hello", 200, &hello(true))
        .always("GET /actions/plain", 200, &hello(false))
        .always(&made, 200, &api());
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
    assert_eq!(line, format!("{made}?responsetype=json"));
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
        "ok: created API /shop/orders get for action /guest/tools/hello\nhttp://gw/shop/orders\n"
    );
    assert_eq!(
        sent(&platform)["apidoc"]["swagger"],
        r#"{"basePath":"/shop"}"#
    );
}

#[test]
fn a_yaml_file_is_sent_as_json() {
    let platform = Platform::start();
    let two = r#"{"gwApiUrl":"http://gw/shop","apidoc":{"basePath":"/shop","paths":{
        "/a":{"get":{}},"/b":{"get":{"x-openwhisk":{"action":"b","namespace":"guest","package":"default"}}}}}}"#;
    platform.always(&format!("POST {GATEWAY}/createApi"), 200, two);
    let burst = wsk(&platform);
    let yaml = "\
swagger: '2.0'
basePath: /shop
x-all: &all
  produces: [application/json]
paths:
  /a:
    get:
      <<: *all
      responses:
        200:
          description: yes
";
    for name in ["api.yaml", "api.yml"] {
        burst.file(name, yaml);
        let output = burst.wsk(&["api", "create", "-c", name]).ok();
        assert_eq!(
            output,
            "ok: created API /shop/a get\nhttp://gw/shop/a\n\
             ok: created API /shop/b get for action /guest/b\nhttp://gw/shop/b\n"
        );
        let sent = sent(&platform)["apidoc"]["swagger"].clone();
        let sent: serde_json::Value = serde_json::from_str(sent.as_str().unwrap()).unwrap();
        assert_eq!(
            sent["paths"]["/a"]["get"],
            json!({"produces": ["application/json"], "responses": {"200": {"description": "yes"}}})
        );
    }
    for text in ["- a", "a: [", "a: 1\na: 2"] {
        burst.file("bad.yaml", text);
        let refused = burst.wsk(&["api", "create", "-c", "bad.yaml"]);
        assert!(
            refused.fails(2).contains("bad.yaml is no YAML object"),
            "{refused:?}"
        );
    }
}

#[test]
fn apis_are_listed_shown_and_deleted() {
    let platform = Platform::start();
    let found = format!(r#"{{"apis":[{{"value":{}}}]}}"#, api());
    platform
        .always(&format!("GET {GATEWAY}/getApi"), 200, &found)
        .always(&format!("DELETE {GATEWAY}/deleteApi"), 200, "{}");
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
        "ok: deleted /orders GET from /shop\n"
    );
    let line = platform.lines().pop().unwrap();
    let query = "basepath=%2Fshop&relpath=%2Forders&operation=get";
    assert_eq!(line, format!("DELETE {GATEWAY}/deleteApi?{query}"));
    let delete = |which: &[&str]| burst.wsk(&[&["api", "delete"], which].concat()).ok();
    assert_eq!(delete(&["/shop", "/a"]), "ok: deleted /a from /shop\n");
    assert_eq!(delete(&["/shop"]), "ok: deleted API /shop\n");
}

#[test]
fn an_api_is_shown_with_its_address_and_as_yaml() {
    let platform = Platform::start();
    let found = format!(r#"{{"apis":[{{"value":{}}}]}}"#, api());
    platform.always(&format!("GET {GATEWAY}/getApi"), 200, &found);
    let burst = wsk(&platform);
    let get = ["api", "get", "/shop"];
    let full = burst.wsk(&[&get[..], &["--full"]].concat()).ok();
    assert!(
        full.starts_with("{\n    \"gwApiUrl\": \"http://gw/shop\",\n"),
        "{full}"
    );
    let yaml = burst.wsk(&[&get[..], &["--format", "YAML"]].concat()).ok();
    assert!(yaml.starts_with("basePath: /shop\ninfo:\n"), "{yaml}");
    assert!(
        yaml.contains("\n  /orders:\n    get:\n      operationId: getOrders\n"),
        "{yaml}"
    );
    let both = ["--full", "--format", "yaml"];
    let both = burst.wsk(&[&get[..], &both].concat()).ok();
    assert!(both.contains("gwApiUrl: http://gw/shop\n"), "{both}");
    let json = burst.wsk(&[&get[..], &["--format", "json"]].concat()).ok();
    assert_eq!(json, burst.wsk(&get).ok());
    let other = burst.wsk(&[&get[..], &["--format", "xml"]].concat());
    assert_eq!(other.code, Some(2));
}

#[test]
fn apis_are_sorted_by_name_on_request() {
    let platform = Platform::start();
    let named = |name: &str, path: &str| {
        format!(
            r#"{{"value":{{"gwApiUrl":"http://gw","apidoc":{{"info":{{"title":"{name}"}},"paths":{{"{path}":{{"put":{{}},
                "get":{{}}}}}}}}}}}}"#
        )
    };
    let found = [named("b", "/1"), named("A", "/2"), named("a", "/1")].join(",");
    let found = format!(r#"{{"apis":[{found}]}}"#);
    platform.always(&format!("GET {GATEWAY}/getApi"), 200, &found);
    let burst = wsk(&platform);
    for flag in ["-n", "--name-sort"] {
        let listed = burst.wsk(&["api", "list", flag]).ok();
        let rows: Vec<Vec<&str>> = listed
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().take(2).collect())
            .collect();
        let sorted = [
            ["get", "a"],
            ["put", "a"],
            ["get", "A"],
            ["put", "A"],
            ["get", "b"],
            ["put", "b"],
        ];
        assert_eq!(rows, sorted, "{listed}");
    }
}
