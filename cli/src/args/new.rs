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

The SDK, the crate burst-compute, is not in a package registry yet. Without
--sdk, it is the one that came with this program, or the one in the checkout of
Burst's repository that you are in. Both are paths on this machine: give a URL
if others are to build the crate, too.")]
pub struct NewArgs {
    /// Directory to create; its last part is the crate's name
    #[arg(value_name = "NAME")]
    pub path: PathBuf,
    /// Location of the SDK: a checkout of Burst's repository, or the repository's URL with an optional tag after #
    /// (else its default branch)
    #[arg(long, value_name = "PATH|URL[#TAG]")]
    pub sdk: Option<String>,
}
