//! The directories for short-lived files that only this runtime uses: those of its container or sandbox.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static OWN: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Sets the directories in which everything that flares leave is removed: they must be this runtime's alone, as must be
/// the namespace for IPC. Can be called once.
pub fn own(directories: Vec<PathBuf>) {
    let _ = OWN.set(directories);
}

/// Returns these directories, if any were set.
pub(crate) fn directories() -> Option<&'static Vec<PathBuf>> {
    OWN.get().filter(|own| !own.is_empty())
}

/// Returns whether nobody else writes to this directory, as far as is known: if none were set, it is assumed.
pub(crate) fn is_own(directory: &Path) -> bool {
    let Some(own) = directories() else {
        return true;
    };
    let directory = directory.canonicalize().ok();
    let same = |own: &PathBuf| own.canonicalize().ok() == directory;
    directory.is_some() && own.iter().any(same)
}
