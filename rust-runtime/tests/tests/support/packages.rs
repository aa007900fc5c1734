//! Packages, as directories.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A package directory holding the acting program.
pub fn acts() -> Package {
    package_of(env!("CARGO_BIN_EXE_burst-runtime-test-program"))
}

/// A package directory holding this program.
pub fn package_of(program: &str) -> Package {
    let package = Package::empty();
    symlink(program, package.path().join("exec")).unwrap();
    package
}

/// A package directory holding this script, or whatever else it is.
///
/// Another process writes it. Were it open for writing in this one, a process that the test beside starts meanwhile
/// would have it open as well until it executes, and nobody can execute what is open for writing.
pub fn exec_of(bytes: &[u8]) -> Package {
    let package = Package::empty();
    let mut writer = Command::new("sh")
        .args(["-c", r#"cat > "$1" && chmod 755 "$1""#, "sh"])
        .arg(package.path().join("exec"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(bytes).unwrap();
    assert!(writer.wait().unwrap().success());
    package
}

pub struct Package(TempDir);

impl Package {
    pub fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
