//! Launchers: programs of the platform that speak to the runtime for functions that cannot, instead of a package's own
//! `exec`.
//!
//! An interpreter reads its launcher from standard input, up to its end: nothing has to be installed beside the
//! runtime, and a launcher always has its runtime's version. Once it is up, it receives the name and the directory of
//! its function.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::kind::Language;
use crate::{launched, limits};

// Each launcher is in several parts, the last of which starts it.
const PYTHON: &str = concat!(
    include_str!("../../launchers/python/control.py"),
    include_str!("../../launchers/python/function.py"),
    include_str!("../../launchers/python/serve.py"),
);
const NODEJS: &str = concat!(
    include_str!("../../launchers/nodejs/control.js"),
    include_str!("../../launchers/nodejs/function.js"),
    include_str!("../../launchers/nodejs/install.js"),
    include_str!("../../launchers/nodejs/serve.js"),
);

/// The function that is called if none is named.
pub(crate) const MAIN: &str = "main";

/// The search path for interpreters if the environment has none.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Why a launcher cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LauncherError {
    /// The interpreter is not installed here.
    #[error(
        "there is no `{0}` here on the PATH, which runs programs of this kind: install it, or use an image that has it"
    )]
    NoInterpreter(&'static str),
    /// The launcher cannot be passed to the interpreter.
    #[error("the launcher cannot be started: {0}")]
    Io(#[from] io::Error),
}

/// Returns the families of programs for which an interpreter is installed here.
pub(crate) fn interpreted() -> impl Iterator<Item = &'static str> {
    [
        ("nodejs", Language::Nodejs),
        ("python", Language::Python(None)),
    ]
    .into_iter()
    .filter(|(_, language)| interpreter(language).is_ok())
    .map(|(family, _)| family)
}

/// Returns the command that starts the launcher of a language, in a directory that always exists and holds nobody's
/// files. Blocks on file I/O.
pub(crate) fn script(language: &Language) -> Result<Command, LauncherError> {
    let mut command = Command::new(interpreter(language)?);
    command.arg("-").current_dir("/");
    command.stdin(Stdio::from(file_of(&text(language))?));
    Ok(command)
}

/// Returns the text of a launcher, preceded by what it has in common with the runtime: numbers, strings and lists of
/// JSON are values in either language (`true`, `false` and `null` are not in Python).
fn text(language: &Language) -> String {
    let (declaration, launcher) = match language {
        Language::Python(_) => ("RUNTIME", PYTHON),
        Language::Nodejs => ("'use strict'; const RUNTIME", NODEJS),
    };
    let common = json!({
        "dyingSignals": limits::DYING_SIGNALS,
        "lineCost": burst_protocol::LINE_COST,
        "logLimit": burst_protocol::LOG_LIMIT,
        "messageLimit": burst_protocol::MESSAGE,
        "noResult": launched::NO_RESULT,
        "outputLimit": burst_protocol::OUTPUT_LIMIT,
    });
    format!("{declaration} = {common}\n{launcher}")
}

/// Returns the command that starts the launcher of an executable that speaks the action loop.
pub(crate) fn action_loop(exec: &Path) -> Result<Command, LauncherError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("action-loop").arg(exec);
    Ok(command)
}

/// Returns the command that starts the launcher of an executable that is started for each run, as OpenWhisk's skeleton
/// does.
pub(crate) fn skeleton(exec: &Path) -> Result<Command, LauncherError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("skeleton").arg(exec);
    Ok(command)
}

/// Returns the command that starts the launcher of the image that this runs in, for this function of its code.
pub(crate) fn image(main: &str) -> Result<Command, LauncherError> {
    // In somebody else's image a loader of our own has started this process, and has to start the new one as well.
    let said = std::fs::read("/proc/self/cmdline")?;
    let words = said.split(|&byte| byte == 0).map(OsStr::from_bytes);
    let mut words = words.take_while(|word| *word != "serve");
    let own = words
        .next()
        .ok_or(io::Error::from(io::ErrorKind::NotFound))?;
    let mut command = Command::new(own);
    command.args(words).args(["image", main]);
    command.stdin(Stdio::null());
    Ok(command)
}

