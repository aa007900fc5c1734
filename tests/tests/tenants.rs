//! Namespaces, as their administrator manages them with the command line.

use std::fs;
use std::path::Path;

use burst_tests::cli::Cli;
use burst_tests::disk::files_below;
use burst_tests::{Driver, Platform, Settings, built};
use serde_json::{Value, json};

const RUN: [&str; 7] = [
    "flare", "hello", "--param", "name", "World", "--result", "--size",
];

fn deploy(burst: &Cli) {
    let program = built::dist("examples/hello");
    burst
        .run(&["deploy", "hello", program.to_str().unwrap()])
        .exits(0);
}

fn names(list: &Value) -> Vec<&str> {
    let entries = list.as_array().unwrap();
    entries
        .iter()
        .filter_map(|entry| entry["name"].as_str())
        .collect()
}

#[test]
fn a_namespace_is_created_used_isolated_and_revoked() {
    let platform = Platform::start(Settings::new(Driver::Process));
    // Uses what `burst standalone` left in its data directory, including the administrator's key.
    let owner = platform
        .cli_setup()
        .properties(platform.data().join("properties"));
    let create = ["admin", "namespace", "create", "team"];
    let created = owner
        .run(&[&create[..], &["--slots", "2", "--output", "json"]].concat())
        .exits(0)
        .json();
    let auth = created["auth"].as_str().unwrap().to_owned();
    owner.run(&create).exits(5).complains_of("'team'");

    let team = platform.cli_setup().auth(&auth);
    deploy(&team);
    let size = |workers| [&RUN[..], &[workers]].concat();
    assert_eq!(
        team.run(&size("2"))
            .exits(0)
            .json()
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    team.run(&size("3"))
        .exits(6)
        .complains_of("concurrent slots");

    // Neither can see anything of the other.
    deploy(&owner);
    let flare = owner
        .run(&["flare", "hello", "--size", "1", "--param", "name", "Ada"])
        .exits(0);
    let flares = owner.run(&["flares", "--output", "json"]).exits(0).json();
    assert_eq!(flares.as_array().map(Vec::len), Some(1), "{flare:?}");
    let id = flares[0]["flareId"].as_str().unwrap();
    for verb in ["status", "result", "logs", "timeline", "cancel"] {
        team.run(&[verb, id]).exits(3);
    }
    team.run(&["delete", "hello"]).exits(0);
    owner.run(&["get", "hello"]).exits(0);

    // Users cannot administer, and administrators cannot use.
    let list = ["admin", "namespace", "list", "--admin-auth"];
    team.run(&[&list[..], &[auth.as_str()]].concat()).exits(4);

    owner
        .run(&["admin", "namespace", "revoke", "team"])
        .exits(0);
    team.run(&["list"]).exits(4);
    owner.run(&["list"]).exits(0);
    let listed = owner
        .run(&["admin", "namespace", "list", "--output", "json"])
        .exits(0)
        .json();
    assert_eq!(names(&listed), ["guest", "team"]);
    assert!(listed[1]["revoked"].is_u64(), "{listed}");
    let table = owner.run(&["admin", "namespace", "list"]).exits(0);
    assert!(table.stdout.contains("revoked"), "{table:?}");

    let again = [&create[..], &["--overwrite", "--output", "json"]].concat();
    let renewed = owner.run(&again).exits(0).json();
    let renewed = renewed["auth"].as_str().unwrap();
    assert_ne!(renewed, auth);
    let list = platform
        .cli_setup()
        .auth(renewed)
        .run(&["list", "--output", "json"]);
    assert_eq!(list.exits(0).json(), json!([]));
    team.run(&["list"]).exits(4);

    for credentials in [auth.as_str(), renewed] {
        let (_, key) = credentials.split_once(':').unwrap();
        does_not_contain(&platform.data(), key);
    }
}

/// Checks that no file below a directory holds a text.
fn does_not_contain(directory: &Path, text: &str) {
    let files = files_below(directory);
    assert!(!files.is_empty(), "nothing in {}", directory.display());
    for path in files {
        let bytes = fs::read(&path).unwrap_or_default();
        let found = bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes());
        assert!(!found, "a key is in {}", path.display());
    }
}
