//! `burst new`: a crate with a work function and its test.

use std::fs;
use std::io;
use std::path::Path;

use crate::args::NewArgs;
use crate::error::Error;
use crate::output;
use crate::sdk::Sdk;

const MAIN: &str = include_str!("../../template/main.rs");

/// Names that a crate cannot have: those of its dependencies, and of the standard library.
const TAKEN: [&str; 9] = [
    "burst",
    "burst-bcm",
    "burst-compute",
    "burst-protocol",
    "serde",
    "std",
    "core",
    "alloc",
    "test",
];

/// The directories that cargo makes beside the programs that it builds, which a program cannot be named like.
const DIRECTORIES: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// Makes the crate.
pub fn run(args: &NewArgs) -> Result<(), Error> {
    let path = &args.path;
    let name = name(path)?;
    let manifest = manifest(name, &Sdk::find(args.sdk.as_deref())?)?;
    fs::create_dir(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::AlreadyExists => Error::Usage(format!("{} exists already", path.display())),
        _ => Error::file("make", path)(cause),
    })?;
    let written = write(path, &manifest);
    if written.is_err() {
        // What was made so far would be in the way of the next attempt.
        let _ = fs::remove_dir_all(path);
    }
    written?;
    output::line(&format!("ok: made the crate {}", path.display()))?;
    let shown = path.display().to_string();
    output::next(&[&format!(
        "`cargo test` in {0}, then `burst run {0} --size 4 --param name=World`",
        output::word(&shown)
    )]);
    Ok(())
}

/// Writes the files of a crate into its empty directory.
fn write(path: &Path, manifest: &str) -> Result<(), Error> {
    let source = path.join("src");
    fs::create_dir(&source).map_err(Error::file("make", &source))?;
    for (file, text) in [
        ("Cargo.toml", manifest),
        ("src/main.rs", MAIN),
        (".gitignore", "/target\n"),
    ] {
        let file = path.join(file);
        fs::write(&file, text).map_err(Error::file("write", &file))?;
    }
    Ok(())
}

/// The crate's name, which becomes the definition's.
fn name(path: &Path) -> Result<&str, Error> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'));
    if !is_name {
        return Err(Error::Usage(format!(
            "\"{}\" cannot name a crate: take letters, digits, - and _, a letter first",
            path.display()
        )));
    }
    if TAKEN.contains(&name) {
        return Err(Error::Usage(format!(
            "a crate {name} would be mistaken for the library of that name: take another name"
        )));
    }
    if DIRECTORIES.contains(&name) {
        return Err(Error::Usage(format!(
            "cargo has a directory {name} where it builds, and takes no program of that name: take another name"
        )));
    }
    Ok(name)
}

fn manifest(name: &str, sdk: &Sdk) -> Result<String, Error> {
    let (rust, dependency) = (env!("CARGO_PKG_RUST_VERSION"), sdk.dependency()?);
    Ok(format!(
        "\
[package]
name = \"{name}\"
version = \"0.1.0\"
edition = \"2024\"
rust-version = \"{rust}\"
publish = false

[dependencies]
{dependency}
serde = {{ version = \"1\", features = [\"derive\"] }}

[profile.release]
# The program is uploaded: backtraces keep their names, the rest would be ten times the code.
strip = \"debuginfo\"

# Of no workspace that it may lie in.
[workspace]
"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn crate_names_are_validated() {
        for good in ["hello", "my-sort_2", "some/where/hello", "hello/"] {
            assert!(name(Path::new(good)).is_ok(), "{good}");
        }
        let bad = ["", ".", "/", "2nd", "-x", "a b", "é"];
        for bad in bad.into_iter().chain(TAKEN).chain(DIRECTORIES) {
            assert!(name(Path::new(bad)).is_err(), "{bad}");
        }
    }
}
