//! Shuts a pack in by the kernel's own walls.
mod addresses;
mod check;
mod filter;
mod group;
mod group_files;
mod handover;
mod hierarchy;
mod launcher;
mod libraries;
mod lines;
mod local_name;
mod loopback;
mod mounts;
mod network;
mod owner;
mod process_one;
mod relay;
mod root;
mod sandbox;
mod servers;
mod signals;
mod spec;
mod syscalls;
mod target;

use std::io;
use std::path::{Path, PathBuf};

pub use check::{Possibility, check};
pub use launcher::launch;

use crate::hierarchy::Hierarchies;
use crate::spec::GroupName;

/// Why there is no sandbox, or not the one that was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is to be made cannot be.
    #[error("standard input describes no sandbox: {0}")]
    Spec(String),
    /// Nobody may be held to that.
    #[error("{0}")]
    Refused(String),
    /// No control group can be made here.
    #[error("this user can make no control groups with cpu, memory and pids here")]
    NoGroups,
    /// A control group cannot be made, changed or removed.
    #[error("the kernel refuses {path}: {reason}")]
    Group {
        /// The group, or a file of it.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// This user may not have namespaces.
    #[error("the kernel gives this user no namespaces ({reason})")]
    Namespaces {
        /// Why.
        reason: io::Error,
    },
    /// The kernel does not do what is needed.
    #[error("the kernel refuses {what}: {reason}")]
    Kernel {
        /// What was asked of it.
        what: &'static str,
        /// Why.
        reason: io::Error,
    },
    /// The filter of system calls is not taken.
    #[error("the kernel refuses a filter of system calls: {0}")]
    Filter(seccompiler::Error),
    /// Sockets cannot be made or handed over.
    #[error("sockets cannot be handed to the pack: {0}")]
    Handover(io::Error),
    /// The pack's Unix socket cannot have a name.
    #[error("the pack has no socket in {path}: {reason}")]
    Local {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The runtime's own binary is not to be found.
    #[error("the runtime's own binary is not to be found: {0}")]
    Runtime(io::Error),
    /// A wall was not made, as its maker tells it.
    #[error("the sandbox cannot be made: {0}")]
    Walls(String),
    /// It cannot be waited for.
    #[error("neither standard input nor signals can be waited for: {0}")]
    Events(io::Error),
    /// What was killed is still there.
    #[error("processes of the sandbox do not end, not even by SIGKILL")]
    DoesNotEnd,
}

impl Error {
    fn kernel(what: &'static str, reason: impl Into<io::Error>) -> Self {
        Self::Kernel {
            what,
            reason: reason.into(),
        }
    }

    fn local(path: &Path, reason: impl Into<io::Error>) -> Self {
        Self::Local {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// Removes the control groups whose names begin so, which launchers that were killed have left. Blocks until those in
/// them are gone, for seconds at most. How many there were.
///
/// # Errors
/// When the prefix is no beginning of a group's name, or somebody is still in a group.
pub fn remove(prefix: &str) -> Result<usize, Error> {
    GroupName::try_from(prefix.to_owned())
        .map_err(|_| Error::Spec("a prefix is the beginning of a group's name".to_owned()))?;
    match Hierarchies::find() {
        Some(hierarchies) => group::remove_all(&hierarchies, prefix),
        None => Ok(0),
    }
}