/// Makes a file in memory, to be read from its beginning.
fn file_of(text: &str) -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("launcher", flags)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn interpreter(language: &Language) -> Result<PathBuf, LauncherError> {
    let (exact, general) = match language {
        Language::Python(version) => (version.as_ref().map(|it| format!("python{it}")), "python3"),
        Language::Nodejs => (None, "node"),
    };
    let path = std::env::var_os("PATH").unwrap_or_else(|| SEARCH_PATH.into());
    let directories: Vec<_> = std::env::split_paths(&path).collect();
    let names = exact.iter().map(String::as_str).chain([general]);
    find(names, &directories).ok_or(LauncherError::NoInterpreter(general))
}

/// Returns the first binary with one of these names. Version managers put a script before an interpreter, which takes
/// longer than the interpreter itself and fails for a version that is not installed: a script is only used if there is
/// no binary, the least exact name first.
fn find<'a>(
    names: impl DoubleEndedIterator<Item = &'a str> + Clone,
    directories: &[PathBuf],
) -> Option<PathBuf> {
    let found = |name: &'a str| {
        let all = directories
            .iter()
            .map(move |directory| directory.join(name));
        all.filter(|path| is_executable(path))
    };
    let binary = names.clone().flat_map(found).find(|path| is_binary(path));
    binary.or_else(|| names.rev().flat_map(found).next())
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn is_binary(path: &Path) -> bool {
    let mut head = [0; limits::ELF.len()];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut head).is_ok()) && head == limits::ELF
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn launchers_use_exactly_the_values_they_receive() {
        let handed = |language| {
            let text = text(&language);
            let (first, _) = text.split_once('\n').unwrap();
            let (_, common) = first.split_once(" = ").unwrap();
            let common: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(common).unwrap();
            common.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        let keys = handed(Language::Nodejs);
        assert_eq!(keys, handed(Language::Python(None)));
        let named = NODEJS.split("RUNTIME.").skip(1).map(|rest| {
            let end = rest.find(|next: char| !next.is_alphanumeric());
            &rest[..end.unwrap_or(rest.len())]
        });
        let subscripts = PYTHON.split("RUNTIME[\"").skip(1);
        let named = named.chain(subscripts.map(|rest| rest.split('"').next().unwrap()));
        let mut named: Vec<&str> = named.collect();
        named.sort_unstable();
        named.dedup();
        assert_eq!(named, keys);
    }

    #[test]
    fn a_binary_is_preferred_to_a_script() {
        let root = tempfile::tempdir().unwrap();
        let [shims, binaries] = ["shims", "binaries"].map(|name| root.path().join(name));
        let put = |directory: &Path, name: &str, bytes: &[u8], mode: u32| {
            fs::create_dir_all(directory).unwrap();
            let path = directory.join(name);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let script = put(&shims, "python3", b"#!/bin/sh", 0o755);
        put(&shims, "node", b"\x7fELF", 0o644);
        let directories = [shims, binaries.clone()];
        let python = || find(["python3.10", "python3"].into_iter(), &directories);
        assert_eq!(python(), Some(script));
        let of_a_version = put(&directories[0], "python3.10", b"#!/bin/sh", 0o755);
        assert_ne!(python(), Some(of_a_version.clone()));
        let binary = put(&binaries, "python3", b"\x7fELF...", 0o755);
        assert_eq!(python(), Some(binary));
        fs::write(&of_a_version, b"\x7fELF...").unwrap();
        assert_eq!(python(), Some(of_a_version));
        assert_eq!(find(["node"].into_iter(), &directories), None);
    }

    #[test]
    fn a_launcher_is_read_from_its_beginning() {
        let mut text = String::new();
        file_of("launch")
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "launch");
    }
}
