//! Functions of each kind that this machine has an interpreter for, with every driver: alone, and as flares of several
//! packs.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use burst_client::GetActionQuery;
use burst_tests::cli::Cli;
use burst_tests::{Driver, Platform, Settings, built, read_json};
use serde_json::{Value, json};

const PYTHON: &str = "
import os, sys
from part import NAME

def main(args):
    print('worker', args['x'])
    if args['x'] == -2:
        raise ValueError('below zero')
    if args['x'] < 0:
        sys.exit(3)
    return {'twice': 2 * args['x'], 'of': NAME, 'process': os.getpid()}
";

const NODEJS: &str = "
const { NAME } = require('./part');

exports.main = async ({ x }) => {
  console.log('worker', x);
  if (x === -2) throw new Error('below zero');
  if (x < 0) process.exit(3);
  return { twice: 2 * x, of: NAME };
};
";

pub(crate) fn zip(files: &[(&str, &str)]) -> String {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(*name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    STANDARD.encode(zip.finish().unwrap().into_inner())
}

fn store(platform: &Platform, name: &str, kind: &str, code: &str) {
    let body = json!({"exec": {"kind": kind, "code": code}});
    platform.api().put_action(name, &body);
}

fn inputs(workers: i64) -> Vec<Value> {
    (0..workers).map(|worker| json!({ "x": worker })).collect()
}

/// The outputs of a flare, which must succeed.
fn outputs(platform: &Platform, name: &str, workers: i64) -> Vec<Value> {
    let body = json!({"params": inputs(workers), "granularity": 4, "packing": "homogeneous"});
    let flare = platform.api().flare_to_end(name, &body);
    assert_eq!(flare.state, "succeeded", "{name}: {flare:#?}");
    assert_eq!(flare.packs.len() as i64, (workers + 3) / 4, "{name}");
    let result = platform.api().result(&flare.flare_id);
    for worker in 0..workers as u32 {
        let lines = platform.api().logs_of(&flare.flare_id, worker).logs;
        assert!(lines.iter().any(|line| line.line.starts_with("worker")));
    }
    let read = result.outputs.iter().map(|it| it.read().unwrap().unwrap());
    read.collect()
}

fn functions(settings: Settings) {
    let platform = Platform::lent(settings);
    let part = "NAME = 'part'\n";
    let python = zip(&[("__main__.py", PYTHON), ("part.py", part)]);
    let part = "exports.NAME = 'part';\n";
    let nodejs = zip(&[("index.js", NODEJS), ("part.js", part)]);
    store(&platform, "snake", "python:3", &python);
    store(&platform, "node", "nodejs:default", &nodejs);
    for (name, workers) in [("snake", 1), ("snake", 8), ("node", 1), ("node", 8)] {
        let mut processes = BTreeSet::new();
        // The second time on warm packs.
        for _ in 0..2 {
            for (worker, output) in outputs(&platform, name, workers).iter().enumerate() {
                assert_eq!(output["twice"], 2 * worker as i64, "{name}");
                assert_eq!(output["of"], "part", "{name}");
                processes.insert(output["process"].to_string());
            }
        }
        assert!(processes.len() as i64 <= workers, "{processes:?}");
        for (x, kind, expected) in [(-1, "exit", ""), (-2, "error", "below zero")] {
            let body = json!({"params": [{"x": 1}, {"x": x}]});
            let flare = platform.api().flare_to_end(name, &body);
            assert_eq!(flare.state, "failed", "{name}");
            let error = flare.error.unwrap();
            assert!(
                error.kind == kind && error.message.contains(expected) && error.worker == Some(1),
                "{name}: {error:?}"
            );
        }
        let flare = platform.api().run(name, 1, &json!({"x": -2}));
        let error = flare.error.unwrap();
        assert!(error.message.contains("below zero"), "{name}: {error:?}");
        // An activation's result reports it, as with OpenWhisk.
        let invoked = platform.api().invoke_for_result(name, &json!({"x": -2}));
        assert_eq!(invoked.status, 502, "{name}: {}", invoked.text);
        assert!(invoked.text.contains("below zero"), "{}", invoked.text);
    }
}

/// Like OpenWhisk's skeleton (`--native`): a plain script, and one in a zip.
fn executables(settings: Settings) {
    let platform = Platform::lent(settings);
    let script = "#!/bin/sh\necho first $1\necho '{\"ran\": true}'\n";
    // With tools, one of which is a link to another.
    let bash = "#!/usr/bin/env bash\necho \"first $1\" | cat\nawk 'BEGIN {print \"{\\\"ran\\\": true}\"}'\n";
    let zipped = zip(&[("exec", bash)]);
    for (name, code) in [("script", script), ("zipped", &zipped)] {
        let exec = json!({"kind": "blackbox", "image": "openwhisk/dockerskeleton", "code": code});
        platform.api().put_action(name, &json!({ "exec": exec }));
        for _ in 0..2 {
            let answer = platform.api().invoke(name, &json!({"x": 1})).json;
            let id = answer["activationId"].as_str().unwrap();
            let record = read_json(platform.api().client().get_activation(id));
            let text = record.to_string();
            assert_eq!(record["response"]["result"], json!({"ran": true}), "{text}");
            assert!(text.contains(r#"first {\"x\":1}"#), "{text}");
            assert!(
                text.contains(r#"{"key":"kind","value":"blackbox"}"#),
                "{text}"
            );
        }
    }
}

/// Packs these files as `npm pack` does.
fn npm_packed(files: &[(&str, &str)]) -> Vec<u8> {
    let scratch = tempfile::tempdir().unwrap();
    let package = scratch.path().join("package");
    for (name, text) in files {
        let path = package.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let tar = std::process::Command::new("tar")
        .args(["-czf", "-", "package"])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert!(tar.status.success(), "{tar:?}");
    tar.stdout
}

#[test]
fn an_npm_package_runs_and_is_returned_as_a_zip() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let packed = npm_packed(&[
        (
            "package.json",
            r#"{"name": "node", "version": "1.0.0", "main": "lib/index.js"}"#,
        ),
        ("lib/index.js", NODEJS),
        ("lib/part.js", "exports.NAME = 'part';\n"),
    ]);
    store(
        &platform,
        "node",
        "nodejs:default",
        &STANDARD.encode(&packed),
    );
    for (worker, output) in outputs(&platform, "node", 8).iter().enumerate() {
        assert_eq!(output["twice"], 2 * worker as i64, "{output}");
        assert_eq!(output["of"], "part", "{output}");
    }
    let node = platform
        .api()
        .client()
        .get_action("node", &GetActionQuery::default());
    let code = read_json(node)["exec"]["code"].clone();
    let zip = STANDARD.decode(code.as_str().unwrap()).unwrap();
    let zip = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
    let names: BTreeSet<_> = zip.file_names().map(Result::unwrap).collect();
    let expected = ["lib/", "lib/index.js", "lib/part.js", "package.json"];
    assert_eq!(names, expected.map(Into::into).into());
    // Through the command line, as a file.
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("node-1.0.0.tgz");
    std::fs::write(&file, &packed).unwrap();
    let cli = Cli::of(platform.api(), scratch.path());
    let file = file.to_str().unwrap();
    let created = cli.run(&["action", "create", "npm", file, "--kind", "nodejs:default"]);
    assert_eq!(created.code, Some(0), "{}", created.stderr);
    let invoked = cli.run(&["action", "invoke", "npm", "--result", "--param", "x", "21"]);
    assert_eq!(invoked.code, Some(0), "{}", invoked.stderr);
    assert!(invoked.stdout.contains("42"), "{}", invoked.stdout);
}

#[test]
fn executables_are_started_for_each_run() {
    executables(Settings::new(Driver::Process));
    executables(Settings::new(Driver::Sandbox));
}

#[test]
fn functions_run_as_processes() {
    functions(Settings::new(Driver::Process));
}

#[test]
fn functions_run_in_sandboxes() {
    functions(Settings::new(Driver::Sandbox));
    functions(Settings::new(Driver::Sandbox).as_root());
}

#[test]
fn functions_run_in_containers() {
    functions(Settings::new(Driver::Docker));
}

#[test]
fn node_functions_in_containers_find_openwhisks_packages() {
    let platform = Platform::lent(Settings::new(Driver::Docker));
    let source = "const packages = ['openwhisk', 'redis', 'uuid'];
        const main = () => ({ found: packages.map((name) => typeof require(name)) });";
    store(&platform, "packages", "nodejs:default", source);
    let flare = platform.api().run("packages", 1, &json!({}));
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    let output = &platform.api().result(&flare.flare_id).outputs[0];
    let output: Value = output.read().unwrap().unwrap();
    assert_eq!(output["found"], json!(["function", "object", "object"]));
}

#[test]
fn the_command_line_deploys_and_runs_source_files() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let scratch = tempfile::tempdir().unwrap();
    let cli = Cli::of(platform.api(), scratch.path());
    let put = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let python = "def hello(args):\n    return {'greeting': 'hello ' + args['name']}\n";
    let python = put("snake.py", python);
    let ran = cli.run(&[
        "run", &python, "--main", "hello", "--size", "3", "--param", "name=Ada",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout.matches("hello Ada").count(), 3, "{}", ran.stdout);
    // As in the README.
    let example = built::repository().join("examples/python/hello.py");
    let example = example.to_str().unwrap();
    let greeted = cli.run(&["run", example, "--size", "2", "--param", "name=Ada"]);
    assert_eq!(
        greeted.stdout.matches("Hello, Ada").count(),
        2,
        "{}",
        greeted.stderr
    );
    let nodejs = put("node.js", "exports.main = ({ name }) => ({ name });\n");
    let deployed = cli.run(&[
        "deploy", "node", &nodejs, "--kind", "nodejs", "--memory", "128M",
    ]);
    assert_eq!(deployed.code, Some(0), "{}", deployed.stderr);
    let flared = cli.run(&[
        "flare", "node", "--size", "2", "--param", "name=Bob", "--result",
    ]);
    assert_eq!(flared.code, Some(0), "{}", flared.stderr);
    assert_eq!(flared.stdout.matches("Bob").count(), 2, "{}", flared.stdout);
    for (arguments, expected) in [
        (
            vec!["deploy", "x", &python, "--kind", "cobol"],
            "must be one of",
        ),
        (vec!["deploy", "x", &python, "--target", "x"], "--target"),
        (
            vec![
                "deploy",
                "x",
                scratch.path().to_str().unwrap(),
                "--kind",
                "python",
            ],
            "zip code in",
        ),
    ] {
        let refused = cli.run(&arguments);
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}
