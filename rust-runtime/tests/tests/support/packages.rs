//! Packages, as directories.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Returns a package directory with the program `acts`.
pub fn acts() -> Package {
    package_of(env!("CARGO_BIN_EXE_burst-runtime-test-program"))
}

/// Returns a package directory with this program.
pub fn package_of(program: &str) -> Package {
    let package = Package::empty();
    symlink(program, package.path().join("exec")).unwrap();
    package
}

/// Returns a package directory whose executable has this content, such as a script.
///
/// Another process writes it. If this one had it open for writing, a process that a concurrent test starts at that
/// moment would inherit the descriptor until it executes its program, and a file that is open for writing cannot be
/// executed.
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
