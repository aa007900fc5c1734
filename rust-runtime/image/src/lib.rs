//! Unpacks an image of the Open Container Initiative (OCI), so that packs can use it as their root.
//!
//! An image is a layout (`oci-layout`, `index.json`, `blobs/`): a directory or a tar of one, as written by `skopeo
//! copy`, `docker buildx --output type=oci` and `docker save`. The part of it for this machine ([`image`]) is laid out
//! layer by layer ([`layer`], [`tree`]) in a directory of its own, named after its digest ([`roots`]).
//!
//! The maker of an image is not trusted: each blob is checked against its digest before it is parsed or unpacked
//! ([`layout`]); nothing is written outside the root, and within it only directories, files and links, without special
//! mode bits and within limits.

mod compression;
mod document;
mod image;
mod invalid_image;
mod layer;
mod layout;
mod roots;
mod tree;

use std::io;
use std::path::PathBuf;

pub use invalid_image::InvalidImage;
pub use roots::{Unpacked, unpack};

/// Why an image could not be unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The image is invalid.
    #[error(transparent)]
    Image(#[from] InvalidImage),
    /// The image cannot be read, or is cut short.
    #[error("{what} cannot be read: {reason}")]
    Read {
        /// The part of the image.
        what: String,
        /// The cause.
        reason: io::Error,
    },
    /// The image cannot be written to this machine's disk.
    #[error("{path} cannot be made: {reason}")]
    Write {
        /// The path that is in the way, or could not be made.
        path: PathBuf,
        /// The cause.
        reason: io::Error,
    },
}

impl Error {
    fn read(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |reason| Self::Read { what, reason }
    }

    fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |reason| Self::Write { path, reason }
    }
}
