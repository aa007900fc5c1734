//! `burst new`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{BURST, Burst, Ran};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn a_crate_that_cannot_be_written_is_not_left_behind() {
    let burst = Burst::alone();
    // Writing to a file fails as on a full disk.
    let mut full = burst.command_of(
        "sh",
        &[
            "-c",
            "trap '' XFSZ; ulimit -f 0; exec \"$0\" new greet",
            BURST,
        ],
    );
    let ran = Ran::from(full.output().unwrap());
    assert!(ran.fails(2).contains("Cargo.toml"), "{ran:?}");
    assert!(!burst.home().join("greet").exists());
    burst.run(&["new", "greet"]).ok();
}

#[test]
fn a_new_crate_passes_its_test() {
    let burst = Burst::alone();
    // The program under test is in the checkout and finds the SDK there.
    let made = burst.run(&["new", "greet"]).ok();
    assert_eq!(made, "ok: made the crate greet\n");
    let root = burst.home().join("greet");
    // With this lock file the test needs no network, and the SDK is compiled only once for this test and the
    // crates that the whole-system tests deploy.
    fs::copy(repository().join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["test", "--release", "--offline"])
        .current_dir(&root)
        .env("CARGO_TARGET_DIR", repository().join("target/users"))
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    let tested = cargo.output().unwrap();
    let output = String::from_utf8_lossy(&tested.stdout);
    assert!(tested.status.success(), "{tested:?}");
    assert!(output.contains("every_worker_greets ... ok"), "{output}");
    assert_eq!(
        fs::read_to_string(root.join(".gitignore")).unwrap(),
        "/target\n"
    );
}

#[test]
fn a_named_checkout_provides_the_sdk() {
    let burst = Burst::alone();
    burst.file(
        "there/rust-runtime/sdk/Cargo.toml",
        "[package]\nname = \"burst-compute\"\n",
    );
    burst.run(&["new", "hello", "--sdk", "there"]).ok();
    let manifest = fs::read_to_string(burst.home().join("hello/Cargo.toml")).unwrap();
    let sdk = burst
        .home()
        .canonicalize()
        .unwrap()
        .join("there/rust-runtime/sdk");
    let expected = format!("package = \"burst-compute\", path = \"{}\"", sdk.display());
    assert!(manifest.contains(&expected), "{manifest}");
}

#[test]
fn a_distribution_provides_the_sdk() {
    let burst = Burst::alone();
    let own = burst.executable("dist/bin/burst", crate::program::BURST);
    let sdk = "dist/share/burst/rust-runtime/sdk";
    burst.file(
        &format!("{sdk}/Cargo.toml"),
        "[package]\nname = \"burst-compute\"\n",
    );
    let mut command = Command::new(own);
    command.args(["new", "hello"]).current_dir(burst.home());
    crate::program::Ran::from(command.output().unwrap()).ok();
    let manifest = fs::read_to_string(burst.home().join("hello/Cargo.toml")).unwrap();
    let sdk = burst.home().canonicalize().unwrap().join(sdk);
    assert!(manifest.contains(sdk.to_str().unwrap()), "{manifest}");
}

#[test]
fn without_a_checkout_the_sdk_must_be_given() {
    let burst = Burst::alone();
    let own = burst.executable("bin/burst", crate::program::BURST);
    let mut command = Command::new(own);
    command.args(["new", "hello"]).current_dir(burst.home());
    let ran = crate::program::Ran::from(command.output().unwrap());
    assert!(ran.fails(2).contains("say with --sdk"), "{ran:?}");
    assert!(!burst.home().join("hello").exists());
}

#[test]
fn existing_directories_are_kept_and_invalid_names_refused() {
    let burst = Burst::alone();
    let file = burst.file("hello/notes", "mine");
    let ran = burst.run(&["new", "hello"]);
    assert_eq!(ran.fails(2), "hello exists already");
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
    assert!(
        burst
            .run(&["new", "2nd"])
            .fails(2)
            .contains("cannot name a crate")
    );
    assert!(
        burst
            .run(&["new", "burst"])
            .fails(2)
            .contains("take another name")
    );
    let ran = burst.run(&["new", "other", "--sdk", "hello"]);
    assert!(ran.fails(2).contains("no checkout"), "{ran:?}");
}
