//! Arguments of the verbs that look at definitions and their versions.

use clap::Args;

use super::PageArgs;

/// Arguments of `burst get`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  burst get hello --output json\n  burst get hello --version 0.0.3"
)]
pub struct GetArgs {
    /// Name of the definition
    pub name: String,
    /// An older version [default: the current one]
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
}

/// Arguments of `burst history`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  burst history hello")]
pub struct HistoryArgs {
    /// Name of the definition
    pub name: String,
    /// Which part of the list.
    #[command(flatten)]
    pub page: PageArgs,
}

/// Arguments of `burst rollback`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst rollback hello                 to the version before the current one
  burst rollback hello --to 0.0.3

It makes a new version, equal to the older one, so the history stays complete.
Environment variables become those of the older version again; secrets belong
to the definition and do not change.")]
pub struct RollbackArgs {
    /// Name of the definition
    pub name: String,
    /// Version to deploy again [default: the one before the current]
    #[arg(long, visible_alias = "version", value_name = "VERSION")]
    pub to: Option<String>,
}
