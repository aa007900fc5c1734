//! The descriptors that the runtime leaves open for the program.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use crate::control_socket::ControlSocket;

/// See the module's documentation.
pub(crate) struct Inherited {
    pub(crate) control: Arc<ControlSocket>,
    /// The socket that listens for other packs.
    pub(crate) listener: Option<Arc<OwnedFd>>,
}

/// Takes the descriptor that a variable names. Must be called only once for each.
pub(crate) fn descriptor(variable: &str) -> Option<OwnedFd> {
    let descriptor: RawFd = std::env::var(variable).ok()?.parse().ok()?;
    // SAFETY: sets a flag of a descriptor that may or may not be open; nothing else in this process
    // uses it yet. Children must not inherit it.
    let open = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
    // SAFETY: it is open, and the runtime opened it for this program alone.
    (descriptor >= 3 && open).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
}
