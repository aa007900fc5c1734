//! Arguments of `burst new`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `burst new`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst new hello
  burst new hello --sdk ~/src/burst
  burst new hello --sdk https://example.org/burst.git#TAG

The SDK, the crate burst-compute, is in no package registry yet. Without --sdk
it is the one that came with this program, or that of the checkout of Burst's
repository you are in: a path of this machine, so give a URL where others are to
build the crate, too.")]
pub struct NewArgs {
    /// Directory to make; its last part is the crate's name
    #[arg(value_name = "NAME")]
    pub path: PathBuf,
    /// Where the SDK is: a checkout of Burst's repository, or the repository's URL, with a tag after # or else of its
    /// default branch
    #[arg(long, value_name = "PATH|URL[#TAG]")]
    pub sdk: Option<String>,
}
