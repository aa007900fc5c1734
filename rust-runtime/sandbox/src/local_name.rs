//! The name of a pack's Unix socket, which only those who are told can find.

use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::net::{SocketAddrUnix, bind, listen};
use rustix::process::umask;

use crate::Error;

/// Connections that wait to be taken in. The kernel has a limit of its own.
const BACKLOG: i32 = 4096;

/// A name in a directory, taken away with this.
#[derive(Debug)]
pub(crate) struct LocalName {
    path: PathBuf,
    directory: OwnedFd,
    name: String,
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
        Ok(Self {
            path: directory.to_owned(),
            directory: opened.map_err(|reason| Error::local(directory, reason))?,
            name,
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.name
    }

    /// Gives it to a socket, on which then all who know it can connect.
    pub(crate) fn bind(&self, socket: impl AsFd) -> Result<(), Error> {
        // However long the directory's own path is.
        let path = format!("/proc/self/fd/{}/{}", self.directory.as_raw_fd(), self.name);
        let before = umask(Mode::empty());
        let bound = SocketAddrUnix::new(path).and_then(|address| bind(&socket, &address));
        umask(before);
        bound
            .and_then(|()| listen(&socket, BACKLOG))
            .map_err(|reason| Error::local(&self.path, reason))
    }
}

impl Drop for LocalName {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}
