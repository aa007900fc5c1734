//! The user's path over plain HTTP, with the `curl` commands in the README and similar ones.

use std::fs;
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use burst_tests::{Driver, Platform, Settings, built, command, failing, wait};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(180);

/// Runs lines of shell with APIHOST and AUTH set as in the README.
fn shell(platform: &Platform, lines: &str) -> String {
    let script = format!(". {}\n{lines}", platform.properties().display());
    let mut bash = Command::new("bash");
    bash.args(["-euc", &script]).current_dir(platform.scratch());
    let finished = command::run(&mut bash, LIMIT);
    assert_eq!(finished.code, Some(0), "{script}\n{finished:#?}");
    finished.stdout
}

/// Runs `curl` below the caller's namespace; returns the status and the body.
fn curl(platform: &Platform, arguments: &str, path: &str) -> (u16, Value) {
    let output = shell(
        platform,
        &format!(
            "curl --silent --show-error --user \"$AUTH\" --write-out '\\n%{{http_code}}' \
             {arguments} \"$APIHOST/api/v1/namespaces/_/{path}\""
        ),
    );
    let (body, status) = output.rsplit_once('\n').unwrap();
    (
        status.parse().unwrap(),
        serde_json::from_str(body).unwrap_or(Value::Null),
    )
}

fn post(body: &str) -> String {
    format!("--header 'Content-Type: application/json' --data '{body}'")
}

/// The shell block of the README that uses `curl`.
fn readme() -> String {
    let text = fs::read_to_string(built::repository().join("README.md")).unwrap();
    let blocks = text.split("```").skip(1).step_by(2);
    let block = blocks
        .into_iter()
        .find(|block| block.contains("curl -u"))
        .expect("a curl block");
    block.lines().skip(1).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_commands_of_the_readme_work() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let hello = built::program("hello");
    platform
        .cli(&["deploy", "hello", hello.to_str().unwrap()])
        .exits(0);
    let properties = platform.properties().display().to_string();
    let output = shell(
        &platform,
        &readme().replace("~/.burst/properties", &properties),
    );
    assert!(output.contains("\"hello\""), "{output}");
    for worker in 0..8 {
        let greeting = format!("Hello, World, from worker {worker} of 8");
        assert!(output.contains(&greeting), "{output}");
    }
}

#[test]
fn a_definition_is_deployed_flared_inspected_and_deleted() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let program = STANDARD.encode(fs::read(built::program(failing::NAME)).unwrap());
    let body = json!({"exec": {"kind": "rust", "code": program}}).to_string();
    fs::write(platform.scratch().join("definition.json"), body).unwrap();
    let put = "--request PUT --header 'Content-Type: application/json' --data @definition.json";
    let (status, definition) = curl(&platform, put, "bursts/work");
    assert_eq!(
        (status, &definition["version"]),
        (200, &json!("0.0.1")),
        "{definition}"
    );

    let request = post(r#"{"size":3,"params":{"how":"succeed"}}"#);
    let (status, result) = curl(&platform, &request, "bursts/work?blocking=true&result=true");
    assert_eq!(status, 200, "{result}");
    assert_eq!(
        result["outputs"][2],
        json!({"worker": 2, "output": "worker 2 of 3"}),
        "{result}"
    );
    let id = result["flareId"].as_str().unwrap();

    let (status, list) = curl(&platform, "", "bursts");
    assert_eq!((status, &list[0]["name"]), (200, &json!("work")));
    let (status, one) = curl(&platform, "", "bursts/work");
    assert_eq!((status, &one), (200, &definition));
    let (status, flares) = curl(&platform, "", "flares?name=work&state=succeeded");
    assert_eq!((status, &flares[0]["flareId"]), (200, &json!(id)));
    let (status, flare) = curl(&platform, "", &format!("flares/{id}"));
    assert_eq!((status, &flare["state"]), (200, &json!("succeeded")));
    let (status, logs) = curl(&platform, "", &format!("flares/{id}/logs?worker=1"));
    assert_eq!(
        (status, &logs["logs"][0]["line"]),
        (200, &json!("now: Succeed")),
        "{logs}"
    );
    let (status, timeline) = curl(&platform, "", &format!("flares/{id}/timeline"));
    let phases = timeline["workers"][0]["phases"].as_array().unwrap();
    let names: Vec<&str> = phases
        .iter()
        .map(|phase| phase["name"].as_str().unwrap())
        .collect();
    assert_eq!(status, 200);
    assert_eq!(names.first(), Some(&"invocation"), "{timeline}");
    assert!(
        names.ends_with(&["greet", "act"]),
        "the function's own marks: {timeline}"
    );
    let (status, again) = curl(&platform, "", &format!("flares/{id}/result"));
    assert_eq!((status, &again), (200, &result));

    // A blocking request for a failed flare is answered with 502, with the same body as for a
    // successful one.
    let request = post(r#"{"size":2,"params":{"how":"panic","who":1}}"#);
    let (status, flare) = curl(&platform, &request, "bursts/work?blocking=true");
    assert_eq!(
        (status, &flare["state"]),
        (502, &json!("failed")),
        "{flare}"
    );
    assert_eq!(flare["error"]["worker"], 1, "{flare}");

    let (status, _) = curl(&platform, "--request DELETE", "bursts/work");
    assert_eq!(status, 200);
    let (status, _) = curl(&platform, "", "bursts/work");
    assert_eq!(status, 404);
}

#[test]
fn a_running_flare_is_cancelled() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    failing::deploy(&platform);
    let request = post(r#"{"size":4,"params":{"how":"hold","millis":600000},"timeout":600000}"#);
    let (status, accepted) = curl(&platform, &request, "bursts/failing");
    assert_eq!(status, 202, "{accepted}");
    let id = accepted["flareId"].as_str().unwrap();
    platform.api().all_wrote(id, failing::MARK);
    let (status, answer) = curl(&platform, "--request DELETE", &format!("flares/{id}"));
    assert_eq!((status, &answer["flareId"]), (202, &json!(id)));
    assert_eq!(platform.api().ended(id).state, "cancelled");
    let (status, _) = curl(&platform, "--request DELETE", &format!("flares/{id}"));
    assert_eq!(status, 409);
    wait::until_seen(
        "slots are free",
        wait::SOON,
        || platform.api().free_slots(),
        |n| *n == 8,
    );
}

#[test]
fn public_endpoints_need_no_credentials() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let api = platform.api();
    for path in ["ping", "metrics", "api/v1/openapi.yaml"] {
        let output = shell(
            &platform,
            &format!("curl --silent --fail \"$APIHOST/{path}\""),
        );
        assert!(!output.is_empty(), "{path} says nothing");
    }
    assert!(api.base().starts_with("http://127.0.0.1:"));
}
