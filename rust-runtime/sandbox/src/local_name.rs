//! The names of a pack's Unix sockets, which only those who are given one can find.

use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::net::{SocketAddrUnix, bind, listen};
use rustix::process::umask;

use crate::Error;

/// Connections that wait to be accepted. The kernel has a limit of its own.
const BACKLOG: i32 = 4096;

/// A name in a directory, as its users need it.
#[derive(Debug, Clone)]
pub(crate) struct LocalPath {
    path: PathBuf,
    directory: Arc<OwnedFd>,
    name: String,
}

/// A name in a directory, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct LocalName(LocalPath);

/// The names of a pack's sockets.
#[derive(Debug)]
pub(crate) struct Names {
    /// The name of the socket at which others find it.
    pub(crate) pack: LocalName,
    /// The name of the socket by which it reaches packs on other machines.
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
    /// Chooses a name that nobody can guess and nobody has bound yet.
    pub(crate) fn random(directory: &Path) -> Result<Self, Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|reason| Error::kernel("random bytes", io::Error::other(reason)))?;
        let mut name = String::new();
        for byte in random {
            // Writing to a String does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        // The directory may be searchable but not readable.
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

    /// Its path for this process, short however long the directory's own path is.
    pub(crate) fn to_path(&self) -> String {
        format!("/proc/self/fd/{}/{}", self.directory.as_raw_fd(), self.name)
    }

    /// Binds a socket to the name and listens: then everybody who knows the name can connect.
    pub(crate) fn bind(&self, socket: impl AsFd) -> Result<(), Error> {
        let before = umask(Mode::empty());
        let bound = SocketAddrUnix::new(self.to_path()).and_then(|address| bind(&socket, &address));
        umask(before);
        bound
            .and_then(|()| listen(&socket, BACKLOG))
            .map_err(|reason| Error::local(&self.path, reason))
    }

    /// Removes the name, if it is in use.
    pub(crate) fn remove(&self) {
        let _ = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

impl Drop for LocalName {
    fn drop(&mut self) {
        self.0.remove();
    }
}
