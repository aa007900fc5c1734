//! Interpreters that wait in pre-warmed packs: whether a new function uses one, with every driver whose packs are on
//! this machine.

use std::fs;

use burst_tests::{Api, Driver, Platform, Settings, wait};
use serde_json::{Value, json};

use crate::kinds::zip;

/// Each returns its process's start time, in hundredths of a second since boot, and proves that its whole package is
/// present.
const FUNCTIONS: [(&str, &str, &str, &str); 2] = [
    (
        "python:3",
        "__main__.py",
        "
import os, part, tempfile
def main(args):
    tempfile.TemporaryFile().close()
    words = open('/proc/self/stat').read().rsplit(')', 1)[1].split()
    return {'started': int(words[19]), 'part': part.NAME, 'cwd': os.getcwd()}
",
        "part.py",
    ),
    (
        "nodejs:default",
        "index.js",
        "
const fs = require('fs');
const { NAME } = require('./part');
exports.main = () => {
  fs.writeFileSync('/tmp/' + process.pid, '');
  fs.rmSync('/tmp/' + process.pid);
  const words = fs.readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return { started: Number(words[19]), part: NAME, cwd: process.cwd() };
};
",
        "part.js",
    ),
];

/// Hundredths of a second since boot.
fn now() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    (seconds * 100.0) as u64
}

fn a_pack_is_ready(api: &Api, warm: u32) {
    // Reported immediately, together with the fact that the pack it was is no longer pre-warmed.
    wait::until_seen(
        "it is warm",
        wait::SOON,
        || api.warm_packs(),
        |&n| n == warm,
    );
    let ready = || api.prewarmed_packs();
    wait::until_seen("a pack is pre-warmed", wait::SOON, ready, |&n| n == 1);
}

/// Runs a new function in a pre-warmed pack. Returns whether its interpreter was started before the call.
fn interpreter_was_prewarmed(api: &Api, name: &str, kind: usize) -> bool {
    let (kind, file, code, part) = FUNCTIONS[kind];
    let named = if kind.starts_with("python") {
        format!("NAME = '{name}'")
    } else {
        format!("exports.NAME = '{name}'")
    };
    let code = zip(&[(file, code), (part, &named)]);
    let body = json!({"exec": {"kind": kind, "code": code}, "limits": {"memory": 128}});
    api.put_action(name, &body);
    let asked = now();
    let flare = api.run(name, 1, &json!({}));
    assert_eq!(flare.state, "succeeded", "{name}: {flare:#?}");
    assert_eq!(flare.packs[0].start, Some("prewarmed".into()), "{name}");
    let output = &api.result(&flare.flare_id).outputs[0];
    let output: Value = output.read().unwrap().unwrap();
    assert_eq!(output["part"], name);
    assert_ne!(output["cwd"], "/", "{name}");
    output["started"].as_u64().unwrap() < asked
}

fn functions_use_prewarmed_interpreters(settings: Settings) {
    let platform = Platform::start(settings.prewarmed(1));
    let api = platform.api();
    a_pack_is_ready(api, 0);
    assert!(
        !interpreter_was_prewarmed(api, "first", 0),
        "nobody knew of what kind it is"
    );
    a_pack_is_ready(api, 1);
    assert!(interpreter_was_prewarmed(api, "second", 0));
    a_pack_is_ready(api, 2);
    assert!(
        !interpreter_was_prewarmed(api, "third", 1),
        "it is another one's"
    );
    a_pack_is_ready(api, 3);
    assert!(interpreter_was_prewarmed(api, "fourth", 1));
}

#[test]
fn functions_use_prewarmed_interpreters_in_processes() {
    functions_use_prewarmed_interpreters(Settings::new(Driver::Process));
}

#[test]
fn functions_use_prewarmed_interpreters_in_sandboxes() {
    functions_use_prewarmed_interpreters(Settings::new(Driver::Sandbox));
    functions_use_prewarmed_interpreters(Settings::new(Driver::Sandbox).as_root());
}

#[test]
fn functions_use_prewarmed_interpreters_in_containers() {
    functions_use_prewarmed_interpreters(Settings::new(Driver::Docker));
}
