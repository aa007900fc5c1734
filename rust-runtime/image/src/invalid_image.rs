//! Reasons to reject an image.

use std::path::PathBuf;

/// Why an image is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidImage {
    /// It is not an OCI image layout.
    #[error(
        "it is no OCI image layout: it has no file oci-layout, which `docker save` writes since Docker 25"
    )]
    NoLayout,
    /// It has more files than a root or a layout may have.
    #[error("it has more than {0} files")]
    TooManyFiles(u64),
    /// It unpacks to more than a root may have, in GiB.
    #[error("it unpacks to more than {0} GiB")]
    TooManyBytes(u64),
    /// A document is too large to be read into memory.
    #[error("{0} is too large")]
    TooLarge(String),
    /// A document is not JSON of the expected form.
    #[error("{what} is unsound: {reason}")]
    Unsound {
        /// The document.
        what: String,
        /// What is wrong with it.
        reason: serde_json::Error,
    },
    /// A blob does not match its digest or size: it was changed or cut short.
    #[error("{0} is not what its digest says")]
    WrongDigest(String),
    /// A blob's digest is of an unknown kind.
    #[error("'{0}' is no digest by SHA-256 or SHA-512")]
    NoDigest(String),
    /// Its indexes are nested too deeply, or are too many.
    #[error("its indexes lie in each other without end")]
    EndlessIndexes,
    /// It has no image for this machine's platform.
    #[error("it has nothing for {0}")]
    NothingFor(String),
    /// It has several images for this machine's platform, so it is unknown which one is meant.
    #[error("it has several images for {0}: give a layout with one")]
    SeveralFor(String),
    /// Its configuration names another platform.
    #[error("it is for {platform}, and this machine is {here}")]
    OtherPlatform {
        /// The platform that it names.
        platform: String,
        /// This machine's platform.
        here: String,
    },
    /// A layer's media type is unknown.
    #[error("a layer is of the kind {0}")]
    LayerKind(String),
    /// A layer deletes its own root.
    #[error("a layer hides its own root")]
    HiddenRoot,
    /// A name leads out of the root.
    #[error("'{0}' would leave its root")]
    OutsideRoot(String),
    /// A layer puts files below a path that is itself a file or a link.
    #[error("a layer goes through {}, which is no directory", .0.display())]
    NoDirectory(PathBuf),
    /// A link has no target, or a hard link's target is missing or a directory.
    #[error("a link leads to nothing")]
    DeadLink,
}
