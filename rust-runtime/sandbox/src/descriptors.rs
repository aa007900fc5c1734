//! Limits of descriptors that are open, or in flight over sockets.
//!
//! The kernel counts descriptors in flight per user, which all packs share if the shim is not root's, and refuses
//! further ones once there are as many as the sender may have open itself. So that a pack cannot keep others from being
//! started, a shim may have more than a pack, and process 1 sends all of its own before it is held to a pack's limit.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::credentials::may_make_namespaces;

/// Raises this process's limit as far as it may.
pub(crate) fn keep_all() -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let all = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, all)?)
}

/// Limits this process, and whatever it starts or executes, permanently. A user who is not root can give no more than
/// three quarters of what this process may have itself.
pub(crate) fn hold(files: u32) -> io::Result<()> {
    let bound = getrlimit(Resource::Nofile)
        .maximum
        .filter(|_| !may_make_namespaces());
    let most = bound.map_or(files.into(), |bound| (bound - bound / 4).min(files.into()));
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}
