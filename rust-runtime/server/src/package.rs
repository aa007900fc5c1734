//! Packages: a directory with an executable named `exec`, a zip of one, or the bare executable.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::limits;

/// Name of the executable within a package.
const EXEC: &str = "exec";

/// Why a package cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// There is no executable.
    #[error("the package has no executable file named `exec`")]
    NoExec,
    /// `exec` is something else.
    #[error("`exec` is neither an ELF executable nor a script that begins with #!")]
    NotExecutable,
    /// `exec` is for another machine.
    #[error("`exec` is built for another architecture; this pack runs {0}")]
    Architecture(&'static str),
    /// It is no zip, or a damaged one.
    #[error("the package is neither an executable nor a readable zip: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// An entry would land outside the package's directory, or is no plain file.
    #[error("the zip entry `{0}` is not a plain file or directory inside the package")]
    Entry(String),
    /// It is too large.
    #[error("the package has more than {} files or {} MiB", limits::ENTRIES, limits::UNPACKED >> 20)]
    TooLarge,
    /// The file system failed.
    #[error("cannot prepare the package: {0}")]
    Io(#[from] io::Error),
}

/// A package on disk. One that was unpacked here is removed with this value.
#[derive(Debug)]
pub(crate) struct Package {
    directory: PathBuf,
    exec: PathBuf,
    _owned: Option<TempDir>,
}

impl Package {
    /// The package in this directory, or around this executable; either is somebody else's.
    pub(crate) fn at(path: &Path) -> Result<Self, PackageError> {
        let path = path.canonicalize()?;
        let (directory, exec) = match path.parent() {
            Some(parent) if path.is_file() => (parent.to_owned(), path),
            _ => (path.clone(), path.join(EXEC)),
        };
        let package = Self {
            directory,
            exec,
            _owned: None,
        };
        package.check()?;
        Ok(package)
    }

    /// Unpacks an executable or a zip into a directory of its own.
    pub(crate) fn unpack(mut bytes: impl Read + Seek) -> Result<Self, PackageError> {
        let owned = tempfile::Builder::new()
            .prefix("burst-package-")
            .tempdir()?;
        let mut head = Vec::new();
        bytes
            .by_ref()
            .take(ELF.len() as u64)
            .read_to_end(&mut head)?;
        bytes.rewind()?;
        if head.starts_with(ELF) || head.starts_with(SCRIPT) {
            let mut file = create(&owned.path().join(EXEC), 0o755)?;
            let length = io::copy(&mut bytes.take(limits::UNPACKED), &mut file)?;
            if length == limits::UNPACKED {
                return Err(PackageError::TooLarge);
            }
        } else {
            unzip(bytes, owned.path())?;
            match fs::set_permissions(owned.path().join(EXEC), PermissionsExt::from_mode(0o755)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(PackageError::NoExec);
                }
                other => other?,
            }
        }
        let package = {
            let directory = owned.path().to_owned();
            let exec = directory.join(EXEC);
            Self {
                directory,
                exec,
                _owned: Some(owned),
            }
        };
        package.check()?;
        Ok(package)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn exec(&self) -> &Path {
        &self.exec
    }

    /// The C library hands files it cannot execute to a shell: better to say what is wrong first.
    fn check(&self) -> Result<(), PackageError> {
        let file = match File::open(self.exec()) {
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
        if !head.starts_with(ELF) || head.len() < 20 {
            return Err(PackageError::NotExecutable);
        }
        let machine = u16::from_le_bytes([head[18], head[19]]);
        if OURS.is_some_and(|ours| ours != machine) {
            return Err(PackageError::Architecture(std::env::consts::ARCH));
        }
        Ok(())
    }
}

const ELF: &[u8] = b"\x7fELF";
const SCRIPT: &[u8] = b"#!";

/// This machine in an ELF header, where we know it.
const OURS: Option<u16> = if cfg!(target_arch = "x86_64") {
    Some(62)
} else if cfg!(target_arch = "aarch64") {
    Some(183)
} else {
    None
};

fn unzip(bytes: impl Read + Seek, directory: &Path) -> Result<(), PackageError> {
    let mut archive = zip::ZipArchive::new(bytes)?;
    if archive.len() > limits::ENTRIES {
        return Err(PackageError::TooLarge);
    }
    let mut left = limits::UNPACKED;
    for index in 0..archive.len() {
        let entry = archive.by_index(index)?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let outside = name.starts_with('/') || entry.is_symlink();
        let Some(path) = entry.enclosed_name().filter(|_| !outside) else {
            return Err(PackageError::Entry(name));
        };
        let path = directory.join(path);
        if entry.is_dir() {
            fs::create_dir_all(path)?;
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mode = entry.unix_mode().unwrap_or(0o644) & 0o755 | 0o600;
        let mut file = create(&path, mode).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => PackageError::Entry(name),
            _ => error.into(),
        })?;
        // The declared size may lie: what counts is what comes out.
        left -= io::copy(&mut entry.take(left), &mut file)?;
        if left == 0 {
            return Err(PackageError::TooLarge);
        }
    }
    Ok(())
}

fn create(path: &Path, mode: u32) -> io::Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{Cursor, Write};
    use zip::write::SimpleFileOptions;

    fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            writer
                .start_file(*name, SimpleFileOptions::default())
                .unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn unpack(bytes: impl AsRef<[u8]>) -> Result<Package, PackageError> {
        Package::unpack(Cursor::new(bytes))
    }

    #[test]
    fn a_zip_is_unpacked_and_removed() {
        let package = unpack(zipped(&[("exec", b"#!/bin/true"), ("data/words", b"a")])).unwrap();
        let directory = package.directory().to_owned();
        assert_eq!(fs::read(directory.join("data/words")).unwrap(), b"a");
        let mode = fs::metadata(package.exec()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        drop(package);
        assert!(!directory.exists());
    }

    #[test]
    fn a_bare_script_is_a_package() {
        let package = unpack(b"#!/bin/true").unwrap();
        assert_eq!(fs::read(package.exec()).unwrap(), b"#!/bin/true");
        Package::at(package.directory()).unwrap();
        let bare = Package::at(package.exec()).unwrap();
        assert_eq!(bare.directory(), package.directory());
    }

    #[test]
    fn entries_outside_the_package_are_refused() {
        for name in ["../evil", "/etc/evil", "a/../../evil"] {
            let refused = unpack(zipped(&[("exec", b"#!"), (name, b"x")]));
            assert!(
                matches!(refused, Err(PackageError::Entry(_))),
                "{name}: {refused:?}"
            );
        }
    }

    #[test]
    fn symbolic_links_are_refused() {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer
            .add_symlink("exec", "/bin/true", SimpleFileOptions::default())
            .unwrap();
        let refused = unpack(writer.finish().unwrap().into_inner());
        assert!(
            matches!(refused, Err(PackageError::Entry(_))),
            "{refused:?}"
        );
    }

    #[test]
    fn what_cannot_run_is_told_apart() {
        assert!(matches!(unpack(b"hello"), Err(PackageError::Zip(_))));
        assert!(matches!(unpack(zipped(&[])), Err(PackageError::NoExec)));
        let text = unpack(zipped(&[("exec", b"hello")]));
        assert!(matches!(text, Err(PackageError::NotExecutable)));
        let mut elf = [0; 64];
        elf[..4].copy_from_slice(ELF);
        elf[18] = 8;
        assert!(matches!(unpack(elf), Err(PackageError::Architecture(_))));
        let missing = Package::at(Path::new("/no/such/package"));
        assert!(matches!(missing, Err(PackageError::Io(_))));
    }
}
