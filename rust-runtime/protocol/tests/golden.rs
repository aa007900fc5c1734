//! Checks that the golden copies of wire messages, which the Scala side reads as well, pass through
//! these types unchanged, that there is one of each event, and that the names and numbers shared by
//! both sides match their golden copy.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use burst_protocol::{
    CONCURRENCY, Failure, FailureKind, LOG_LIMIT, MESSAGE, OPERATION_NAME, OutputEvent, PHASES,
    PackEvent, RUNTIME, RunPack, START_STEPS, Timestamp, VERSION_HEADER, VERSIONS_HEADER, WORK,
};
use serde::de::value::Error;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserializer, Serialize, forward_to_deserialize_any};
use serde_json::{Value, json};

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

/// Returns the names of an enum's variants on the wire, as its `Deserialize` lists them.
fn variants<E: DeserializeOwned>() -> &'static [&'static str] {
    struct Expected<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Expected<'_> {
        type Error = Error;

        fn deserialize_enum<V: Visitor<'de>>(
            self,
            _: &'static str,
            variants: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Error> {
            *self.0 = variants;
            Err(Error::custom("there is no value"))
        }

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            Err(Error::custom("it is no enum"))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier
            ignored_any
        }
    }

    let mut variants: &[&str] = &[];
    assert!(E::deserialize(Expected(&mut variants)).is_err());
    variants
}

/// Defines the names of all events; the compiler rejects a list with one missing.
macro_rules! names_of_events {
    ($($event:ident: $name:literal,)*) => {
        const EVENTS: &[&str] = &[$($name),*];

        fn name_of(event: &PackEvent) -> &'static str {
            match event {
                $(PackEvent::$event { .. } => $name,)*
            }
        }
    };
}

names_of_events! {
    Ready: "ready",
    WorkerStarted: "worker-started",
    Phase: "phase",
    Log: "log",
    WorkerSucceeded: "worker-succeeded",
    WorkerFailed: "worker-failed",
    PackEnded: "pack-ended",
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
        assert_eq!(written["event"], name_of(&event));
        seen.insert(name_of(&event));
    }
    assert_eq!(seen, EVENTS.iter().copied().collect());
}

#[test]
fn failures() {
    for name in ["failure.json", "failure-anonymous.json"] {
        let files = golden(name);
        survives::<Failure>(name, &files[0].1);
    }
    let (name, kinds) = &golden("failure-kinds.json")[0];
    survives::<Vec<FailureKind>>(name, kinds);
    let kinds: Vec<String> = serde_json::from_str(kinds).unwrap();
    assert_eq!(kinds, variants::<FailureKind>());
}

#[test]
fn names_and_numbers_of_both_sides() {
    let (_, text) = &golden("constants.json")[0];
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        json!({
            "versions": RUNTIME,
            "versionsHeader": VERSIONS_HEADER,
            "versionHeader": VERSION_HEADER,
            "concurrency": CONCURRENCY,
            "logLimit": LOG_LIMIT,
            "phases": PHASES,
            "message": MESSAGE,
            "operationName": OPERATION_NAME,
            "work": WORK,
            "startSteps": START_STEPS,
        })
    );
}

#[test]
fn outputs_as_the_invoker_receives_them() {
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
