//! What is wrong with an image.

use std::path::PathBuf;

/// See the module's documentation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidImage {
    /// It lies on the disk in another way.
    #[error(
        "it is no OCI image layout: it has no file oci-layout, which `docker save` writes since Docker 25"
    )]
    NoLayout,
    /// More than a root, or a layout, may have.
    #[error("it has more than {0} files")]
    TooManyFiles(u64),
    /// More than a root may have, in GiB.
    #[error("it unpacks to more than {0} GiB")]
    TooManyBytes(u64),
    /// A document that would fill the memory.
    #[error("{0} is too large")]
    TooLarge(String),
    /// A document that says something else than it should.
    #[error("{what} is unsound: {reason}")]
    Unsound {
        /// Which.
        what: String,
        /// Why.
        reason: serde_json::Error,
    },
    /// A blob that was changed or cut off.
    #[error("{0} is not what its digest says")]
    WrongDigest(String),
    /// A blob that is named in another way.
    #[error("'{0}' is no digest by SHA-256 or SHA-512")]
    NoDigest(String),
    /// Indexes that would be read for ever.
    #[error("its indexes lie in each other without end")]
    EndlessIndexes,
    /// All of it is for other machines.
    #[error("it has nothing for {0}")]
    NothingFor(String),
    /// Which of them is meant is not known.
    #[error("it has several images for {0}: give a layout with one")]
    SeveralFor(String),
    /// Its configuration names another machine.
    #[error("it is for {platform}, and this machine is {here}")]
    OtherPlatform {
        /// Which.
        platform: String,
        /// This one.
        here: String,
    },
    /// A layer that is packed in an unknown way.
    #[error("a layer is of the kind {0}")]
    LayerKind(String),
    /// A layer after which there would be nothing.
    #[error("a layer hides its own root")]
    HiddenRoot,
    /// A name that leads elsewhere.
    #[error("'{0}' would leave its root")]
    OutsideRoot(String),
    /// A layer whose files lie in what is a file itself, or a link.
    #[error("a layer goes through {}, which is no directory", .0.display())]
    NoDirectory(PathBuf),
    /// A link whose target is not there.
    #[error("a link leads to nothing")]
    DeadLink,
}
