//! A root that is being unpacked, layer by layer. Links in it are never followed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::{Error, InvalidImage};

/// The most entries and bytes of a root, including those of lower layers that others hide.
const ENTRIES: u64 = 500_000;
const BYTES: u64 = 8 << 30;

/// Modes with which everybody may read a root, as packs have users of their own.
const DIRECTORY: u32 = 0o755;
const PROGRAM: u32 = 0o755;
const FILE: u32 = 0o644;

/// A path within a root, neither empty nor with `..` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(Vec<OsString>);

impl Name {
    /// Reads a name from a tar, absolute or relative; none for the root itself.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Self>, Error> {
        let parts = bytes.split(|byte| *byte == b'/');
        let parts: Vec<_> = parts.filter(|part| !matches!(*part, b"" | b".")).collect();
        if parts.iter().any(|part| *part == b".." || part.contains(&0)) {
            let name = String::from_utf8_lossy(bytes);
            return Err(InvalidImage::OutsideRoot(name.into_owned()).into());
        }
        let parts = parts.into_iter().map(|it| OsStr::from_bytes(it).to_owned());
        let parts: Vec<_> = parts.collect();
        Ok((!parts.is_empty()).then_some(Self(parts)))
    }

    /// Splits it into its directory and its name there.
    pub(crate) fn split(&self) -> (&[OsString], &OsStr) {
        match self.0.split_last() {
            Some((last, above)) => (above, last),
            None => (&[], OsStr::new("")),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    /// The paths that the current layer has made.
    own: HashSet<PathBuf>,
    /// How many more entries and bytes there may be.
    entries: u64,
    bytes: u64,
}

impl Tree {
    /// Makes a tree in an empty directory.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            root,
            own: HashSet::new(),
            entries: ENTRIES,
            bytes: BYTES,
        }
    }

    pub(crate) fn next_layer(&mut self) {
        self.own.clear();
    }

    pub(crate) fn directory(&mut self, name: &Name) -> Result<(), Error> {
        let path = self.path(name)?;
        match is_directory(&path) {
            true => self.own.insert(path),
            false => self.make_directory(path)?,
        };
        Ok(())
    }

    pub(crate) fn file(
        &mut self,
        name: &Name,
        mode: u32,
        seconds: u64,
        contents: impl Read,
    ) -> Result<(), Error> {
        let path = self.vacant(name)?;
        let written = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = written.map_err(Error::write(&path))?;
        let left = self.bytes;
        let copied = io::copy(&mut contents.take(left + 1), &mut file);
        // Either side may have failed; both are reported as a failed write.
        let copied = copied.map_err(Error::write(&path))?;
        if copied > left {
            return Err(InvalidImage::TooManyBytes(BYTES >> 30).into());
        }
        self.bytes = left - copied;
        self.settle(&file, mode, seconds)
            .map_err(Error::write(&path))
    }

    fn settle(&self, file: &File, mode: u32, seconds: u64) -> io::Result<()> {
        let mode = if mode & 0o111 == 0 { FILE } else { PROGRAM };
        file.set_permissions(Permissions::from_mode(mode))?;
        let modified = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        // Some programs depend on modification times; one that cannot be represented is left out.
        modified.map_or(Ok(()), |time| file.set_modified(time).or(Ok(())))
    }

    /// Makes a symbolic link, whatever its target: only packs follow it, for whom this is the root.
    pub(crate) fn link(&mut self, name: &Name, target: &[u8]) -> Result<(), Error> {
        let path = self.vacant(name)?;
        symlink(OsStr::from_bytes(target), &path).map_err(Error::write(path))
    }

    /// Makes another name for an existing file.
    pub(crate) fn hard_link(&mut self, name: &Name, target: &Name) -> Result<(), Error> {
        let (above, last) = target.split();
        let source = self.existing(above)?.join(last);
        if is_directory(&source) || fs::symlink_metadata(&source).is_err() {
            return Err(InvalidImage::DeadLink.into());
        }
        if self.path(name)? == source {
            return Ok(());
        }
        let path = self.vacant(name)?;
        fs::hard_link(&source, &path).map_err(Error::write(path))
    }

    /// Removes what lower layers have under this name.
    pub(crate) fn remove(&mut self, above: &[OsString], name: &OsStr) -> Result<(), Error> {
        let path = self.existing(above)?.join(name);
        self.delete_below(&path)
    }

    /// Removes what lower layers have in this directory.
    pub(crate) fn empty(&mut self, directory: &[OsString]) -> Result<(), Error> {
        let directory = self.existing(directory)?;
        self.empty_below(&directory)
    }

    fn empty_below(&self, directory: &Path) -> Result<(), Error> {
        let entries = fs::read_dir(directory).map_err(Error::write(directory))?;
        for entry in entries {
            let entry = entry.map_err(Error::write(directory))?;
            self.delete_below(&entry.path())?;
        }
        Ok(())
    }

    /// Deletes a path, except what this layer has made.
    fn delete_below(&self, path: &Path) -> Result<(), Error> {
        match self.own.contains(path) {
            true if is_directory(path) => self.empty_below(path),
            true => Ok(()),
            false => delete(path),
        }
    }

    /// Returns the path for a new entry, after deleting what was there.
    fn vacant(&mut self, name: &Name) -> Result<PathBuf, Error> {
        let path = self.path(name)?;
        delete(&path)?;
        self.count()?;
        self.own.insert(path.clone());
        Ok(path)
    }

    /// Returns the path of a name, after making missing directories above it.
    fn path(&mut self, name: &Name) -> Result<PathBuf, Error> {
        let (above, last) = name.split();
        Ok(self.existing(above)?.join(last))
    }

    /// Returns the directory of this name, after making missing ones. A link is not a directory,
    /// whatever its target.
    fn existing(&mut self, name: &[OsString]) -> Result<PathBuf, Error> {
        let mut path = self.root.clone();
        for part in name {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => {
                    self.own.insert(path.clone());
                }
                Ok(_) => {
                    let within = path.strip_prefix(&self.root).unwrap_or(&path);
                    return Err(InvalidImage::NoDirectory(within.to_owned()).into());
                }
                Err(_) => {
                    self.make_directory(path.clone())?;
                }
            }
        }
        Ok(path)
    }

    /// Makes a directory in place of anything else. Returns whether it is new to the layer.
    fn make_directory(&mut self, path: PathBuf) -> Result<bool, Error> {
        delete(&path)?;
        self.count()?;
        let made = fs::create_dir(&path)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(DIRECTORY)));
        made.map_err(Error::write(&path))?;
        Ok(self.own.insert(path))
    }

    fn count(&mut self) -> Result<(), Error> {
        let left = self.entries.checked_sub(1);
        self.entries = left.ok_or(InvalidImage::TooManyFiles(ENTRIES))?;
        Ok(())
    }
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn delete(path: &Path) -> Result<(), Error> {
    let deleted = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    deleted.map_err(Error::write(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_beyond_the_limits_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let mut tree = Tree::new(root.path().to_owned());
        tree.bytes = 10;
        let name = |text: &str| Name::read(text.as_bytes()).unwrap().unwrap();
        tree.file(&name("a"), 0, 0, &[1; 10][..]).unwrap();
        // However long the input is, no more than this is written.
        let said = tree.file(&name("b"), 0, 0, io::repeat(0)).unwrap_err();
        assert!(said.to_string().contains("more than 8 GiB"), "{said}");
        assert!(fs::metadata(root.path().join("b")).unwrap().len() <= 1);
        tree.entries = 1;
        let said = tree.file(&name("c/d"), 0, 0, io::empty()).unwrap_err();
        assert!(said.to_string().contains("500000 files"), "{said}");
    }
}
