use serde_json::json;

use super::{action, sent, wsk};
use crate::platform::Platform;
use crate::program::{BURST, Burst};

const REFUSAL: &str = r#"{"error":"no, resource already exists","code":"t1"}"#;
const ACTION: &str = r#"{"namespace":"guest/tools","name":"hello","version":"0.0.2","publish":false,
    "exec":{"kind":"nodejs:20","code":"function main() {}","binary":false},"limits":{"timeout":60000,"memory":256,"logs":10,"concurrency":1},
    "updated":1,"parameters":[{"key":"a","value":1}],
    "annotations":[{"key":"web-export","value":true},{"key":"description","value":"greets"},
                   {"key":"parameters","value":[{"name":"who"}]}]}"#;

#[test]
fn the_kind_of_an_action_follows_the_file_extension() {
    let platform = Platform::start();
    platform.always("PUT /actions/hello", 200, ACTION);
    let burst = wsk(&platform);
    burst.file("hello.py", "def main(args):\n    return args\n");
    let create = [
        "action",
        "create",
        "hello",
        "hello.py",
        "-p",
        "name",
        "Ada",
        "-p",
        "n",
        "-3",
        "-a",
        "k",
        "[1]",
        "-m",
        "512",
        "--timeout",
        "1000",
        "--main",
        "run",
        "-e",
        "PLACE",
        "here",
    ];
    assert_eq!(burst.wsk(&create).ok(), "ok: created action hello\n");
    assert_eq!(
        sent(&platform),
        json!({
            "namespace": "_", "name": "hello",
            "exec": {"kind": "python:default", "main": "run", "binary": false,
                     "code": "def main(args):\n    return args\n"},
            "parameters": [{"key": "n", "value": -3}, {"key": "name", "value": "Ada"},
                           {"key": "PLACE", "value": "here", "init": true}],
            "annotations": [{"key": "k", "value": [1]}],
            "limits": {"memory": 512, "timeout": 1000}
        })
    );
    assert_eq!(platform.lines(), ["PUT /actions/hello?overwrite=false"]);

    burst.executable("program", BURST);
    burst.wsk(&["action", "create", "hello", "program"]).ok();
    assert_eq!(sent(&platform)["exec"]["kind"], "rust:default");
    assert_eq!(sent(&platform)["exec"]["binary"], true);
    burst.file("package.zip", b"PK\xff");
    let zip = ["action", "create", "hello", "package.zip"];
    assert!(burst.wsk(&zip).fails(2).contains("--kind"));
    burst.wsk(&[&zip[..], &["--kind", "nodejs"]].concat()).ok();
    assert_eq!(sent(&platform)["exec"]["kind"], "nodejs:default");
    assert_eq!(sent(&platform)["exec"]["code"], "UEv/");
    for file in ["package.tgz", "package.tar.gz"] {
        burst.file(file, b"\x1f\x8b\x08");
        let tar = ["action", "create", "hello", file];
        assert!(burst.wsk(&tar).fails(2).contains("--kind"));
        burst.wsk(&[&tar[..], &["--kind", "nodejs"]].concat()).ok();
        assert_eq!(sent(&platform)["exec"]["code"], "H4sI");
        assert_eq!(sent(&platform)["exec"]["binary"], true);
    }
    burst
        .wsk(&[&zip[..], &["--docker", "me/image"]].concat())
        .ok();
    assert_eq!(sent(&platform)["exec"]["kind"], "blackbox");
    assert_eq!(sent(&platform)["exec"]["image"], "me/image");
    assert!(
        burst
            .wsk(&["action", "create", "x"])
            .fails(2)
            .contains("made of something")
    );
    assert!(
        burst
            .wsk(&["action", "create", "x", "none.py"])
            .fails(2)
            .contains("none.py")
    );
}

#[test]
fn sequences_name_their_components_in_full() {
    let platform = Platform::start();
    platform.always("PUT /actions/tools/both", 200, ACTION);
    let burst = wsk(&platform);
    let create = [
        "action",
        "create",
        "tools/both",
        "--sequence",
        "a,tools/b,/whisk.system/utils/sort",
    ];
    assert_eq!(burst.wsk(&create).ok(), "ok: created action tools/both\n");
    let components = json!(["/_/a", "/_/tools/b", "/whisk.system/utils/sort"]);
    assert_eq!(
        sent(&platform)["exec"],
        json!({"kind": "sequence", "components": components})
    );
}

