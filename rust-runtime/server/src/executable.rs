//! Executables of packages: whether this machine can run one, and which protocol it speaks.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::limits::ELF;
use crate::package_error::PackageError;

/// The first bytes of a script.
pub(crate) const SCRIPT: &[u8] = b"#!";

/// The number of this machine in an ELF header, if it is known.
const OURS: Option<u16> = if cfg!(target_arch = "x86_64") {
    Some(62)
} else if cfg!(target_arch = "aarch64") {
    Some(183)
} else {
    None
};

/// Checks that a file can be executed. The C library would hand one that cannot to a shell, whose errors hide what is
/// wrong.
pub(crate) fn check(path: &Path) -> Result<(), PackageError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(PackageError::NoExec);
        }
        other => other?,
    };
    if !file.metadata()?.is_file() {
        return Err(PackageError::NoExec);
    }
    let mut head = Vec::new();
    file.take(20).read_to_end(&mut head)?;
    if head.starts_with(SCRIPT) {
        return Ok(());
    }
    if !head.starts_with(&ELF) || head.len() < 20 {
        return Err(PackageError::NotExecutable);
    }
    let machine = u16::from_le_bytes([head[18], head[19]]);
    if OURS.is_some_and(|ours| ours != machine) {
        return Err(PackageError::Architecture(std::env::consts::ARCH));
    }
    Ok(())
}

/// Returns whether a file contains these bytes: an executable that mentions the control socket speaks the runtime's
/// protocol.
pub(crate) fn mentions(path: &Path, words: &[u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut window = Vec::new();
    loop {
        let read = file.by_ref().take(SCANNED).read_to_end(&mut window)?;
        if window.windows(words.len()).any(|found| found == words) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        // They may span two reads.
        window.drain(..window.len().saturating_sub(words.len()));
    }
}

/// Bytes of a file that are searched at a time.
pub(crate) const SCANNED: u64 = 1 << 20;
