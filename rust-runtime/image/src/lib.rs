//! Unpacks an image of the Open Container Initiative's, so that packs can have it as their root.
//!
//! An image is a layout (`oci-layout`, `index.json`, `blobs/`), as a directory or a tar of it, as `skopeo copy`,
//! `docker buildx --output type=oci` and `docker save` write it. What of it is for this machine ([`image`]) is laid out
//! layer by layer ([`layer`], [`tree`]) in a directory of its own, named by its digest ([`roots`]).
//!
//! Whoever has made the image is not trusted: each blob is what its digest says, before anything of it is read
//! ([`layout`]); nothing is written outside of the root, nothing but directories, files and links within it, without
//! special bits, and no more than is allowed.

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

/// Why there is no root.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is the image that is at fault.
    #[error(transparent)]
    Image(#[from] InvalidImage),
    /// It cannot be read, or is cut off.
    #[error("{what} cannot be read: {reason}")]
    Read {
        /// What of it.
        what: String,
        /// Why.
        reason: io::Error,
    },
    /// This machine cannot hold it.
    #[error("{path} cannot be made: {reason}")]
    Write {
        /// What is in the way, or was to be there.
        path: PathBuf,
        /// Why.
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
