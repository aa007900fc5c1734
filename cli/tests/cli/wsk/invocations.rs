use serde_json::json;

use super::{ID, sent, wsk};
use crate::platform::Platform;
use crate::program::Burst;

#[test]
fn invocations_print_the_id_or_the_result() {
    let platform = Platform::start();
    let accepted = format!(r#"{{"activationId":"{ID}"}}"#);
    let record = format!(
        r#"{{"activationId":"{ID}","response":{{"result":{{"n":1.50}},"success":true}},"logs":[]}}"#
    );
    platform
        .always(
            "POST /actions/hello?blocking=false&result=false",
            202,
            &accepted,
        )
        .always(
            "POST /actions/hello?blocking=true&result=false",
            200,
            &record,
        )
        .always(
            "POST /actions/hello?blocking=true&result=true",
            200,
            r#"{"n":1.50}"#,
        )
        .always("POST /actions/slow", 202, &accepted);
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
fn a_failed_action_is_printed_to_stderr() {
    let platform = Platform::start();
    let record = format!(r#"{{"activationId":"{ID}","response":{{"result":{{"error":"no"}}}}}}"#);
    platform
        .always("POST /actions/bad?blocking=true&result=false", 502, &record)
        .always(
            "POST /actions/bad?blocking=true&result=true",
            502,
            r#"{"error":"no"}"#,
        )
        .always(
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
fn burst_and_wsk_accept_parameters_as_two_words() {
    let platform = Platform::start();
    let accepted = format!(r#"{{"activationId":"{ID}"}}"#);
    platform.always("POST /actions/hello", 202, &accepted);
    let invoke = ["action", "invoke", "-p", "k", "v", "hello", "-p", "n", "-1"];
    wsk(&platform).wsk(&invoke).ok();
    assert_eq!(sent(&platform), json!({"k": "v", "n": -1}));
    Burst::of(&platform).run(&invoke).ok();
    assert_eq!(sent(&platform), json!({"k": "v", "n": -1}));
}

#[test]
fn only_burst_accepts_parameters_as_one_word() {
    let platform = Platform::start();
    let accepted = format!(r#"{{"activationId":"{ID}"}}"#);
    platform.always("POST /actions/hello", 202, &accepted);
    let burst = Burst::of(&platform);
    let invoke = ["action", "invoke", "hello"];
    for (params, expected) in [
        (&["--param", "k=v"][..], json!({"k": "v"})),
        (&["-p", "k=1", "-p", "l=w=x"], json!({"k": 1, "l": "w=x"})),
        (&["--param=k=--v"], json!({"k": "--v"})),
        // OpenWhisk's form, whose keys can contain `=`.
        (&["-p", "k=v", "w"], json!({"k=v": "w"})),
    ] {
        burst.run(&[&invoke[..], params].concat()).ok();
        assert_eq!(sent(&platform), expected, "{params:?}");
    }
    // OpenWhisk's own command line always takes the next word as the value.
    let wsk = wsk(&platform);
    let ran = wsk.wsk(&[&invoke[..], &["-p", "k=v"]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--param <KEY> <VALUE>"), "{ran:?}");
    wsk.wsk(&[&invoke[..], &["-p", "k=v", "--result"]].concat())
        .ok();
    assert_eq!(sent(&platform), json!({"k=v": "--result"}));
}
