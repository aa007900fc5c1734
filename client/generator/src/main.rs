//! Writes what of the client is made from the API's description. A test fails when it is not what is there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod document;
mod model;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use document::Document;

const SELF: &str = "cargo run -p burst-client-generator";

fn main() {
    for (path, source) in generated() {
        fs::write(path, source).unwrap();
    }
}

/// The files, and what is to be in them.
fn generated() -> [(PathBuf, String); 2] {
    let document = Document::read();
    let sources = [
        ("model.rs", model::generate(&document)),
        ("calls.rs", calls::generate(&document)),
    ];
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    sources.map(|(file, source)| {
        let head = format!("// Made from openapi.yaml: `{SELF}` makes it anew.\n\n");
        (client.join(file), formatted(&(head + &source)))
    })
}

fn formatted(source: &str) -> String {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt");
    let mut input = rustfmt.stdin.take().unwrap();
    input.write_all(source.as_bytes()).unwrap();
    drop(input);
    let output = rustfmt.wait_with_output().unwrap();
    assert!(output.status.success(), "not Rust:\n{source}");
    String::from_utf8(output.stdout).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_what_the_description_says() {
        for (path, source) in generated() {
            assert!(
                fs::read_to_string(&path).unwrap() == source,
                "{} is not what openapi.yaml says: run `{SELF}`",
                path.display()
            );
        }
    }
}
