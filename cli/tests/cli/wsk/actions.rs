use serde_json::json;

use super::{ID, sent, wsk};
use crate::platform::Platform;
use crate::program::{BURST, Burst};

const REFUSAL: &str = r#"{"error":"no, resource already exists","code":"t1"}"#;
const ACTION: &str = r#"{"namespace":"guest/tools","name":"hello","version":"0.0.2","publish":false,
    "exec":{"kind":"nodejs:20","code":"function main() {}","binary":false},"limits":{"timeout":60000},
    "parameters":[{"key":"a","value":1}],
    "annotations":[{"key":"web-export","value":true},{"key":"description","value":"greets"},
                   {"key":"parameters","value":[{"name":"who"}]}]}"#;

#[test]
fn actions_are_made_of_files_by_their_ending() {
    let platform = Platform::start();
    platform.whatever("PUT /actions/hello", 200, ACTION);
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
    platform.whatever("PUT /actions/tools/both", 200, ACTION);
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
fn updates_look_first_and_copies_take_all() {
    let platform = Platform::start();
    platform
        .whatever("GET /actions/hello", 404, REFUSAL)
        .whatever("GET /actions/old", 200, ACTION)
        .whatever("PUT /actions/hello", 200, ACTION);
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
fn web_actions_are_annotated() {
    let platform = Platform::start();
    platform.whatever("PUT /actions/page", 200, ACTION);
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
fn actions_are_shown_saved_listed_and_deleted() {
    let platform = Platform::start();
    platform
        .whatever("GET /actions/tools/hello", 200, ACTION)
        .whatever("DELETE /actions/tools/hello", 200, ACTION)
        .whatever("GET /actions", 200, &listed())
        .whatever("GET /actions/tools/", 200, &listed());
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
        "action /_/tools/hello: greets\n   (parameters: who)\n"
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

fn listed() -> String {
    r#"[{"namespace":"guest/tools","name":"hello","version":"0.0.1","publish":false,"updated":1,
        "annotations":[{"key":"exec","value":"nodejs:20"}],"exec":{"binary":false}}]"#
        .into()
}

#[test]
fn refusals_end_with_their_status() {
    let platform = Platform::start();
    platform
        .whatever("PUT /actions/hello", 409, REFUSAL)
        .whatever(
            "GET /actions/secret",
            401,
            r#"{"error":"who are you","code":"t2"}"#,
        )
        .whatever("GET /actions/proxied", 502, "<html>");
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
    burst.wsk(&["action", "get", "a/b/c"]).fails(2);
    let nowhere = ["--apihost", "http://127.0.0.1:1", "action", "get", "hello"];
    burst.wsk(&nowhere).fails(3);
    // By the other name they are that one's.
    let burst = Burst::of(&platform);
    burst.run(&["action", "get", "none"]).fails(3);
    burst.run(&["action", "get", "secret"]).fails(4);
}

#[test]
fn invocations_are_told_by_id_or_shown() {
    let platform = Platform::start();
    let accepted = format!(r#"{{"activationId":"{ID}"}}"#);
    let record = format!(
        r#"{{"activationId":"{ID}","response":{{"result":{{"n":1.50}},"success":true}},"logs":[]}}"#
    );
    platform
        .whatever(
            "POST /actions/hello?blocking=false&result=false",
            202,
            &accepted,
        )
        .whatever(
            "POST /actions/hello?blocking=true&result=false",
            200,
            &record,
        )
        .whatever(
            "POST /actions/hello?blocking=true&result=true",
            200,
            r#"{"n":1.50}"#,
        )
        .whatever("POST /actions/slow", 202, &accepted);
    let burst = wsk(&platform);
    burst.file("params.json", r#"{"a":1,"b":2}"#);
    let invoke = ["action", "invoke", "hello"];
    let line = format!("ok: invoked /_/hello with id {ID}\n");
    let params = ["-p", "b", "{\"c\": 3}", "-P", "params.json"];
    assert_eq!(burst.wsk(&[&invoke[..], &params].concat()).ok(), line);
    assert_eq!(sent(&platform), json!({"a": 1, "b": {"c": 3}}));
    let blocking = burst.wsk(&[&invoke[..], &["-b"]].concat()).ok();
    assert!(
        blocking.starts_with(&format!("{line}{{\n    \"activationId\"")),
        "{blocking}"
    );
    assert_eq!(sent(&platform), json!({}));
    let result = burst.wsk(&[&invoke[..], &["-r"]].concat()).ok();
    assert_eq!(result, "{\n    \"n\": 1.50\n}\n");
    let slow = burst.wsk(&["action", "invoke", "slow", "-b"]);
    assert_eq!(slow.code, Some(202));
    assert_eq!(
        slow.out,
        format!("ok: invoked /_/slow, but the request has not yet finished, with id {ID}\n")
    );
    assert_eq!(
        Burst::of(&platform)
            .run(&["action", "invoke", "slow", "-b"])
            .code,
        Some(9)
    );
}

#[test]
fn an_action_that_fails_is_shown_where_errors_go() {
    let platform = Platform::start();
    let record = format!(r#"{{"activationId":"{ID}","response":{{"result":{{"error":"no"}}}}}}"#);
    platform
        .whatever("POST /actions/bad?blocking=true&result=false", 502, &record)
        .whatever(
            "POST /actions/bad?blocking=true&result=true",
            502,
            r#"{"error":"no"}"#,
        )
        .whatever(
            "POST /actions/down",
            502,
            r#"{"error":"a proxy's","code":"t5"}"#,
        );
    let burst = wsk(&platform);
    let blocking = burst.wsk(&["action", "invoke", "bad", "-b"]);
    assert_eq!((blocking.code, blocking.out.as_str()), (Some(246), ""));
    assert!(
        blocking
            .err
            .starts_with(&format!("ok: invoked /_/bad with id {ID}\n{{")),
        "{blocking:?}"
    );
    let result = burst.wsk(&["action", "invoke", "bad", "-r"]);
    assert_eq!((result.code, result.out.as_str()), (Some(246), ""));
    assert_eq!(result.err, "{\n    \"error\": \"no\"\n}\n");
    assert!(
        burst
            .wsk(&["action", "invoke", "down", "-r"])
            .fails(246)
            .contains("a proxy's")
    );
    assert_eq!(
        Burst::of(&platform)
            .run(&["action", "invoke", "bad", "-r"])
            .code,
        Some(1)
    );
}

#[test]
fn parameters_are_two_words_by_either_name() {
    let platform = Platform::start();
    let accepted = format!(r#"{{"activationId":"{ID}"}}"#);
    platform.whatever("POST /actions/hello", 202, &accepted);
    let invoke = ["action", "invoke", "-p", "k", "v", "hello", "-p", "n", "-1"];
    wsk(&platform).wsk(&invoke).ok();
    assert_eq!(sent(&platform), json!({"k": "v", "n": -1}));
    Burst::of(&platform).run(&invoke).ok();
    assert_eq!(sent(&platform), json!({"k": "v", "n": -1}));
}

#[test]
fn parameters_of_one_word_are_those_that_none_follows() {
    let platform = Platform::start();
    let accepted = format!(r#"{{"activationId":"{ID}"}}"#);
    platform.whatever("POST /actions/hello", 202, &accepted);
    let burst = Burst::of(&platform);
    let invoke = ["action", "invoke", "hello"];
    for (params, expected) in [
        (&["--param", "k=v"][..], json!({"k": "v"})),
        (&["-p", "k=1", "-p", "l=w=x"], json!({"k": 1, "l": "w=x"})),
        (&["--param=k=--v"], json!({"k": "--v"})),
        // As OpenWhisk has it, whose keys may be such.
        (&["-p", "k=v", "w"], json!({"k=v": "w"})),
    ] {
        burst.run(&[&invoke[..], params].concat()).ok();
        assert_eq!(sent(&platform), expected, "{params:?}");
    }
    // OpenWhisk's own command line takes the second word, whatever it is.
    let wsk = wsk(&platform);
    let ran = wsk.wsk(&[&invoke[..], &["-p", "k=v"]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--param <KEY> <VALUE>"), "{ran:?}");
    wsk.wsk(&[&invoke[..], &["-p", "k=v", "--result"]].concat())
        .ok();
    assert_eq!(sent(&platform), json!({"k=v": "--result"}));
}
