//! The directories for short-lived files that this runtime has to itself: those of its container or sandbox.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static OWN: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// What flares leave in these directories is removed: they are this runtime's alone, as is the name space for IPC.
/// Can be said once.
pub fn own(directories: Vec<PathBuf>) {
    let _ = OWN.set(directories);
}

/// Those directories, where whoever has started this said which they are.
pub(crate) fn directories() -> Option<&'static Vec<PathBuf>> {
    OWN.get().filter(|own| !own.is_empty())
}

/// Whether nobody else writes to this directory, as far as whoever has started this says which these are.
pub(crate) fn is_own(directory: &Path) -> bool {
    let Some(own) = directories() else {
        return true;
    };
    let directory = directory.canonicalize().ok();
    let same = |own: &PathBuf| own.canonicalize().ok() == directory;
    directory.is_some() && own.iter().any(same)
}
