//! Sockets that the process that started the runtime opened for it, as the runtime cannot do so itself in a sandbox.

use std::io::{self, ErrorKind};
use std::os::fd::{FromRawFd, OwnedFd};
use std::str::FromStr;
use std::sync::Arc;

/// Takes a socket by its descriptor, which nothing else here may use.
///
/// # Errors
/// When the descriptor is not open, or is that of a standard stream.
pub fn take(descriptor: i32) -> io::Result<OwnedFd> {
    if descriptor <= libc::STDERR_FILENO {
        return Err(ErrorKind::InvalidInput.into());
    }
    // SAFETY: takes only integers; fails if the descriptor is not open.
    if unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and the caller guarantees that nothing else here owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// A Unix socket that the packs of this machine find by its name, written as `DESCRIPTOR:NAME`.
#[derive(Debug, Clone)]
pub struct LocalListener {
    /// The socket's descriptor.
    pub descriptor: i32,
    /// Its name below the directory of all packs' sockets.
    pub name: String,
}

impl FromStr for LocalListener {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once(':');
        let parts = parts.and_then(|(number, name)| Some((number.parse().ok()?, name)));
        match parts {
            Some((descriptor, name)) if !name.is_empty() => Ok(Self {
                descriptor,
                name: name.to_owned(),
            }),
            _ => Err("it is DESCRIPTOR:NAME"),
        }
    }
}

/// The directory of all packs' sockets, as a pack sees it.
const DIRECTORY: &str = "/run/burst/sockets";

/// The socket on which the program listens for other packs of this machine.
#[derive(Debug, Clone)]
pub struct PackSocket {
    pub(crate) listener: Arc<OwnedFd>,
    name: String,
}

impl PackSocket {
    /// # Errors
    /// When the descriptor is not open, or is that of a standard stream.
    pub fn take(local: LocalListener) -> io::Result<Self> {
        Ok(Self {
            listener: Arc::new(take(local.descriptor)?),
            name: local.name,
        })
    }

    /// Returns the endpoint that the program advertises.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix:{DIRECTORY}/{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::fd::IntoRawFd;

    #[test]
    fn only_open_descriptors_besides_standard_streams_are_accepted() {
        assert!(take(1).is_err());
        assert!(take(1_000_000).is_err());
        let opened = std::fs::File::open("/dev/null").unwrap();
        take(opened.into_raw_fd()).unwrap();
    }

    #[test]
    fn a_local_listener_has_both() {
        let listener: LocalListener = "4:0a1b".parse().unwrap();
        assert_eq!((listener.descriptor, &*listener.name), (4, "0a1b"));
        for wrong in ["4", "4:", "x:0a1b", ""] {
            assert!(wrong.parse::<LocalListener>().is_err(), "{wrong}");
        }
    }
}
