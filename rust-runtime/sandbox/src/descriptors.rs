//! How many descriptors who may have open, and on their way over sockets.
//!
//! The kernel counts those on their way for a user, whom all packs are if they are not root's, and lets nobody send more
//! once there are as many as it may have open itself. So that a pack cannot keep others from being made, a shim may
//! have more than a pack, and process 1 sends all of its own before it is held to what a pack may have.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::credentials::may_make_walls;

/// Lets this process have as many as it can let itself have.
pub(crate) fn keep_all() -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let all = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, all)?)
}

/// For this process and whatever it starts or becomes, for good. Who is not root gives no more than three quarters of
/// what it may have itself.
pub(crate) fn hold(files: u32) -> io::Result<()> {
    let bound = getrlimit(Resource::Nofile)
        .maximum
        .filter(|_| !may_make_walls());
    let most = bound.map_or(files.into(), |bound| (bound - bound / 4).min(files.into()));
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}
