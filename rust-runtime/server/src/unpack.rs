//! Unpacking: writes the files of a package to its directory, up to a limit.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::limits;
use crate::package_error::PackageError;

pub(crate) fn copy(bytes: impl Read, path: &Path, mode: u32) -> Result<(), PackageError> {
    let length = io::copy(&mut bytes.take(limits::UNPACKED), &mut create(path, mode)?)?;
    match length == limits::UNPACKED {
        true => Err(PackageError::TooLarge),
        false => Ok(()),
    }
}

pub(crate) fn unzip(bytes: impl Read + Seek, directory: &Path) -> Result<(), PackageError> {
    let mut archive = zip::ZipArchive::new(bytes)?;
    if archive.len() > limits::ENTRIES {
        return Err(PackageError::TooLarge);
    }
    let mut left = limits::UNPACKED;
    let mut entries = limits::ENTRIES;
    for index in 0..archive.len() {
        let entry = archive.by_index(index)?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let outside = name.starts_with('/') || entry.is_symlink();
        let Some(path) = entry.enclosed_name().filter(|_| !outside) else {
            return Err(PackageError::Entry(name));
        };
        let path = directory.join(path);
        if entry.is_dir() {
            make_directories(&path, &mut entries)?;
            continue;
        }
        if let Some(parent) = path.parent() {
            make_directories(parent, &mut entries)?;
        }
        entries = entries.checked_sub(1).ok_or(PackageError::TooLarge)?;
        let mode = entry.unix_mode().unwrap_or(0o644) & 0o755 | 0o600;
        let mut file = create(&path, mode).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => PackageError::Entry(name),
            _ => error.into(),
        })?;
        // The declared size may be wrong: the unpacked bytes count.
        left -= io::copy(&mut entry.take(left), &mut file)?;
        if left == 0 {
            return Err(PackageError::TooLarge);
        }
    }
    Ok(())
}

/// Makes missing directories. Each counts, even those that a zip only implies: each of its paths may have hundreds.
fn make_directories(path: &Path, entries: &mut usize) -> Result<(), PackageError> {
    let missing = path.ancestors().take_while(|it| !it.is_dir());
    let missing: Vec<_> = missing.take(*entries + 1).collect();
    *entries = entries
        .checked_sub(missing.len())
        .ok_or(PackageError::TooLarge)?;
    for directory in missing.iter().rev() {
        fs::create_dir(directory)?;
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
