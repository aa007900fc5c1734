//! The data directory of a process of the platform: made, and taken before anything is written to it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::{FlockOperation, Mode, OFlags, fcntl_lock, open};
use rustix::io::Errno;

use crate::error::Error;
use crate::properties::data_dir;

/// Temporary files of the JVM, below the data.
const TEMPORARY: &str = "tmp";

/// A data directory that no other process has. Its lock is of the kind that stays when this process becomes the
/// JVM, which finds it held by itself.
#[derive(Debug)]
pub struct Data {
    path: PathBuf,
    /// Stays open in the JVM: a process that closes the file loses the lock.
    _lock: OwnedFd,
}

impl Data {
    /// The directory that was given, else the one in the user's home directory, with this end to its name.
    pub fn take(given: Option<&Path>, end: &str) -> Result<Self, Error> {
        let path = match given {
            Some(path) => path.to_owned(),
            None => data_dir(end).ok_or_else(|| {
                Error::Usage("no home directory: say where data goes with --data".into())
            })?,
        };
        // It will hold keys and everyone's results.
        let mut create = DirBuilder::new();
        create.recursive(true).mode(0o700);
        let path = create
            .create(path.join(TEMPORARY))
            .and_then(|()| fs::canonicalize(&path))
            .map_err(|cause| unusable(&path, &cause))?;
        let lock = lock(&path)?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the JVM's temporary files go.
    pub fn temporary(&self) -> PathBuf {
        self.path.join(TEMPORARY)
    }
}

pub fn unusable(data: &Path, cause: &io::Error) -> Error {
    Error::Usage(format!(
        "{} cannot be used ({cause}): give another directory with --data",
        data.display()
    ))
}

fn lock(data: &Path) -> Result<OwnedFd, Error> {
    let file = data.join("lock");
    let failed = |errno: Errno| Error::file("open", &file)(errno.into());
    // Not closed when this process becomes the JVM.
    let lock = open(&file, OFlags::CREATE | OFlags::RDWR, Mode::from(0o600)).map_err(failed)?;
    match fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => write_owner(&lock).map_err(Error::file("write", &file))?,
        Err(Errno::AGAIN | Errno::ACCESS) => {
            let owner = fs::read_to_string(&file).unwrap_or_default();
            return Err(Error::InUse(format!(
                "{} is used by another platform (process {}): stop that one, or give this one another \
                 directory with --data",
                data.display(),
                owner.trim()
            )));
        }
        Err(errno) => return Err(failed(errno)),
    }
    Ok(lock)
}

/// The process keeps its number when it becomes the JVM.
fn write_owner(lock: &OwnedFd) -> io::Result<()> {
    rustix::fs::ftruncate(lock, 0)?;
    // By this very descriptor: a process that closes another one of the file loses the lock.
    let text = format!("{}\n", process::id());
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let written = rustix::io::write(lock, rest)?;
        rest = &rest[written..];
    }
    Ok(())
}
