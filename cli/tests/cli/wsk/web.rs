use serde_json::json;

use super::{action, sent, wsk};
use crate::platform::Platform;

const ACTION: &str = r#"{"namespace":"guest","name":"page"}"#;

#[test]
fn web_actions_are_annotated() {
    let platform = Platform::start();
    platform.always("PUT /actions/page", 200, ACTION);
    let burst = wsk(&platform);
    burst.file("page.js", "code");
    let create = ["action", "create", "page", "page.js"];
    let annotations = |more: &[&str]| {
        burst.wsk(&[&create[..], more].concat()).ok();
        sent(&platform)["annotations"].clone()
    };
    let yes = annotations(&["--web", "true", "--web-secure", "secret"]);
    assert_eq!(
        yes,
        json!([{"key": "web-export", "value": true}, {"key": "raw-http", "value": false},
               {"key": "final", "value": true}, {"key": "require-whisk-auth", "value": "secret"}])
    );
    assert_eq!(
        annotations(&["--web", "raw"])[1],
        json!({"key": "raw-http", "value": true})
    );
    assert_eq!(
        annotations(&["--web=no"])[0],
        json!({"key": "web-export", "value": false})
    );
    let refused = burst.wsk(&[&create[..], &["--web-secure", "true"]].concat());
    assert!(refused.fails(2).contains("--web"), "{refused:?}");
    assert_eq!(
        burst.wsk(&[&create[..], &["--web", "maybe"]].concat()).code,
        Some(2)
    );
}

#[test]
fn the_generated_secret_of_a_web_action_survives_updates() {
    let platform = Platform::start();
    let secret = |value: &str| {
        let web = r#"{"key":"web-export","value":true}"#;
        let secret = format!(r#"{{"key":"require-whisk-auth","value":{value}}}"#);
        action("guest", "page", &format!("{web},{secret}"), "")
    };
    platform
        .always("GET /actions/page", 200, &secret("4503599627370497"))
        .always("GET /actions/worded", 200, &secret("\"word\""))
        .always("PUT /actions/page", 200, ACTION)
        .always("PUT /actions/worded", 200, ACTION);
    let burst = wsk(&platform);
    burst.file("page.js", "code");
    let asked = |args: &[&str]| {
        burst.wsk(args).ok();
        let body = sent(&platform);
        let annotations = body["annotations"].as_array().unwrap();
        let found = annotations
            .iter()
            .find(|it| it["key"] == "require-whisk-auth");
        found.unwrap()["value"].clone()
    };
    let create = ["action", "create", "page", "page.js", "--web", "yes"];
    let secured = |how| [&create[..], &["--web-secure", how]].concat();
    let number = asked(&secured("true")).as_u64().unwrap();
    assert!(number < 1 << 53, "{number}");
    assert_ne!(asked(&secured("True")), number);
    assert_eq!(asked(&secured("False")), false);
    assert_eq!(asked(&secured("Word")), "Word");
    let update = |name, how| asked(&["action", "update", name, "--web-secure", how]);
    assert_eq!(update("page", "true"), 4_503_599_627_370_497_u64);
    assert_eq!(update("page", "false"), false);
    assert!(update("worded", "true").is_u64());
}
