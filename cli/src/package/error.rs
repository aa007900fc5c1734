//! Errors in making a package.

use std::io;
use std::path::PathBuf;

use object::BinaryFormat;
use zip::result::ZipError;

/// Why a package cannot be made, or is invalid.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A directory is not a crate.
    #[error("{} has no Cargo.toml", .0.display())]
    NoManifest(PathBuf),
    /// Cargo was not found.
    #[error(
        "cargo, which builds crates, was not found: install Rust (https://rustup.rs), or set CARGO to its path"
    )]
    NoCargo,
    /// Cargo cannot be run.
    #[error("cannot run cargo, which builds crates: {0}")]
    Cargo(#[source] io::Error),
    /// Cargo's messages about a build do not have the expected form.
    #[error("cannot understand cargo's answer: {0}")]
    Messages(#[source] io::Error),
    /// Cargo does not describe a crate, or not in the expected form.
    #[error("cannot understand cargo's answer: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    /// A crate has errors.
    #[error("{} does not build", .0.display())]
    DoesNotBuild(PathBuf),
    /// A crate is a library.
    #[error("{} has no binary; a work function needs a main.rs", .0.display())]
    NoBinary(PathBuf),
    /// A file is empty.
    #[error("{} is empty", .0.display())]
    Empty(PathBuf),
    /// A package is larger than any platform accepts.
    #[error("{name} is larger than {limit}; build it with less debug information")]
    TooLarge {
        /// The file to upload.
        name: String,
        /// The largest size, with its unit.
        limit: String,
    },
    /// A file is not of a kind that can be uploaded.
    #[error(
        "{0} is not an executable (ELF), nor a zip with one, nor a crate; name the language of Python or Node code with --kind, and make a crate for Rust code with `burst new`"
    )]
    NotExecutable(String),
    /// An executable is for another system.
    #[error("{name} is a {format:?} file, and the platform runs ELF executables")]
    OtherFormat {
        /// The file to upload.
        name: String,
        /// Its format.
        format: BinaryFormat,
    },
    /// A file is a library, or a part of a program.
    #[error("{0} is an ELF file but not an executable; is the crate a library?")]
    NotRunnable(String),
    /// The executable cannot be zipped.
    #[error("cannot pack the executable: {0}")]
    Pack(#[source] ZipError),
    /// A zip is damaged.
    #[error("{name} is not a sound zip: {cause}")]
    Zip {
        /// The file to upload.
        name: String,
        /// The cause.
        cause: ZipError,
    },
    /// A zip's executable is damaged.
    #[error("{name} is not a sound zip: {cause}")]
    Entry {
        /// The file to upload.
        name: String,
        /// The cause.
        cause: io::Error,
    },
    /// A zip has no file to start.
    #[error(
        "{0} has no file `exec` at its top level, which is what is started; of Python or Node say --kind"
    )]
    NoExec(String),
    /// The code of an action cannot be decoded.
    #[error("the code is not sound base64")]
    Base64(#[from] base64::DecodeError),
}
