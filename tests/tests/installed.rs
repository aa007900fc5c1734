//! The distribution: its use outside the checkout that it was built in, and its size.

use std::fs;
use std::process::Command;

use burst_tests::built;
use object::{Object, ObjectSection};

/// The limit of the runtime's code size: every container and every image contains the runtime.
const MOST_CODE: u64 = 6_000_000;

#[test]
fn the_code_size_of_the_runtime_is_bounded() {
    let bytes = fs::read(built::dist("bin/burst-runtime")).unwrap();
    let runtime = object::File::parse(&*bytes).unwrap();
    let code = runtime.section_by_name(".text").unwrap().size();
    assert!(code <= MOST_CODE, "{code} bytes");
}

/// `burst new` makes a crate whose dependencies all exist and are read correctly by cargo.
#[test]
fn a_new_crate_uses_the_sdk_of_the_distribution() {
    let directory = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .arg("-r")
        .arg(built::repository().join("dist/share"))
        .arg(directory.path())
        .status();
    assert!(copied.unwrap().success());
    fs::create_dir(directory.path().join("bin")).unwrap();
    let burst = directory.path().join("bin/burst");
    fs::copy(built::dist("bin/burst"), &burst).unwrap();

    let made = Command::new(burst)
        .args(["new", "hello"])
        .current_dir(&directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let root = directory.path().join("hello");
    // So that the test needs no network.
    fs::copy(
        built::repository().join("Cargo.lock"),
        root.join("Cargo.lock"),
    )
    .unwrap();
    // This machine's dependencies only: those of other platforms need not have been downloaded.
    let tree = Command::new("cargo")
        .args(["tree", "--offline", "--prefix=none", "--format={p}"])
        .current_dir(&root)
        .output()
        .unwrap();
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).unwrap();
    let sdk = tree
        .lines()
        .find(|line| line.starts_with("burst-compute "))
        .unwrap();
    let expected = directory.path().canonicalize().unwrap().join("share/burst");
    assert!(sdk.contains(expected.to_str().unwrap()), "{sdk}");
}
