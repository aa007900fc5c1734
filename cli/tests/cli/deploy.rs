//! `burst deploy`.

use std::io::{Cursor, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zip::ZipArchive;

use crate::platform::Platform;
use crate::program::Burst;
use crate::samples;

/// Returns the platform's response to `burst deploy hello`.
pub fn deployed() -> String {
    samples::definition(serde_json::json!({"name": "hello", "version": "0.0.1"})).to_string()
}

/// Returns the platform's list of invokers: one with this machine's architecture.
pub fn invokers() -> String {
    let runtime = serde_json::json!({"arch": std::env::consts::ARCH, "glibc": "2.36"});
    let invoker = samples::invoker(serde_json::json!({"runtime": runtime}));
    serde_json::json!([invoker]).to_string()
}

fn platform() -> Platform {
    let platform = Platform::start();
    platform
        .on("PUT /bursts/hello", 200, &deployed())
        .on("GET /api/v1/invokers", 200, &invokers());
    platform
}

/// Returns the executable in the last uploaded package.
fn uploaded(platform: &Platform) -> Vec<u8> {
    let request = platform.requests().pop().unwrap();
    let zip = STANDARD
        .decode(request.body["exec"]["code"].as_str().unwrap())
        .unwrap();
    let mut archive = ZipArchive::new(Cursor::new(zip)).unwrap();
    let mut file = archive.by_name("exec").unwrap();
    assert_eq!(file.unix_mode().unwrap() & 0o777, 0o755);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn an_executable_is_deployed_with_its_options() {
    let platform = platform();
    let out = Burst::of(&platform)
        .run(&[
            "deploy",
            "hello",
            "/bin/sh",
            "--granularity",
            "4",
            "--timeout",
            "90s",
            "--chunk-size",
            "1MiB",
            "--memory",
            "512",
            "--packing",
            "homogeneous",
            "--backend",
            "direct",
            "--retries",
            "2",
            "-p",
            "name",
            "Ada",
            "-p",
            "n",
            "-3",
        ])
        .ok();
    assert!(out.starts_with("ok: deployed hello 0.0.1 ("), "{out}");
    assert_eq!(uploaded(&platform), std::fs::read("/bin/sh").unwrap());
    let request = platform.requests().pop().unwrap();
    assert_eq!(request.line, "PUT /bursts/hello?overwrite=false");
    assert_eq!(request.body["exec"]["kind"], "rust");
    assert_eq!(
        request.body["config"],
        serde_json::json!({"granularity":4,"packing":"homogeneous","backend":"direct",
            "chunkSize":1048576,"timeout":90000,"memory":512,"retries":2})
    );
    assert_eq!(
        request.body["parameters"],
        serde_json::json!({"name":"Ada","n":-3})
    );
}

#[test]
fn variables_are_sent_and_secrets_are_never_arguments() {
    let platform = platform();
    let burst = Burst::of(&platform);
    burst.file("token", "hunter2\n");
    let deploy = ["deploy", "hello", "/bin/sh", "--overwrite"];
    let sent = |flags: &[&str]| {
        burst.run(&[&deploy[..], flags].concat()).ok();
        let body = platform.requests().pop().unwrap().body;
        (body["environment"].clone(), body["secrets"].clone())
    };
    let null = serde_json::Value::Null;
    assert_eq!(sent(&[]), (null.clone(), null.clone()));
    assert_eq!(
        sent(&["--env", "A=1", "--env", "B=c=d", "--secret", "T=@token"]),
        (
            serde_json::json!({"A": "1", "B": "c=d"}),
            serde_json::json!({"T": "hunter2"})
        )
    );
    assert_eq!(
        sent(&["--no-env", "--no-secret", "T", "--no-secret", "U"]),
        (
            serde_json::json!({}),
            serde_json::json!({"T": null, "U": null})
        )
    );
    let mut command = burst.command(&[&deploy[..], &["-v", "--secret", "T=-"]].concat());
    command.stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a\nb\r\n").unwrap();
    drop(input);
    let ran = crate::program::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let body = platform.requests().pop().unwrap().body;
    assert_eq!(body["secrets"], serde_json::json!({"T": "a\nb"}));

    let requests = platform.requests().len();
    for (flags, message) in [
        (&["--secret", "T=hunter2"][..], "T=@FILE"),
        (&["--secret", "T"], "no terminal"),
        (&["--secret", "T=@nowhere"], "nowhere"),
        (&["--secret", "T=@/dev/zero"], "more than 1 MiB"),
        (&["--env", "A=1", "--env", "A=2"], "A is named twice"),
        (&["--secret", "T=-", "--secret", "U=-"], "only one"),
        (&["--secret", "T=@token", "--no-secret", "T"], "named twice"),
        (&["--env", "A"], "--env A=VALUE"),
        (&["--env", "A=1", "--no-env"], "--no-env"),
    ] {
        let ran = burst.run(&[&deploy[..], flags].concat());
        assert!(matches!(ran.code, Some(1 | 2)), "{flags:?}: {ran:?}");
        assert!(ran.err.contains(message), "{flags:?}: {}", ran.err);
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    }
    assert_eq!(platform.requests().len(), requests);
}

#[test]
fn a_crate_is_built() {
    let platform = platform();
    let burst = Burst::of(&platform);
    burst.file(
        "tiny/Cargo.toml",
        "[package]\nname=\"tiny\"\nedition=\"2021\"\n[workspace]\n",
    );
    let source = burst.file(
        "tiny/src/main.rs",
        "fn main() { println!(\"tiny speaks\") }",
    );
    // Cargo finds its own directory by the real home.
    let home = std::env::var_os("HOME").unwrap_or_default();
    let build = |args: &[&str]| {
        let args = [&["deploy", "hello", "tiny", "--output", "json"], args].concat();
        let mut command = burst.command(&args);
        command
            .env("HOME", &home)
            .env("BURST_CONFIG_FILE", burst.home().join("none"));
        command.env_remove("CARGO_TARGET_DIR");
        crate::program::Ran::from(command.output().unwrap())
    };
    let out = build(&["--overwrite"]).ok();
    assert_eq!(out.trim_end(), deployed());
    assert_eq!(
        platform.lines(),
        ["GET /api/v1/invokers", "PUT /bursts/hello?overwrite=true"]
    );
    let program = burst.executable("exec", burst.file("unpacked", uploaded(&platform)));
    let output = std::process::Command::new(program).output().unwrap();
    assert_eq!(output.stdout, b"tiny speaks\n");

    std::fs::write(&source, "fn main() { nonsense }").unwrap();
    let ran = build(&["--update"]);
    assert_eq!(ran.code, Some(11), "{ran:?}");
    assert!(ran.err.contains("cannot find value `nonsense`"), "{ran:?}");
    assert!(ran.err.ends_with("error: tiny does not build\n"), "{ran:?}");
    let ran = build(&["--target", "pdp11-unknown-unix"]);
    assert_eq!(ran.code, Some(11), "{ran:?}");
    assert!(ran.err.contains("pdp11-unknown-unix"), "{ran:?}");
    for flag in ["--target=--help", "--bin=--help"] {
        let ran = build(&[flag]);
        assert!(ran.err.ends_with("error: tiny does not build\n"), "{ran:?}");
    }
    let uploads = platform.lines().into_iter();
    assert_eq!(uploads.filter(|it| it.starts_with("PUT")).count(), 1);
}

#[test]
fn a_zip_is_uploaded_unchanged() {
    let platform = platform();
    let burst = Burst::of(&platform);
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("exec", options).unwrap();
    zip.write_all(&std::fs::read("/bin/sh").unwrap()).unwrap();
    zip.start_file("model.bin", options).unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    burst.file("hello.zip", &bytes);
    burst.run(&["deploy", "hello", "hello.zip"]).ok();
    let code = platform.requests()[0].body["exec"]["code"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(STANDARD.decode(code).unwrap(), bytes);
}

#[test]
fn invalid_packages_are_not_uploaded() {
    let platform = platform();
    let burst = Burst::of(&platform);
    burst.file("script", "#!/bin/sh\n");
    burst.file("empty", "");
    burst.file("dir/readme", "");
    burst.file("broken.zip", b"PK\x03\x04nonsense");
    assert!(
        burst
            .run(&["deploy", "hello", "script"])
            .fails(11)
            .contains("not an executable")
    );
    assert!(
        burst
            .run(&["deploy", "hello", "empty"])
            .fails(11)
            .contains("is empty")
    );
    assert!(
        burst
            .run(&["deploy", "hello", "dir"])
            .fails(11)
            .contains("has no Cargo.toml")
    );
    assert!(
        burst
            .run(&["deploy", "hello", "broken.zip"])
            .fails(11)
            .contains("not a sound zip")
    );
    assert!(
        burst
            .run(&["deploy", "hello", "none"])
            .fails(2)
            .contains("cannot read none")
    );
    let huge = burst.file("huge", "");
    let huge = std::fs::File::options().write(true).open(huge).unwrap();
    huge.set_len((1 << 30) + 1).unwrap();
    let ran = burst.run(&["deploy", "hello", "huge"]);
    let refused = ran.fails(11);
    assert!(refused.contains("is larger than 1.0 GiB"), "{refused}");
    assert!(platform.requests().is_empty());
}

#[test]
fn an_existing_name_needs_overwrite() {
    let platform = Platform::start();
    platform.on(
        "PUT /bursts/hello",
        409,
        r#"{"error":"It exists.","code":"t1"}"#,
    );
    let ran = Burst::of(&platform).run(&["deploy", "hello", "/bin/sh"]);
    assert_eq!(
        ran.fails(5),
        "\"hello\" exists; pass --overwrite to replace it [t1]"
    );
}

#[test]
fn a_redeployment_keeps_options_that_are_not_given() {
    let platform = platform();
    let burst = Burst::of(&platform);
    let deploy = |more: &[&str]| {
        let args = ["deploy", "hello", "/bin/sh", "--overwrite"];
        burst.run(&[&args, more].concat()).ok();
        platform.requests().pop().unwrap().body
    };
    let body = deploy(&["--timeout", "5s"]);
    assert_eq!(body["config"], serde_json::json!({"timeout": 5000}));
    assert!(body.get("parameters").is_none(), "{body}");
    let body = deploy(&["--no-params"]);
    assert_eq!(body["parameters"], serde_json::json!({}));
    let body = deploy(&["--param", "a=1"]);
    assert_eq!(body["parameters"], serde_json::json!({"a": 1}));
    let both = [
        "deploy",
        "hello",
        "/bin/sh",
        "--no-params",
        "--param",
        "a=1",
    ];
    assert_eq!(burst.run(&both).code, Some(2));
}

#[test]
fn removing_a_missing_secret_is_reported() {
    let platform = platform();
    let with = samples::definition(serde_json::json!({"secrets": ["T"]})).to_string();
    platform.on("GET /bursts/hello", 200, &with);
    let burst = Burst::of(&platform);
    let deploy = ["deploy", "hello", "/bin/sh", "--overwrite", "--no-secret"];
    burst.run(&[&deploy[..], &["T"]].concat()).ok();
    let ran = burst.run(&[&deploy[..], &["T", "--no-secret", "NOSUCH"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.err, "hello had no secret NOSUCH to remove\n");
}

#[test]
fn a_secret_without_a_name_is_a_usage_error() {
    let ran = Burst::alone().run(&["deploy", "hello", "/bin/sh", "--secret"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let message = "a value is required for '--secret <NAME[=-|=@FILE]>'";
    assert!(ran.err.contains(message), "{ran:?}");
}

#[test]
fn a_missing_cargo_is_reported_with_where_to_get_it() {
    let platform = platform();
    let burst = Burst::of(&platform).with("CARGO", "/nowhere/cargo");
    burst.file("crate/Cargo.toml", "");
    let ran = burst.run(&["deploy", "hello", "crate"]);
    let message = ran.fails(11);
    assert!(message.contains("https://rustup.rs"), "{message}");
}
