//! Arguments for building a program.

use clap::Args;

/// Flags for building a crate, or for taking a source file.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Which binary of the crate, if it has several
    #[arg(long, value_name = "NAME")]
    pub bin: Option<String>,
    /// Target triple [default: this machine's, or musl for the platform's processor if that differs or this is not
    /// Linux]; a program for musl also runs if the platform's C library is older than this machine's
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
    /// Language of a source file, such as python:3.10 or nodejs:default [default: by its extension]
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Python or Node function to call [default: main]
    #[arg(long, value_name = "NAME")]
    pub main: Option<String>,
}
