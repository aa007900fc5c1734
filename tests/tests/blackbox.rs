//! Users' own images, which follow OpenWhisk's contract for containers or do not.

use std::fs;

use burst_tests::docker::{self, docker};
use burst_tests::{Driver, Platform, Settings};
use serde_json::{Value, json};

const SERVER: &str = include_str!("blackbox/server.py");

/// An image that is removed when this value is dropped.
struct Image(String);

impl Image {
    /// Builds an image that contains the server, with these lines after the first of its Dockerfile.
    #[track_caller]
    fn new(name: &str, base: &str, lines: &str) -> Self {
        docker::require();
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        put("server.py", SERVER);
        put("Dockerfile", &format!("FROM {base}\n{lines}\n"));
        let tag = format!("burst-test-{name}:{}", std::process::id());
        let place = directory.path().to_str().unwrap();
        docker(&["build", "--quiet", "--tag", &tag, place]);
        Self(tag)
    }

    /// Builds an image that serves, through a shell as is common, and that tries to interfere with the runtime.
    #[track_caller]
    fn serving(name: &str, act: &str) -> Self {
        let lines = format!(
            "COPY server.py /srv/server.py\nENV ACT=\"{act}\" OF_THE_IMAGE=yes LD_PRELOAD=/srv/none.so\n\
             WORKDIR /srv\nVOLUME /data\nENTRYPOINT [\"/usr/bin/python3\"]\nCMD [\"server.py\"]"
        );
        Self::new(name, "burst-runtime:latest", &lines)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        docker::remove_image(&self.0);
    }
}

#[track_caller]
fn store(platform: &Platform, name: &str, image: &Image, code: Option<&str>) {
    let mut exec = json!({"kind": "blackbox", "image": image.0});
    if let Some(code) = code {
        exec["code"] = json!(code);
    }
    let body = json!({
        "exec": exec,
        "limits": {"timeout": 120_000},
        "parameters": [{"key": "GIVEN", "value": "at the start", "init": true}],
    });
    platform.api().put_action(name, &body);
}

/// The record of a blocking call.
#[track_caller]
fn invoke(platform: &Platform, name: &str, input: &Value, status: u16) -> Value {
    let answer = platform.api().invoke(name, input);
    assert_eq!(answer.status, status, "{name} {input}: {}", answer.text);
    serde_json::from_str(&answer.text).unwrap()
}

fn result(record: &Value) -> &Value {
    &record["response"]["result"]
}

#[test]
fn an_image_that_follows_the_contract_runs_actions() {
    let platform = Platform::lent(Settings::new(Driver::Docker));
    let image = Image::serving("keeps", "");
    store(&platform, "keeps", &image, None);
    for runs in 1..=3 {
        let record = invoke(&platform, "keeps", &json!({"x": "é"}), 200);
        let output = result(&record);
        assert_eq!(output["runs"], runs, "it stays: {output}");
        assert_eq!(output["value"], json!({"x": "é"}));
        assert_eq!(output["action"], format!("/{}/keeps", platform.namespace()));
        assert_eq!(
            (&output["place"], &output["own"]),
            (&json!("/srv"), &json!("yes"))
        );
        // The image's own program has it; the runtime would not have started with it.
        assert_eq!(output["preload"], "/srv/none.so");
        assert_eq!(output["secret"], Value::Null);
        assert!(output["user"].as_u64().unwrap() > 1_000_000, "{output}");
        let init = &output["init"];
        assert_eq!(
            (&init["name"], &init["main"]),
            (&json!("keeps"), &json!("main"))
        );
        assert_eq!(
            (&init["code"], &init["binary"]),
            (&json!(""), &json!(false))
        );
        let variables = init["env"].to_string();
        for variable in ["GIVEN", "__OW_ACTION_NAME", "__OW_DEADLINE"] {
            assert!(variables.contains(variable), "{variables}");
        }
        let id = record["activationId"].as_str().unwrap();
        let logs = platform
            .api()
            .client()
            .get_activation_logs(id)
            .unwrap()
            .into_text();
        assert!(
            logs.contains(&format!("run {runs}")) && logs.contains("complaint"),
            "{logs}"
        );
        assert!(!logs.contains("XXX_THE_END"), "{logs}");
    }
    let body = json!({"params": [{"x": 0}, {"x": 1}, {"x": 2}], "granularity": 3, "packing": "homogeneous"});
    let id = platform.api().flare("keeps", &body);
    assert_eq!(platform.api().ended(&id).state, "succeeded");
    let outputs = platform.api().result(&id).outputs;
    for (x, output) in outputs.iter().enumerate() {
        let output: Value = output.read().unwrap().unwrap();
        assert_eq!(output["value"], json!({ "x": x }));
    }
}