#[test]
fn updates_read_the_action_first_and_copies_keep_everything() {
    let platform = Platform::start();
    platform
        .always("GET /actions/hello", 404, REFUSAL)
        .always("GET /actions/old", 200, ACTION)
        .always("PUT /actions/hello", 200, ACTION);
    let burst = wsk(&platform);
    let update = [
        "action",
        "update",
        "hello",
        "--memory",
        "256",
        "--del-annotation",
        "k",
    ];
    assert_eq!(burst.wsk(&update).ok(), "ok: updated action hello\n");
    assert_eq!(
        sent(&platform),
        json!({"namespace": "_", "name": "hello", "delAnnotations": ["k"], "limits": {"memory": 256}})
    );
    let copy = [
        "action",
        "create",
        "hello",
        "--copy",
        "old",
        "-a",
        "description",
        "copied",
    ];
    burst.wsk(&copy).ok();
    let body = sent(&platform);
    assert_eq!(body["exec"]["code"], "function main() {}");
    assert_eq!(body["parameters"], json!([{"key": "a", "value": 1}]));
    let annotations = body["annotations"].as_array().unwrap();
    assert_eq!(annotations.len(), 3);
    assert!(annotations.contains(&json!({"key": "description", "value": "copied"})));
    assert_eq!(
        platform.lines(),
        [
            "GET /actions/hello?code=false",
            "PUT /actions/hello?overwrite=true",
            "GET /actions/old?code=true",
            "PUT /actions/hello?overwrite=false"
        ]
    );
}

#[test]
fn given_parameters_override_copied_ones_by_key() {
    let platform = Platform::start();
    platform
        .always("GET /actions/old", 200, ACTION)
        .always("PUT /actions/hello", 200, ACTION);
    let burst = wsk(&platform);
    for (given, all) in [
        (["-p", "x", "2"], json!({"a": 1, "x": 2})),
        (["-p", "a", "2"], json!({"a": 2})),
        (["-e", "V", "w"], json!({"a": 1, "V": "w"})),
    ] {
        let copy = ["action", "create", "hello", "--copy", "old"];
        burst.wsk(&[&copy[..], &given].concat()).ok();
        let parameters = sent(&platform)["parameters"].clone();
        let parameters: serde_json::Map<_, _> = parameters
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["key"].as_str().unwrap().into(), it["value"].clone()))
            .collect();
        assert_eq!(serde_json::Value::from(parameters), all, "{given:?}");
    }
}

#[test]
fn actions_are_shown_saved_listed_and_deleted() {
    let platform = Platform::start();
    platform
        .always("GET /actions/tools/hello", 200, ACTION)
        .always("DELETE /actions/tools/hello", 200, ACTION)
        .always("GET /actions", 200, &listed())
        .always("GET /actions/tools/", 200, &listed());
    let burst = wsk(&platform);
    let shown = burst.wsk(&["action", "get", "tools/hello"]).ok();
    assert!(
        shown.starts_with("ok: got action tools/hello\n{\n    \"namespace\": \"guest/tools\",\n"),
        "{shown}"
    );
    assert_eq!(
        burst.wsk(&["action", "get", "tools/hello", "version"]).ok(),
        "ok: got action tools/hello, displaying field version\n\"0.0.2\"\n"
    );
    assert!(
        burst
            .wsk(&["action", "get", "tools/hello", "none"])
            .fails(2)
            .contains("no field")
    );
    assert_eq!(
        burst.wsk(&["action", "get", "tools/hello", "--url"]).ok(),
        format!(
            "ok: got action tools/hello\nhttp://{}/api/v1/web/guest/tools/hello\n",
            platform.address()
        )
    );
    assert_eq!(
        burst
            .wsk(&["action", "get", "tools/hello", "--summary"])
            .ok(),
        "action /guest/tools/hello: greets\n   (parameters: *a, who)\n"
    );
    burst.wsk(&["action", "get", "tools/hello", "--save"]).ok();
    let saved = std::fs::read_to_string(burst.home().join("hello.js")).unwrap();
    assert_eq!(saved, "function main() {}");
    assert!(
        burst
            .wsk(&["action", "get", "tools/hello", "--save"])
            .fails(2)
            .contains("hello.js")
    );
    burst
        .wsk(&["action", "get", "tools/hello", "--save-as", "other"])
        .ok();
    let line = format!("{:<70} private nodejs:20\n", "/guest/tools/hello");
    assert_eq!(
        burst.wsk(&["action", "list"]).ok(),
        format!("actions\n{line}")
    );
    burst
        .wsk(&["action", "list", "tools", "-l", "0", "-s", "2"])
        .ok();
    assert_eq!(
        burst.wsk(&["action", "delete", "tools/hello"]).ok(),
        "ok: deleted action tools/hello\n"
    );
    let lines = platform.lines();
    assert_eq!(lines[0], "GET /actions/tools/hello?code=false");
    assert!(
        lines.contains(&"GET /actions/tools/hello?code=true".into()),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"GET /actions?limit=30&skip=0".into()),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"GET /actions/tools/?limit=0&skip=2".into()),
        "{lines:?}"
    );
}

