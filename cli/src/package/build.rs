//! Building a crate's binary with cargo.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use burst_client::Client;
use cargo_metadata::{Message, MetadataCommand};

use crate::args::BuildArgs;
use crate::error::Error;
use crate::package::error::PackageError;
use crate::package::target;
use crate::progress::Progress;

/// Builds the crate for release, for the client's platform, and returns the path of its executable.
pub fn run(dir: &Path, args: &BuildArgs, client: &Client, verbose: bool) -> Result<PathBuf, Error> {
    if !dir.join("Cargo.toml").is_file() {
        return Err(PackageError::NoManifest(dir.to_owned()).into());
    }
    let target = target::choose(args.target.as_deref(), client)?;
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--release",
        "--message-format=json-render-diagnostics",
    ]);
    cargo
        .args(args.bin.iter().map(|name| format!("--bin={name}")))
        .current_dir(dir);
    if let Some(target) = &target {
        cargo.arg(format!("--target={target}"));
        target::set_linker(&mut cargo, target);
    }
    cargo.stderr(if verbose {
        Stdio::inherit()
    } else {
        Stdio::piped()
    });
    let progress = Progress::spinner(format!("building {}", dir.display()), verbose);
    let built = cargo.output().map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => PackageError::NoCargo,
        _ => PackageError::Cargo(cause),
    })?;
    drop(progress);
    if !built.status.success() {
        // In verbose mode cargo has already shown its messages, and this is empty.
        let _ = io::stderr().write_all(&built.stderr);
        return Err(PackageError::DoesNotBuild(dir.to_owned()).into());
    }
    let found = executables(&built.stdout)?;
    let default = if found.len() > 1 {
        default_run(dir)?
    } else {
        None
    };
    choose(dir, found, default.as_deref())
}

/// The binary the crate's manifest names as `default-run`.
fn default_run(dir: &Path) -> Result<Option<String>, Error> {
    let manifest = dir.join("Cargo.toml").canonicalize()?;
    let metadata = MetadataCommand::new()
        .manifest_path(&manifest)
        .no_deps()
        .exec()
        .map_err(PackageError::Metadata)?;
    Ok(metadata
        .packages
        .into_iter()
        .find(|package| package.manifest_path == manifest)
        .and_then(|package| package.default_run))
}

/// Name and path of each binary cargo built.
fn executables(messages: &[u8]) -> Result<Vec<(String, PathBuf)>, PackageError> {
    let mut found = Vec::new();
    for message in Message::parse_stream(messages) {
        if let Message::CompilerArtifact(artifact) = message.map_err(PackageError::Messages)?
            && artifact.target.is_bin()
            && let Some(path) = artifact.executable
        {
            found.push((artifact.target.name, path.into_std_path_buf()));
        }
    }
    Ok(found)
}

fn choose(
    dir: &Path,
    mut found: Vec<(String, PathBuf)>,
    default: Option<&str>,
) -> Result<PathBuf, Error> {
    if let Some(default) = default {
        found.retain(|(name, _)| name == default);
    }
    if found.len() > 1 {
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::Usage(format!(
            "{} has several binaries ({}); choose one with --bin",
            dir.display(),
            names.join(", ")
        )));
    }
    match found.pop() {
        Some((_, path)) => Ok(path),
        None => Err(PackageError::NoBinary(dir.to_owned()).into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_single_binary_is_chosen_and_several_need_a_name() {
        let dir = Path::new("crate");
        let bin = |name: &str| (name.to_owned(), PathBuf::from(name));
        assert_eq!(choose(dir, vec![bin("a")], None).unwrap(), Path::new("a"));
        assert!(
            choose(dir, vec![], None)
                .unwrap_err()
                .to_string()
                .contains("no binary")
        );
        let error = choose(dir, vec![bin("a"), bin("b")], None).unwrap_err();
        assert!(error.to_string().contains("(a, b)"));
        let both = vec![bin("a"), bin("b")];
        assert_eq!(choose(dir, both, Some("b")).unwrap(), Path::new("b"));
    }
}