#[test]
fn an_image_receives_the_code_of_its_action() {
    let platform = Platform::lent(Settings::new(Driver::Docker));
    let image = Image::serving("takes", "");
    store(&platform, "text", &image, Some("print('é')"));
    let record = invoke(&platform, "text", &json!({}), 200);
    let init = &result(&record)["init"];
    assert_eq!(
        (&init["code"], &init["binary"]),
        (&json!("print('é')"), &json!(false))
    );
    let zip = super::kinds::zip(&[("a.txt", "one"), ("b/c.txt", "two")]);
    store(&platform, "zip", &image, Some(&zip));
    let record = invoke(&platform, "zip", &json!({}), 200);
    let init = &result(&record)["init"];
    assert_eq!(init["binary"], true);
    assert!(init["code"].as_str().unwrap().starts_with("UEsD"), "{init}");
}

#[test]
fn an_image_that_breaks_the_contract_fails_its_own_calls() {
    let platform = Platform::lent(Settings::new(Driver::Docker));
    let image = Image::serving("misbehaves", "");
    store(&platform, "bad", &image, None);
    for (act, expected) in [
        ("die", "exited unexpectedly"),
        ("much", "larger than 16 MiB"),
        ("endless header", "valid response"),
        ("rubbish", "valid response"),
        ("redirect", "status 302"),
        ("text", "dictionary"),
        ("error", "on purpose"),
        ("write", "exited unexpectedly|valid response"),
    ] {
        let record = invoke(&platform, "bad", &json!({ "act": act }), 502);
        let error = result(&record)["error"].to_string();
        assert!(
            expected.split('|').any(|part| error.contains(part)),
            "{act}: {error}"
        );
        assert_eq!(
            record["response"]["status"], "action developer error",
            "{act}"
        );
        let after = invoke(&platform, "bad", &json!({}), 200);
        assert_eq!(result(&after)["runs"], 1, "in another container: {after}");
    }
    let body = json!({"limits": {"timeout": 3000}});
    platform.api().put_action("bad", &body);
    let record = invoke(&platform, "bad", &json!({"act": "never"}), 502);
    assert!(
        result(&record)["error"].to_string().contains("time limit"),
        "{record}"
    );
}

#[test]
fn an_image_that_fails_to_start_reports_why() {
    let platform = Platform::lent(Settings::new(Driver::Docker));
    // An image that contains nothing at all, not even a C library, and in which the runtime still starts.
    for (name, image, expected) in [
        (
            "empty",
            Image::new("empty", "scratch", "COPY server.py /\nCMD [\"/none\"]"),
            "/none",
        ),
        (
            "none",
            Image::new("none", "scratch", "COPY server.py /"),
            "ENTRYPOINT",
        ),
        (
            "dies",
            Image::serving("dies", "die at init"),
            "exited unexpectedly",
        ),
        (
            "refuses",
            Image::serving("refuses", "refuse"),
            "no such function",
        ),
        (
            "missing",
            Image("127.0.0.1:1/none:none".to_owned()),
            "cannot be run",
        ),
    ] {
        store(&platform, name, &image, None);
        let record = invoke(&platform, name, &json!({}), 502);
        let error = result(&record)["error"].to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn a_driver_without_images_refuses_blackbox_actions() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let image = Image("example/none:at-all".to_owned());
    store(&platform, "image", &image, None);
    let record = invoke(&platform, "image", &json!({}), 502);
    let error = result(&record)["error"].to_string();
    assert!(error.contains("--driver docker"), "{error}");
}
