//! The dependencies that packages of interpreted languages name but do not contain. If asked to, launchers install them
//! where only the pack writes: in a copy of the package.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::kind::Language;

/// Why a package's dependencies cannot be installed. Nothing else is wrong with it: it may do without them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotInstalled {
    /// Others would see the copy, or change it.
    #[error(
        "what the package wants installed needs a copy of it, and the pack has no temporary directory of its own"
    )]
    Shared,
    /// There is no room for the copy.
    #[error(
        "what the package wants installed needs a copy of it, for which there is no room in the pack's temporary directory"
    )]
    NoRoom,
    /// The file system failed.
    #[error("what the package wants installed needs a copy of it, which cannot be made: {0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for NotInstalled {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoRoom,
            _ => Self::Io(error),
        }
    }
}

/// How many bytes of a `package.json`, or of Python's `requirements.txt`, are read.
const MANIFEST: u64 = 1 << 20;

/// Returns whether a package in this language names dependencies, and contains none of them.
pub(crate) fn is_wanted(language: &Language, directory: &Path) -> bool {
    match language {
        Language::Python(_) => {
            !directory.join("virtualenv").is_dir() && has_requirements(directory)
        }
        Language::Nodejs => !directory.join("node_modules").exists() && has_dependencies(directory),
    }
}

fn has_requirements(directory: &Path) -> bool {
    let is_one =
        |line: &[u8]| !line.trim_ascii().is_empty() && !line.trim_ascii().starts_with(b"#");
    let text = head_of(&directory.join("requirements.txt"));
    text.is_some_and(|text| text.split(|byte| *byte == b'\n').any(is_one))
}

/// Returns the first megabyte of a file, without the byte order mark with which editors on Windows begin a text.
fn head_of(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MANIFEST).read_to_end(&mut text).ok()?;
    Some(match text.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => rest.to_vec(),
        None => text,
    })
}

/// Returns whether a manifest names dependencies. One that cannot be read names none: Node reports what is wrong with
/// it.
fn has_dependencies(directory: &Path) -> bool {
    #[derive(Deserialize)]
    struct Manifest {
        dependencies: Map<String, Value>,
    }
    let text = head_of(&directory.join("package.json"));
    let manifest = text.and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
    manifest.is_some_and(|manifest| !manifest.dependencies.is_empty())
}

/// Copies a directory's contents to another one, and makes all of them writable.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (path, target) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        // A package has no links.
        let about = path.symlink_metadata()?;
        if about.is_dir() {
            fs::create_dir(&target)?;
            copy(&path, &target)?;
        } else if about.is_file() {
            let mode = about.permissions().mode() & 0o755 | 0o600;
            let mut file = File::options()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(target)?;
            io::copy(&mut File::open(path)?, &mut file)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dependencies_in_the_package_are_not_wanted() {
        let wants = |language: &Language, files: &[(&str, &str)]| {
            let directory = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = directory.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            is_wanted(language, directory.path())
        };
        let requirements = ("requirements.txt", "x");
        let python = Language::Python(None);
        assert!(wants(&python, &[requirements]));
        assert!(!wants(&python, &[("__main__.py", "")]));
        assert!(wants(
            &python,
            &[("requirements.txt", "\u{feff}# of ours\r\n\r\nx")]
        ));
        assert!(!wants(
            &python,
            &[("requirements.txt", "\n \r\n  # nothing\n")]
        ));
        assert!(!wants(&python, &[requirements, ("virtualenv/lib/x", "")]));
        let node = |text| wants(&Language::Nodejs, &[("package.json", text)]);
        assert!(node(r#"{"dependencies": {"x": "1"}}"#));
        assert!(node("\u{feff}{\"dependencies\": {\"x\": \"1\"}}"));
        for nothing in [
            "{}",
            "[",
            r#"{"dependencies": {}}"#,
            r#"{"dependencies": ["x"]}"#,
        ] {
            assert!(!node(nothing), "{nothing}");
        }
        let brought = [
            ("package.json", r#"{"dependencies": {"x": "1"}}"#),
            ("node_modules/x/index.js", ""),
        ];
        assert!(!wants(&Language::Nodejs, &brought));
    }

    #[test]
    fn a_copy_can_be_written_to_and_has_no_links() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir_all(from.join("deep/er")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("deep/er/file"), "text").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        fs::set_permissions(from.join("deep/er/file"), fs::Permissions::from_mode(0o555)).unwrap();
        fs::set_permissions(from.join("deep/er"), fs::Permissions::from_mode(0o555)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("deep/er/file")).unwrap(), b"text");
        assert_eq!(mode(&to.join("deep/er/file")), 0o755);
        assert_eq!(mode(&to.join("deep/er")) & 0o700, 0o700);
        assert!(!to.join("link").exists());
    }
}
