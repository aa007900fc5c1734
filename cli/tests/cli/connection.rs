//! Finding the platform, and the errors when it cannot be reached or responds badly.

use crate::platform::Platform;
use crate::program::{AUTH, Burst};

#[test]
fn each_refusal_has_its_exit_code_and_transaction_id() {
    for (status, code) in [
        (400, 6),
        (401, 4),
        (403, 4),
        (404, 3),
        (408, 6),
        (409, 5),
        (413, 6),
        (415, 6),
        (429, 6),
        (500, 8),
        (503, 8),
    ] {
        let platform = Platform::start();
        platform.on(
            "GET /bursts/x",
            status,
            r#"{"error":"Say it better.","code":"t7"}"#,
        );
        let message = if status == 404 {
            "Say it better; see `burst list` [t7]"
        } else {
            "Say it better. [t7]"
        };
        assert_eq!(Burst::of(&platform).run(&["get", "x"]).fails(code), message);
    }
}

#[test]
fn an_invalid_response_is_a_platform_failure() {
    let platform = Platform::start();
    platform
        .on("GET /bursts", 502, "<html>")
        .always("GET /flares", 200, "<html>");
    let burst = Burst::of(&platform);
    assert_eq!(
        burst.run(&["list"]).fails(8),
        "the platform answered 502 and no reason"
    );
    assert!(
        burst
            .run(&["flares"])
            .fails(8)
            .contains("could not be understood")
    );
}

#[test]
fn the_ca_file_is_read_for_https_in_any_letter_case() {
    for scheme in ["https", "HTTPS"] {
        let burst = Burst::alone()
            .with("BURST_APIHOST", format!("{scheme}://127.0.0.1:1"))
            .with("BURST_AUTH", AUTH)
            .with("BURST_CACERT", "/nowhere/ca.pem");
        let message = burst.run(&["list"]).fails(2).to_owned();
        assert!(
            message.starts_with("cannot read /nowhere/ca.pem"),
            "{message}"
        );
    }
}

#[test]
fn an_unreachable_host_is_named() {
    // No process that asks for any free port gets this one, such as the platforms of concurrent tests.
    let address = "127.0.0.1:1";
    let burst = Burst::alone()
        .with("BURST_APIHOST", address)
        .with("BURST_AUTH", AUTH);
    let ran = burst.run(&["list"]);
    let message = ran.fails(7);
    let host = format!("cannot reach the platform at http://{address}: ");
    assert!(message.starts_with(&host), "{message}");
    assert!(
        message.ends_with("; `burst standalone` starts one here"),
        "{message}"
    );
}

#[test]
fn requests_to_a_silent_platform_time_out() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let burst = Burst::alone()
        .with("BURST_APIHOST", &address)
        .with("BURST_AUTH", AUTH);
    let ran = burst.run(&["list"]);
    let message = ran.fails(9);
    assert!(message.contains("30 s"), "{message}");
}

