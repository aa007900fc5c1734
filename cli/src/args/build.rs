//! How a crate is built.

use clap::Args;

/// Flags of what builds a crate.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Which binary of the crate, if it has several
    #[arg(long, value_name = "NAME")]
    pub bin: Option<String>,
    /// What to build the crate for [default: this machine, or musl on the processor of the platform's if
    /// programs of this one do not run there]
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
}
