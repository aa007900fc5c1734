//! Why a package cannot be run.

use std::io;

use crate::kind::UnknownKind;
use crate::limits;

/// Why a package cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// Packages of this kind cannot run here.
    #[error(transparent)]
    Kind(#[from] UnknownKind),
    /// There is no executable.
    #[error("the package has no executable file named `exec`")]
    NoExec,
    /// `exec` is not an executable.
    #[error("`exec` is neither an ELF executable nor a script that begins with #!")]
    NotExecutable,
    /// `exec` is for another architecture.
    #[error("`exec` is built for another architecture; this pack runs {0}")]
    Architecture(&'static str),
    /// It is not a zip, or is damaged.
    #[error("the package is neither an executable nor a readable zip: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// An entry would be outside the package's directory, or is not a plain file or directory.
    #[error("the zip entry `{0}` is not a plain file or directory inside the package")]
    Entry(String),
    /// It is too large.
    #[error("the package has more than {} files and directories or {} MiB", limits::ENTRIES, limits::UNPACKED >> 20)]
    TooLarge,
    /// The file system failed.
    #[error("cannot prepare the package: {0}")]
    Io(#[from] io::Error),
}
