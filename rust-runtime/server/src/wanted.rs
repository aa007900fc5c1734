//! What packages of interpreted languages want installed before they run, and do not bring. Launchers install it where
//! they are told to, which is where the pack alone writes: in a copy of the package.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::kind::Language;

/// Why what a package wants cannot be installed. Nothing else is wrong with it: it may do without.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotInstalled {
    /// Others would see it, or change it.
    #[error(
        "what the package wants installed needs a copy of it, and the pack has no temporary directory of its own"
    )]
    Shared,
    /// It does not fit.
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

/// Bytes of a `package.json` that are looked at.
const MANIFEST: u64 = 1 << 20;

/// Whether a package in this language names what it needs, and has none of it.
pub(crate) fn is_wanted(language: &Language, directory: &Path) -> bool {
    match language {
        Language::Python(_) => {
            directory.join("requirements.txt").is_file() && !directory.join("virtualenv").is_dir()
        }
        Language::Nodejs => !directory.join("node_modules").exists() && has_dependencies(directory),
    }
}

/// What cannot be read wants nothing: Node says what is wrong with it.
fn has_dependencies(directory: &Path) -> bool {
    #[derive(Deserialize)]
    struct Manifest {
        dependencies: Map<String, Value>,
    }
    let Ok(file) = File::open(directory.join("package.json")) else {
        return false;
    };
    let manifest: Result<Manifest, _> = serde_json::from_reader(file.take(MANIFEST));
    manifest.is_ok_and(|manifest| !manifest.dependencies.is_empty())
}

/// Copies what is in a directory to another one, in which all may be changed, as it could not be before.
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
    fn what_is_brought_is_not_wanted() {
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
        assert!(!wants(&python, &[requirements, ("virtualenv/lib/x", "")]));
        let node = |text| wants(&Language::Nodejs, &[("package.json", text)]);
        assert!(node(r#"{"dependencies": {"x": "1"}}"#));
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
