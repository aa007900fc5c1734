//! Packages whose dependencies have to be installed, and dependencies that are installed for all packages.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use crate::support::{Package, Runtime, end, failure, named};

const MAIN: &str = "import os, part
def main(args):
    return {'of': part.NAME, 'cwd': os.getcwd()}
";
const INDEX: &str = "const of = require('part');
exports.main = () => ({ of, cwd: process.cwd() })";

fn put(directory: &Path, files: &[(&str, &[u8])]) {
    for (name, bytes) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn package(files: &[(&str, &[u8])]) -> Package {
    let package = Package::empty();
    put(package.path(), files);
    package
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const WHEEL: &str = "part-1.0-py3-none-any.whl";

/// Returns a wheel, which needs no build step.
fn wheel() -> Vec<u8> {
    zipped(&[
        ("part.py", b"NAME = 'part'\n"),
        (
            "part-1.0.dist-info/METADATA",
            b"Metadata-Version: 2.1\nName: part\nVersion: 1.0\n",
        ),
        (
            "part-1.0.dist-info/WHEEL",
            b"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        ),
        ("part-1.0.dist-info/RECORD", b""),
    ])
}

fn of_python(requirements: &str) -> Package {
    let wheel = wheel();
    package(&[
        ("__main__.py", MAIN.as_bytes()),
        ("requirements.txt", requirements.as_bytes()),
        (WHEEL, &wheel),
        // pip must not import this instead of its own module.
        ("json.py", b"raise ValueError"),
    ])
}

fn of_node(dependencies: &str) -> Package {
    let manifest = format!(r#"{{"dependencies": {dependencies}}}"#);
    package(&[
        ("index.js", INDEX.as_bytes()),
        ("package.json", manifest.as_bytes()),
        (
            "lib/package.json",
            br#"{"name": "part", "version": "1.0.0"}"#,
        ),
        ("lib/index.js", b"module.exports = 'part'"),
    ])
}

fn with(mut runtime: Runtime, kind: &str, package: Package) -> Runtime {
    let value = json!({"path": package.path(), "kind": kind});
    let answer = runtime.post("/init", &json!({ "value": value }));
    assert_eq!(answer, (200, json!({"ok": true})), "{kind}");
    runtime.hold(package);
    runtime
}

/// A runtime with only this directory in its `PATH`, and with its own temporary directory.
fn only(path: &Path, temporary: &Path) -> Runtime {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
    command.env("PATH", path).env("TMPDIR", temporary);
    Runtime::start_with(command)
}

fn outputs(events: &[Value]) -> Vec<Value> {
    assert_eq!(end(events)["reusable"], true, "{events:?}");
    let ended = named(events, "worker-succeeded");
    ended.iter().map(|event| event["output"].clone()).collect()
}

fn files(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let below = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => 1,
    };
    entries.map(|entry| below(entry.path())).sum()
}

#[test]
fn dependencies_are_installed_once_beside_a_copy_of_the_package() {
    for (kind, package, concurrency) in [
        ("python:3", of_python(&format!("./{WHEEL}")), 1),
        ("nodejs:20", of_node(r#"{"part": "file:./lib"}"#), 1),
        ("nodejs:20", of_node(r#"{"part": "file:./lib"}"#), 2),
    ] {
        let before = files(package.path());
        for workers in [1, 3] {
            let scratch = Package::empty();
            let mut command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
            command.env("TMPDIR", scratch.path());
            let mut runtime = Runtime::start_with_scratch(command, Some(scratch.path()));
            let value = json!({"path": package.path(), "kind": kind, "concurrency": concurrency});
            assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
            let mut installed = None;
            for _ in 0..2 {
                let events = runtime.act(&vec![json!({}); workers]);
                let outputs = outputs(&events);
                assert_eq!(outputs.len(), workers, "{kind}");
                for output in outputs {
                    assert_eq!(output["of"], "part", "{kind}");
                    let cwd = Path::new(output["cwd"].as_str().unwrap());
                    assert!(cwd.starts_with(scratch.path()), "{kind}: {output}");
                }
                // The run for which the dependencies are installed logs the installation.
                let said = named(&events, "log").len();
                assert_eq!(said > 0, installed.is_none(), "{kind}: {events:?}");
                let there = files(scratch.path());
                assert_eq!(*installed.get_or_insert(there), there, "{kind}");
            }
            assert_eq!(files(package.path()), before, "{kind}");
            runtime.terminate();
            runtime.wait();
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "{kind}");
        }
    }
}

#[test]
fn a_package_that_is_sent_needs_no_copy() {
    let wheel = wheel();
    let runtime = Runtime::start();
    let sent = zipped(&[
        ("__main__.py", MAIN.as_bytes()),
        ("requirements.txt", WHEEL.as_bytes()),
        (WHEEL, &wheel),
    ]);
    let value = json!({"code": STANDARD.encode(sent), "kind": "python:3"});
    let answer = runtime.post("/init", &json!({ "value": value }));
    assert_eq!(answer, (200, json!({"ok": true})));
    assert_eq!(outputs(&runtime.act(&[json!({})]))[0]["of"], "part");
}

#[test]
fn a_failed_installation_fails_all_workers_with_its_message() {
    for (kind, package, said) in [
        (
            "python:3",
            of_python("--no-index\nnothing-of-it==1.0"),
            "requirements.txt cannot be installed: No matching distribution found for nothing-of-it==1.0",
        ),
        (
            "python:3",
            of_python("--index-url http://127.0.0.1:9/\nnothing-of-it"),
            "requirements.txt cannot be installed: pip cannot reach the index of packages, and says: ",
        ),
        (
            "nodejs:20",
            of_node(r#"{"part": "file:./nothing-of-it.tgz"}"#),
            "the dependencies of package.json cannot be installed: ",
        ),
    ] {
        for workers in [1, 2] {
            let runtime = Runtime::start();
            let value = json!({"path": package.path(), "kind": kind});
            assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
            let events = runtime.act(&vec![json!({}); workers]);
            for worker in 0..workers as u64 {
                let error = failure(&events, worker);
                let message = error["message"].as_str().unwrap();
                let begin = format!("Initialization has failed due to: {said}");
                // On a busy machine a worker may have no time to report its own failure, and reports the
                // other worker's.
                assert!(message.contains(&begin), "{kind}: {message}");
                assert!(message.contains("nothing-of-it"), "{kind}: {message}");
            }
            let log: Vec<_> = named(&events, "log")
                .iter()
                .map(|it| it["text"].to_string())
                .collect();
            assert!(log.concat().contains("nothing-of-it"), "{kind}: {log:?}");
        }
    }
}

/// Returns packages that already contain the dependencies they name.
fn complete() -> [(&'static str, Package); 2] {
    let python = of_python("--no-index\nnothing-of-it==1.0");
    put(python.path(), &[("part.py", b"NAME = 'part'")]);
    let node = of_node(r#"{"part": "file:./nothing-of-it.tgz"}"#);
    let index = INDEX.replace("'part'", "'./lib'");
    put(node.path(), &[("index.js", index.as_bytes())]);
    [("python:3", python), ("nodejs:20", node)]
}

#[test]
fn a_function_that_needs_none_runs_and_the_log_says_so_once() {
    for (kind, package) in complete() {
        for workers in [1, 3] {
            let runtime = Runtime::start();
            let value = json!({"path": package.path(), "kind": kind});
            assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
            for told in [true, false] {
                let events = runtime.act(&vec![json!({}); workers]);
                let outputs = outputs(&events);
                let of: Vec<_> = outputs.iter().map(|output| &output["of"]).collect();
                assert_eq!(of, vec!["part"; workers], "{kind}");
                let log = named(&events, "log");
                let log: String = log.iter().map(|it| it["text"].to_string()).collect();
                let said = log.contains("cannot be installed: ");
                assert_eq!(said, told, "{kind}: {log}");
            }
        }
    }
}

#[test]
fn a_pack_whose_function_misses_a_dependency_later_is_not_reused() {
    let python = of_python("--no-index\nnothing-of-it==1.0");
    let main: &[u8] = b"def main(args):\n  import part\n";
    put(python.path(), &[("__main__.py", main)]);
    let node = of_node(r#"{"part": "file:./nothing-of-it.tgz"}"#);
    let index: &[u8] = b"exports.main = async () => require('part');";
    put(node.path(), &[("index.js", index)]);
    for (kind, package) in [("python:3", python), ("nodejs:20", node)] {
        let runtime = Runtime::start();
        let value = json!({"path": package.path(), "kind": kind});
        assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
        let events = runtime.act(&[json!({})]);
        let message = failure(&events, 0)["message"].to_string();
        assert!(message.contains("cannot be installed: "), "{message}");
        assert!(message.contains("'part'"), "{message}");
        assert_eq!(end(&events)["reusable"], false, "{kind}");
    }
}

#[test]
fn other_errors_are_not_blamed_on_the_installation() {
    let python = of_python("--no-index\nnothing-of-it==1.0");
    put(python.path(), &[("__main__.py", b"def main(args) return")]);
    let nameless = of_python("--no-index\nnothing-of-it==1.0");
    put(
        nameless.path(),
        &[("__main__.py", b"def other(args): return {}")],
    );
    let node = of_node(r#"{"part": "file:./nothing-of-it.tgz"}"#);
    put(node.path(), &[("index.js", b"exports.main = () => {")]);
    for (kind, package, said) in [
        ("python:3", python, "SyntaxError"),
        ("python:3", nameless, "there is no function 'main'"),
        ("nodejs:20", node, "SyntaxError"),
    ] {
        let runtime = Runtime::start();
        let value = json!({"path": package.path(), "kind": kind});
        assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
        let events = runtime.act(&[json!({})]);
        let message = failure(&events, 0)["message"].to_string();
        assert!(message.contains(said), "{message}");
        assert!(!message.contains("cannot be installed"), "{message}");
    }
}

#[test]
fn without_a_copy_nothing_is_installed() {
    let (temporary, own) = (Package::empty(), Package::empty());
    let missing = own.path().join("missing");
    for (temporary, scratch, said) in [
        (
            temporary.path(),
            Some(own.path()),
            "no temporary directory of its own",
        ),
        (&missing, None, "cannot be made: No such file"),
    ] {
        let start = |kind: &str, package: &Package| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
            command.env("TMPDIR", temporary);
            let runtime = Runtime::start_with_scratch(command, scratch);
            let value = json!({"path": package.path(), "kind": kind});
            assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
            runtime
        };
        for (kind, package) in complete() {
            let events = start(kind, &package).act(&[json!({})]);
            let output = &outputs(&events)[0];
            assert_eq!(output["of"], "part", "{kind}");
            assert_eq!(output["cwd"], package.path().to_str().unwrap(), "{kind}");
        }
        for (kind, package) in [
            ("python:3", of_python(&format!("./{WHEEL}"))),
            ("nodejs:20", of_node(r#"{"part": "file:./lib"}"#)),
        ] {
            let before = files(package.path());
            let events = start(kind, &package).act(&[json!({})]);
            let message = failure(&events, 0)["message"].to_string();
            let begin = "Initialization has failed due to: what the package wants installed needs";
            assert!(message.contains(begin), "{kind}: {message}");
            assert!(message.contains(said), "{kind}: {message}");
            assert_eq!(files(package.path()), before, "{kind}");
        }
    }
    assert_eq!(files(temporary.path()), 0);
}

/// Returns an installation of Node with only these packages.
fn node(packages: &[(&str, &[u8])]) -> Package {
    let prefix = Package::empty();
    let bin = prefix.path().join("bin");
    fs::create_dir(&bin).unwrap();
    // Written by another process: see `support::exec_of`. If possible it is a link, because the file is
    // large.
    let link = r#"node=$(node -p process.execPath) && { ln "$node" "$1" 2>/dev/null || cp "$node" "$1"; }"#;
    let linked = Command::new("sh")
        .args(["-c", link, "sh"])
        .arg(bin.join("node"))
        .status();
    assert!(linked.unwrap().success());
    put(&prefix.path().join("lib/node_modules"), packages);
    prefix
}

#[test]
fn global_packages_of_node_are_found_last() {
    let prefix = node(&[
        ("openwhisk/index.js", b"module.exports = 'for all'"),
        ("redis/index.js", b"module.exports = 'for all'"),
    ]);
    let source = "const found = [require('openwhisk'), require('redis')];
        exports.main = () => ({ found, told: process.env.NODE_PATH ?? null })";
    for concurrency in [1, 2] {
        let runtime = only(&prefix.path().join("bin"), &std::env::temp_dir());
        let package = package(&[
            ("index.js", source.as_bytes()),
            ("node_modules/redis/index.js", b"module.exports = 'its own'"),
        ]);
        let value = json!({"path": package.path(), "kind": "nodejs", "concurrency": concurrency});
        assert_eq!(runtime.post("/init", &json!({ "value": value })).0, 200);
        for workers in [1, 2] {
            for output in outputs(&runtime.act(&vec![json!({}); workers])) {
                let expected = json!({"found": ["for all", "its own"], "told": null});
                assert_eq!(output, expected, "{workers}");
            }
        }
    }
}

#[test]
fn a_lack_of_pip_or_npm_is_reported() {
    let prefix = node(&[]);
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(prefix.path())
        .status();
    assert!(made.unwrap().success());
    let path = prefix.path().join("bin");
    for (kind, package, said) in [
        ("python", of_python(&format!("./{WHEEL}")), "has no pip"),
        (
            "nodejs",
            of_node(r#"{"part": "file:./lib"}"#),
            "there is no npm here",
        ),
    ] {
        let runtime = with(only(&path, &std::env::temp_dir()), kind, package);
        let message = failure(&runtime.act(&[json!({})]), 0)["message"].to_string();
        assert!(message.contains(said), "{kind}: {message}");
    }
}
