//! The machine's directories that an operator gives to packs: which are allowed, and how.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use serde::Deserialize;

use crate::{Error, SpecError};

/// More than anybody needs, and few enough to be mounted for each pack.
pub(crate) const MOST: usize = 64;

/// File systems of the kernel. A pack already has what it may see of these.
const KERNELS: [&str; 2] = ["/proc", "/sys"];

/// Why a directory cannot be given to packs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The path is not absolute, or contains `..`.
    #[error("{0} is no absolute path without '..'")]
    Path(String),
    /// The kernel cannot resolve the path.
    #[error("{path}: {reason}")]
    NotFound {
        /// The path as given.
        path: String,
        /// The reason.
        reason: io::Error,
    },
    /// The path leads to one that is not UTF-8.
    #[error("{0} leads to no path in UTF-8")]
    NotUtf8(String),
    /// The path does not lead to a directory.
    #[error("{0} is no directory")]
    NoDirectory(String),
    /// The directory is the kernel's, or contains such a file system.
    #[error("{} is not for packs, which would see the machine's processes", .0.display())]
    Kernels(PathBuf),
    /// The directory is to be writable, and is read-only on the machine.
    #[error("{0} is read-only on this machine: ask for it with ':ro'")]
    ReadOnly(String),
    /// A pack could make the next one see something else there.
    #[error("{inner} lies in {outer}, to which packs may write")]
    InWritable {
        /// The path as given.
        inner: String,
        /// The path of the directory around it, as given.
        outer: String,
    },
    /// The sandbox already has something at the target.
    #[error("the sandbox has {} already", .0.display())]
    Taken(PathBuf),
}

/// A mount as the operator has asked for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Mount {
    source: String,
    target: String,
    read_only: bool,
}

/// A directory as it was found.
#[derive(Debug)]
pub(crate) struct Directory {
    /// The path with all links resolved.
    pub(crate) source: PathBuf,
    pub(crate) target: String,
    pub(crate) read_only: bool,
    /// Whether it is mounted `noexec` on the machine.
    pub(crate) inert: bool,
}

impl Mount {
    /// Finds the directories of all mounts. Links that lead to a source are resolved now, once.
    pub(crate) fn find(mounts: &[Self]) -> Result<Vec<Directory>, Error> {
        if mounts.len() > MOST {
            return Err(SpecError::Mounts.into());
        }
        let found: Vec<_> = (mounts.iter().map(Self::directory)).collect::<Result<_, _>>()?;
        for (mount, directory) in mounts.iter().zip(&found) {
            mount.check_path_to(directory, mounts, &found)?;
        }
        Ok(found)
    }

    fn directory(&self) -> Result<Directory, Error> {
        for path in [&self.source, &self.target] {
            if !is_normal(path) {
                return Err(self.refused(MountError::Path(path.clone())));
            }
        }
        let not_found = |reason| {
            self.refused(MountError::NotFound {
                path: self.source.clone(),
                reason,
            })
        };
        let source = fs::canonicalize(&self.source).map_err(not_found)?;
        if source.to_str().is_none() {
            return Err(self.refused(MountError::NotUtf8(self.source.clone())));
        }
        if !source.is_dir() {
            return Err(self.refused(MountError::NoDirectory(self.source.clone())));
        }
        if source == Path::new("/") || KERNELS.iter().any(|path| source.starts_with(path)) {
            return Err(self.refused(MountError::Kernels(source)));
        }
        let flags = statvfs(&source)
            .map_err(|reason| not_found(reason.into()))?
            .f_flag;
        if flags.contains(StatVfsMountFlags::RDONLY) && !self.read_only {
            return Err(self.refused(MountError::ReadOnly(self.source.clone())));
        }
        Ok(Directory {
            source,
            target: self.target.clone(),
            read_only: self.read_only,
            inert: flags.contains(StatVfsMountFlags::NOEXEC),
        })
    }

    /// Checks that no other mount lets packs write to a directory above this one: a pack could replace the source by a
    /// link, and the next pack would be given whatever that leads to.
    fn check_path_to(
        &self,
        directory: &Directory,
        mounts: &[Self],
        found: &[Directory],
    ) -> Result<(), Error> {
        let below = |path: &Path, other: &Path| path != other && path.starts_with(other);
        for (other, writable) in mounts.iter().zip(found).filter(|(_, it)| !it.read_only) {
            if below(Path::new(&self.source), Path::new(&other.source))
                || below(&directory.source, &writable.source)
            {
                return Err(self.refused(MountError::InWritable {
                    inner: self.source.clone(),
                    outer: other.source.clone(),
                }));
            }
        }
        Ok(())
    }

