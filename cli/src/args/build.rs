//! How a program is made ready.

use clap::Args;

/// Flags of what builds a crate, or takes a source.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Which binary of the crate, if it has several
    #[arg(long, value_name = "NAME")]
    pub bin: Option<String>,
    /// Target triple [default: this machine's, or musl for the platform's processor if that is another one or this
    /// is no Linux]; one of musl also runs where the platform's C library is older than this machine's
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
    /// What a file is written in, such as python:3.10 or nodejs:default [default: by its ending]
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// The function of Python or Node to call [default: main]
    #[arg(long, value_name = "NAME")]
    pub main: Option<String>,
}
