//! The names of a pack's Unix sockets, which only those who are told can find.

use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::net::{SocketAddrUnix, bind, listen};
use rustix::process::umask;

use crate::Error;

/// Connections that wait to be taken in. The kernel has a limit of its own.
const BACKLOG: i32 = 4096;

/// A name in a directory, for those who use it.
#[derive(Debug, Clone)]
pub(crate) struct LocalPath {
    path: PathBuf,
    directory: Arc<OwnedFd>,
    name: String,
}

/// A name in a directory, taken away with this.
#[derive(Debug)]
pub(crate) struct LocalName(LocalPath);

/// Those of a pack.
#[derive(Debug)]
pub(crate) struct Names {
    /// Of the socket on which it is found by others.
    pub(crate) pack: LocalName,
    /// Of the one on which it finds packs of other machines.
    pub(crate) peers: LocalName,
}

impl Names {
    pub(crate) fn random(directory: &Path) -> Result<Self, Error> {
        Ok(Self {
            pack: LocalName::random(directory)?,
            peers: LocalName::random(directory)?,
        })
    }
}

impl LocalName {
    /// One that nobody can guess, and nobody has bound yet.
    pub(crate) fn random(directory: &Path) -> Result<Self, Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|reason| Error::kernel("random bytes", io::Error::other(reason)))?;
        let mut name = String::new();
        for byte in random {
            // A String takes all that is written to it.
            let _ = write!(name, "{byte:02x}");
        }
        // It may be searched and not read.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(directory, flags, Mode::empty());
        let opened = opened.map_err(|reason| Error::local(directory, reason))?;
        Ok(Self(LocalPath {
            path: directory.to_owned(),
            directory: Arc::new(opened),
            name,
        }))
    }

    pub(crate) fn path(&self) -> &LocalPath {
        &self.0
    }
}

impl LocalPath {
    pub(crate) fn as_str(&self) -> &str {
        &self.name
    }

    /// As this process finds it, however long the directory's own path is.
    pub(crate) fn to_path(&self) -> String {
        format!("/proc/self/fd/{}/{}", self.directory.as_raw_fd(), self.name)
    }

    /// Gives it to a socket, on which then all who know it can connect.
    pub(crate) fn bind(&self, socket: impl AsFd) -> Result<(), Error> {
        let before = umask(Mode::empty());
        let bound = SocketAddrUnix::new(self.to_path()).and_then(|address| bind(&socket, &address));
        umask(before);
        bound
            .and_then(|()| listen(&socket, BACKLOG))
            .map_err(|reason| Error::local(&self.path, reason))
    }

    /// Takes it away, if anybody has it.
    pub(crate) fn remove(&self) {
        let _ = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

impl Drop for LocalName {
    fn drop(&mut self) {
        self.0.remove();
    }
}