#[test]
fn a_summary_marks_parameters_with_values_with_a_star() {
    let described = r#"{"key":"parameters","value":[{"name":"who"},{"name":"b"}]}"#;
    let last = format!(r#"{described},{{"key":"final","value":true}}"#);
    let bound = r#"{"key":"b","value":1},{"key":"a","value":2}"#;
    for (annotations, parameters, shown) in [
        ("", "", "\n   (parameters: none defined)\n"),
        (
            "",
            r#"{"key":"a","value":2}"#,
            ": Returns a result based on parameter a\n   (parameters: *a)\n",
        ),
        (
            described,
            "",
            ": Returns a result based on parameters b and who\n   (parameters: b, who)\n",
        ),
        (
            &last,
            bound,
            ": Returns a result based on parameters a, b and who\n   (parameters: **a, **b, who)\n",
        ),
    ] {
        let platform = Platform::start();
        let action = action("guest", "hello", annotations, parameters);
        platform.always("GET /actions/hello", 200, &action);
        let summary = ["action", "get", "hello", "--summary"];
        assert_eq!(
            wsk(&platform).wsk(&summary).ok(),
            format!("action /guest/hello{shown}")
        );
    }
}

fn listed() -> String {
    r#"[{"namespace":"guest/tools","name":"hello","version":"0.0.1","publish":false,"updated":1,
        "annotations":[{"key":"exec","value":"nodejs:20"}],"exec":{"binary":false}}]"#
        .into()
}

#[test]
fn refusals_exit_with_the_code_of_their_status() {
    let platform = Platform::start();
    platform
        .always("PUT /actions/hello", 409, REFUSAL)
        .always(
            "GET /actions/secret",
            401,
            r#"{"error":"who are you","code":"t2"}"#,
        )
        .always("GET /actions/proxied", 502, "<html>")
        // Its low byte is 0, which would be a success.
        .always("GET /actions/odd", 512, REFUSAL);
    let burst = wsk(&platform);
    burst.file("hello.py", "");
    assert_eq!(
        burst
            .wsk(&["action", "create", "hello", "hello.py"])
            .fails(153),
        "Unable to create action 'hello': no, resource already exists (code t1)"
    );
    assert!(
        burst
            .wsk(&["action", "get", "none"])
            .fails(148)
            .contains("(code t404)")
    );
    burst.wsk(&["action", "get", "secret"]).fails(145);
    burst.wsk(&["action", "get", "proxied"]).fails(246);
    burst.wsk(&["action", "get", "odd"]).fails(1);
    burst.wsk(&["action", "get", "a/b/c/d"]).fails(2);
    let nowhere = ["--apihost", "http://127.0.0.1:1", "action", "get", "hello"];
    burst.wsk(&nowhere).fails(3);
    // Under the name `burst`, the exit codes are those of `burst`.
    let burst = Burst::of(&platform);
    burst.run(&["action", "get", "none"]).fails(3);
    burst.run(&["action", "get", "secret"]).fails(4);
}
