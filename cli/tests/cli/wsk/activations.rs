use rustix::process::{Pid, Signal, kill_process};

use super::{ID, wsk};
use crate::platform::Platform;
use crate::program::Ran;

fn summary(status: u8, init: bool) -> String {
    let init = if init {
        r#",{"key":"initTime","value":9}"#
    } else {
        ""
    };
    format!(
        r#"{{"namespace":"guest","name":"hello","version":"0.0.1","publish":false,"activationId":"{ID}",
            "start":1700000000000,"end":1700000001500,"duration":1500,"statusCode":{status},
            "annotations":[{{"key":"kind","value":"python:3.10"}}{init}]}}"#
    )
}

fn record() -> String {
    format!(
        r#"{{"namespace":"guest","name":"hello","version":"0.0.1","publish":false,"activationId":"{ID}",
            "subject":"guest","start":1700000000000,"end":1700000001500,"duration":1500,
            "response":{{"status":"success","statusCode":0,"success":true,"result":{{"a":1}}}},
            "logs":["2023-11-14T22:13:20.123456789Z stdout: hello","bare"],"annotations":[]}}"#
    )
}

#[test]
fn activations_are_listed_with_their_status() {
    let platform = Platform::start();
    let list = format!("[{},{}]", summary(0, true), summary(1, false));
    platform.always("GET /activations", 200, &list);
    let burst = wsk(&platform);
    let list = burst
        .wsk(&[
            "activation",
            "list",
            "hello",
            "--limit",
            "2",
            "--since",
            "7",
            "--upto",
            "9",
        ])
        .ok();
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines[0].starts_with("Datetime            Activation ID "),
        "{list}"
    );
    assert_eq!(
        lines[1],
        format!(
            "2023-11-14 22:13:20 {ID} python:3.10   cold  1.5s       success           guest/hello:0.0.1"
        )
    );
    assert!(
        lines[2].contains(" warm  1.5s       application error "),
        "{list}"
    );
    assert_eq!(
        platform.lines(),
        ["GET /activations?limit=2&skip=0&name=hello&since=7&upto=9&docs=false"]
    );
    let asked = |which: &str| {
        burst.wsk(&["activation", "list", which]).ok();
        let line = platform.requests().pop().unwrap().line;
        let query = line.strip_prefix("GET /activations?limit=30&skip=0&");
        query
            .unwrap()
            .strip_suffix("docs=false")
            .unwrap()
            .to_owned()
    };
    for (which, query) in [
        ("/_/hello", "name=hello&"),
        ("tools/hello", "name=tools%2Fhello&"),
        ("/guest/tools/hello", "name=tools%2Fhello&"),
        ("/guest", ""),
    ] {
        assert_eq!(asked(which), query, "{which}");
    }
    burst.wsk(&["activation", "list", "a/b/c/d"]).fails(2);
    burst.wsk(&["activation", "poll", "a/b/c/d"]).fails(2);
}

#[test]
fn an_activation_is_shown_by_id_or_as_the_last() {
    let platform = Platform::start();
    let one = format!("GET /activations/{ID}");
    platform
        .always("GET /activations", 200, &format!("[{}]", summary(0, true)))
        .always(&one, 200, &record())
        .always(
            &format!("{one}/result"),
            200,
            r#"{"result":{"a":1},"success":true,"status":"success","size":7}"#,
        )
        .always(
            &format!("{one}/logs"),
            200,
            r#"{"logs":["2023-11-14T22:13:20.123456789Z stdout: hello","bare"]}"#,
        );
    let burst = wsk(&platform);
    for which in [ID, "--last"] {
        let shown = burst.wsk(&["activation", "get", which]).ok();
        assert!(
            shown.starts_with(&format!("ok: got activation {ID}\n{{\n")),
            "{shown}"
        );
        let result = burst.wsk(&["activation", "result", which]).ok();
        assert_eq!(result, "{\n    \"a\": 1\n}\n");
        let field = burst.wsk(&["activation", "get", which, "duration"]).ok();
        assert!(
            field.ends_with("displaying field duration\n1500\n"),
            "{field}"
        );
    }
    let logs = burst.wsk(&["activation", "logs", ID]).ok();
    assert_eq!(logs, "2023-11-14T22:13:20.123456789Z stdout: hello\nbare\n");
    let strip = burst.wsk(&["activation", "logs", "--last", "--strip"]).ok();
    assert_eq!(strip, "hello\nbare\n");
    for (short, long, shown) in [
        (
            "-s",
            "--summary",
            "activation result for '/guest/hello' (success at 2023-11-14 22:13:21 +0000 UTC)\n{\n    \"a\": 1\n}\n",
        ),
        ("-g", "--logs", "hello\nbare\n"),
    ] {
        for flag in [short, long] {
            assert_eq!(burst.wsk(&["activation", "get", ID, flag]).ok(), shown);
            let last = ["activation", "get", "--last", flag];
            assert_eq!(burst.wsk(&last).ok(), shown);
        }
    }
    burst.wsk(&["activation", "get", "none"]).fails(148);
    for verb in ["get", "logs", "result"] {
        let ran = burst.wsk(&["activation", verb]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains("--last"), "{ran:?}");
    }
}

#[test]
fn full_activations_are_listed_one_after_another() {
    let platform = Platform::start();
    let list = r#"[{"activationId":"a","duration":1.50},{"activationId":"b"}]"#;
    platform.always("GET /activations", 200, list);
    let burst = wsk(&platform);
    assert_eq!(
        burst.wsk(&["activation", "list", "--full"]).ok(),
        "activations\n{\n    \"activationId\": \"a\",\n    \"duration\": 1.50\n}\n\
         {\n    \"activationId\": \"b\"\n}\n"
    );
    assert!(platform.lines()[0].ends_with("&docs=true"));
}

#[test]
fn last_without_activations_is_refused() {
    let platform = Platform::start();
    platform.always("GET /activations", 200, "[]");
    let burst = wsk(&platform);
    assert_eq!(
        burst.wsk(&["activation", "logs", "--last"]).fails(148),
        "there is no activation yet"
    );
}

#[test]
fn a_poll_shows_each_activation_once() {
    let platform = Platform::start();
    platform.always("GET /activations", 200, &format!("[{}]", record()));
    let burst = wsk(&platform);
    let poll = burst.wsk(&[
        "activation",
        "poll",
        "/_/hello",
        "--exit",
        "1",
        "--since-minutes",
        "1",
    ]);
    assert_eq!(
        poll.ok(),
        format!(
            "Enter Ctrl-c to exit.\nPolling for activation logs\n\nActivation: 'hello' ({ID})\n\
             [\n    \"2023-11-14T22:13:20.123456789Z stdout: hello\",\n    \"bare\"\n]\n"
        )
    );
    let asked = platform.lines();
    assert!(
        asked.len() > 1 || platform.requests().len() > 1,
        "{asked:?}"
    );
    let begin = "GET /activations?limit=0&name=hello&since=";
    assert!(asked[0].starts_with(begin), "{asked:?}");
    assert!(asked[0].ends_with("&docs=true"), "{asked:?}");
}

#[test]
fn an_interrupt_ends_a_poll_of_a_silent_platform() {
    let platform = Platform::start();
    platform.silent("GET /activations");
    let burst = wsk(&platform);
    let poll = burst.wsk_command(&["activation", "poll"]).spawn().unwrap();
    platform.wait_for("GET /activations");
    kill_process(Pid::from_child(&poll), Signal::INT).unwrap();
    let ran = Ran::from(poll.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