#[test]
fn requests_that_start_something_are_retried_if_the_connection_breaks() {
    const FLARE: (&str, &str) = ("POST /bursts/x", "flareId");
    const GROUP: (&str, &str) = ("POST /groups", "groupId");
    const CALL: (&str, &str) = ("POST /actions/x", "activationId");
    for ((line, id), command) in [
        (FLARE, &["flare", "x", "--size", "1"][..]),
        (GROUP, &["group", "open", "x", "--size", "1"]),
        (CALL, &["action", "invoke", "x"]),
    ] {
        let platform = Platform::start();
        let accepted = format!(r#"{{"{id}":"0123456789abcdef0123456789abcdef"}}"#);
        platform
            .breaking(line)
            .breaking(line)
            .always(line, 202, &accepted);
        Burst::of(&platform).run(command).ok();
        let asked = platform.requests();
        assert_eq!(asked.len(), 3, "{asked:?}");
        let first = &asked[0];
        assert!(first.key.is_some(), "{asked:?}");
        for again in &asked {
            assert_eq!((&again.key, &again.body), (&first.key, &first.body));
        }
    }
}

#[test]
fn requests_that_start_nothing_are_not_retried() {
    let platform = Platform::start();
    platform.breaking("GET /bursts");
    let message = Burst::of(&platform).run(&["list"]).fails(7).to_owned();
    assert!(message.contains("broke"), "{message}");
    assert_eq!(platform.requests().len(), 1);
}

#[test]
fn flags_override_the_environment_which_overrides_files() {
    let platform = Platform::start();
    platform.on("GET /bursts", 200, "[]");
    let basic = |user: &str| {
        use base64::Engine;
        let pair = format!("{user}:key");
        format!(
            "Basic {}",
            base64::engine::general_purpose::STANDARD.encode(pair)
        )
    };
    let caller = || platform.requests().last().unwrap().auth.clone();
    let mut burst = Burst::alone();
    assert!(
        burst
            .run(&["list"])
            .fails(2)
            .contains("no APIHOST is known")
    );
    let here = format!("APIHOST={}\n", platform.address());

    // Of several platforms on this machine, the one that was started last is used.
    burst.file(
        ".burst-controller/properties",
        format!("{here}AUTH=cluster:key\n"),
    );
    burst.run(&["list"]).ok();
    assert_eq!(caller(), basic("cluster"));

    burst.file(".burst/properties", format!("{here}AUTH=data:key\n"));
    burst.run(&["list"]).ok();
    assert_eq!(caller(), basic("data"));

    burst.file(".burst.properties", "# mine\nAUTH=home:key\n");
    burst.run(&["list"]).ok();
    assert_eq!(caller(), basic("home"));

    let other = burst.file("other", "AUTH = other:key");
    burst = burst.with("BURST_CONFIG_FILE", other.to_str().unwrap());
    burst.run(&["list"]).ok();
    assert_eq!(caller(), basic("other"));

    burst = burst.with("BURST_AUTH", "environment:key");
    burst.run(&["list"]).ok();
    assert_eq!(caller(), basic("environment"));

    burst.run(&["list", "--auth", "flag:key"]).ok();
    assert_eq!(caller(), basic("flag"));
    burst.run(&["--auth", "flag:key", "list"]).ok();
    assert_eq!(caller(), basic("flag"));
}

#[test]
fn invalid_connection_settings_are_usage_errors() {
    let burst = Burst::alone().with("BURST_APIHOST", "127.0.0.1:1");
    assert!(burst.run(&["list"]).fails(2).contains("no AUTH is known"));
    assert!(
        burst
            .run(&["list", "--auth", "nonsense"])
            .fails(2)
            .contains("uuid:key")
    );
    assert!(
        burst
            .run(&["list", "--auth"])
            .fails(2)
            .contains("--auth needs a value")
    );
    let ran = burst.run(&["list", "--auth", AUTH, "--apihost", "http://user:pw@h"]);
    assert!(!ran.fails(2).contains("pw"));
    burst.file(".burst.properties", "what is this");
    assert!(burst.run(&["list"]).fails(2).contains("line 1 of "));
}

#[test]
fn a_trace_shows_everything_but_credentials() {
    let platform = Platform::start();
    platform.on("GET /bursts", 200, "[]");
    let ran = Burst::of(&platform).run(&["list", "-v", "--output", "json"]);
    assert_eq!(ran.out, "[]\n");
    assert!(ran.err.contains("> GET http://"), "{ran:?}");
    assert!(ran.err.contains("> authorization: <redacted>"), "{ran:?}");
    assert!(ran.err.contains("< 200 OK"), "{ran:?}");
    assert!(!ran.err.contains("Basic"), "{ran:?}");
}

#[test]
fn a_closed_pipe_ends_the_program_without_an_error() {
    let platform = Platform::start();
    let line = r#"{"worker":0,"pack":0,"stream":"stdout","at":0,"line":"x"}"#;
    let logs = vec![line; 20_000].join(",");
    platform.on(
        "GET /flares/f1000000000000000000000000000001/logs",
        200,
        &format!(r#"{{"flareId":"f1000000000000000000000000000001","truncated":false,"next":1,"logs":[{logs}]}}"#),
    );
    let mut child = Burst::of(&platform)
        .command(&["logs", "f1000000000000000000000000000001"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}
