//! The golden copies of the wire's messages, which the Scala side reads as well, survive these
//! types unchanged; and there is one of each.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use burst_protocol::{Failure, FailureKind, OutputEvent, PackEvent, RunPack, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Name and text of every golden file that begins with `prefix`.
fn golden(prefix: &str) -> Vec<(String, String)> {
    let directory =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../protocol/src/main/resources/golden");
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no golden file begins with {prefix}");
    files
}

fn survives<T: Serialize + DeserializeOwned>(name: &str, text: &str) -> T {
    let read: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let written: Value = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
    assert_eq!(
        written,
        serde_json::from_str::<Value>(text).unwrap(),
        "{name}"
    );
    read
}

#[test]
fn pack_requests() {
    for (name, text) in golden("run-pack") {
        let run: RunPack = survives(&name, &text);
        assert_eq!(run.check(), Ok(()), "{name}");
    }
}

#[test]
fn events() {
    let mut seen = BTreeSet::new();
    for (name, text) in golden("event-") {
        let event: PackEvent = survives(&name, &text);
        let written = serde_json::to_value(&event).unwrap();
        seen.insert(written["event"].as_str().unwrap().to_owned());
    }
    let all = ["log", "pack-ended", "phase", "ready"];
    let workers = ["worker-failed", "worker-started", "worker-succeeded"];
    assert_eq!(
        seen,
        all.into_iter().chain(workers).map(str::to_owned).collect()
    );
}

#[test]
fn failures() {
    for name in ["failure.json", "failure-anonymous.json"] {
        let files = golden(name);
        survives::<Failure>(name, &files[0].1);
    }
    let (name, kinds) = &golden("failure-kinds.json")[0];
    survives::<Vec<FailureKind>>(name, kinds);
}

#[test]
fn outputs_as_the_invoker_is_told_them() {
    for (name, event) in [
        (
            "told-output.json",
            OutputEvent::Output {
                worker: 4,
                text: r#"{"greeting":"#.into(),
            },
        ),
        (
            "told-worker-succeeded.json",
            OutputEvent::WorkerSucceeded {
                worker: 4,
                output: r#""Hello","numbers":[1,2.5,null]}"#.into(),
                at: Timestamp::from_micros(1_700_000_000_000_005),
            },
        ),
    ] {
        let (name, text) = &golden(name)[0];
        assert_eq!(survives::<OutputEvent<'_>>(name, text), event);
    }
}