    fn refused(&self, reason: MountError) -> Error {
        refused(&self.source, &self.target, reason)
    }
}

impl Directory {
    /// Checks that the target hides nothing in the root laid out so far, and that nothing has to be created in a
    /// directory of the machine.
    pub(crate) fn check_place(&self, taken: &[PathBuf], open: &[&str]) -> Result<(), Error> {
        let target = Path::new(&self.target);
        let in_the_way = taken.iter().find(|path| {
            let within = target != path.as_path() && target.starts_with(path);
            let opened = open.iter().any(|open| path.as_path() == Path::new(open));
            path.starts_with(target) || within && !opened
        });
        match in_the_way {
            None => Ok(()),
            Some(path) => Err(refused(
                &self.source.to_string_lossy(),
                &self.target,
                MountError::Taken(path.clone()),
            )),
        }
    }
}

fn refused(source: &str, target: &str, reason: MountError) -> Error {
    Error::Mount {
        mount: format!("{source}:{target}"),
        reason,
    }
}

/// Whether a path is absolute and consists of names alone, each after one slash.
fn is_normal(path: &str) -> bool {
    let parts = Path::new(path).components();
    path.starts_with('/')
        && !path.contains('\0')
        && !parts.clone().any(|part| part == Component::ParentDir)
        && parts.collect::<PathBuf>().as_os_str() == path
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn found(mounts: &[(&Path, &str, bool)]) -> Result<Vec<Directory>, String> {
        let mounts: Vec<_> = (mounts.iter())
            .map(|(source, target, read_only)| Mount {
                source: source.to_str().unwrap().to_owned(),
                target: (*target).to_owned(),
                read_only: *read_only,
            })
            .collect();
        Mount::find(&mounts).map_err(|error| error.to_string())
    }

    #[test]
    fn unsuitable_directories_are_refused_with_the_reason() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let link = directory.path().join("link");
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink("/proc/self", &link).unwrap();
        for (source, target, said) in [
            (
                Path::new("/none/such"),
                "/data",
                "/none/such:/data cannot be mounted: /none/such: No such",
            ),
            (&file, "/data", "is no directory"),
            (Path::new("/"), "/data", "is not for packs"),
            (Path::new("/proc"), "/data", "is not for packs"),
            (&link, "/data", "is not for packs"),
            (
                Path::new("relative"),
                "/data",
                "relative is no absolute path",
            ),
            (directory.path(), "data", "data is no absolute path"),
            (
                directory.path(),
                "/data/../etc",
                "/data/../etc is no absolute path",
            ),
            (directory.path(), "/data/./x", "is no absolute path"),
            (directory.path(), "/data/", "is no absolute path"),
            (directory.path(), "//data", "is no absolute path"),
            (directory.path(), "", "is no absolute path"),
        ] {
            let refused = found(&[(source, target, true)]).unwrap_err();
            assert!(refused.contains(said), "{source:?} {target}: {refused}");
        }
        let many = vec![(directory.path(), "/data", true); MOST + 1];
        assert!(found(&many).unwrap_err().contains("more than 64"));
    }

    #[test]
    fn a_source_inside_a_writable_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        let link = directory.path().with_extension("link");
        fs::create_dir(&inner).unwrap();
        std::os::unix::fs::symlink(&inner, &link).unwrap();
        for source in [&inner, &link] {
            let refused =
                found(&[(directory.path(), "/a", false), (source, "/b", true)]).unwrap_err();
            assert!(refused.contains("to which packs may write"), "{refused}");
            assert!(found(&[(directory.path(), "/a", true), (source, "/b", false)]).is_ok());
        }
        assert!(
            found(&[
                (directory.path(), "/a", true),
                (directory.path(), "/b", false)
            ])
            .is_ok()
        );
        fs::remove_file(link).unwrap();
    }

    #[test]
    fn targets_hide_nothing_and_are_created_only_in_the_sandboxs_own_root() {
        let taken = ["/etc/hosts", "/lib64", "/tmp", "/usr/lib/x"].map(PathBuf::from);
        let place = |target: &str| {
            let directory = Directory {
                source: "/data".into(),
                target: target.to_owned(),
                read_only: true,
                inert: false,
            };
            directory.check_place(&taken, &["/tmp"])
        };
        for target in [
            "/",
            "/etc",
            "/etc/hosts",
            "/lib64/y",
            "/tmp",
            "/usr",
            "/usr/lib/x/y",
        ] {
            assert!(place(target).is_err(), "{target}");
        }
        for target in [
            "/data",
            "/etc/data",
            "/lib",
            "/tmp/data",
            "/tmpdata",
            "/usr/lib/y",
        ] {
            assert!(place(target).is_ok(), "{target}");
        }
    }
}
