//! Arguments of `burst admin`.

use clap::{Args, Subcommand};

use crate::args::PageArgs;
use crate::args::quantity::{bytes, mebibytes};

/// What to administer.
#[derive(Debug, Subcommand)]
pub enum AdminAction {
    /// Say who may use the platform, and how much of it
    #[command(subcommand, after_help = CREDENTIALS)]
    Namespace(NamespaceAction),
}

/// What to do with namespaces.
#[derive(Debug, Subcommand)]
pub enum NamespaceAction {
    /// Create a namespace and print its credentials, the only time they are seen
    Create(CreateArgs),
    /// List the namespaces with their limits
    #[command(
        after_help = "Example:\n  burst admin namespace list --output json | jq -r '.[].name'"
    )]
    List(PageArgs),
    /// Revoke a namespace's credentials, at once; what it has stays
    #[command(after_help = "Example:\n  burst admin namespace revoke team-a")]
    Revoke {
        /// Name of the namespace
        name: String,
    },
}

const CREDENTIALS: &str = "\
The administrator's credentials, admin:KEY, are taken from --admin-auth, else BURST_ADMIN_AUTH, else
ADMIN_AUTH in the properties file (~/.burst.properties, or the file BURST_CONFIG_FILE names), else
what `burst standalone` left in ~/.burst/properties. KEY is the platform's setting
burst.http.admin-key.";

/// A namespace and those of its limits that differ from the configured ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst admin namespace create team-a
  burst admin namespace create team-a --slots 64 --memory 1G --rate 600
  burst admin namespace create team-a --overwrite     replace key and limits, also when revoked
  burst property set --auth \"$(burst admin namespace create me --output json | jq -r .auth)\"")]
pub struct CreateArgs {
    /// Name of the namespace
    pub name: String,
    /// Most workers of one flare
    #[arg(long, value_name = "N")]
    pub burst_size: Option<u32>,
    /// Slots that its running flares may hold together
    #[arg(long, value_name = "N")]
    pub slots: Option<u32>,
    /// Most memory of a worker, such as 1G; a bare number is MiB
    #[arg(long, value_name = "SIZE", value_parser = mebibytes)]
    pub memory: Option<u32>,
    /// Largest package, such as 64M
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub package_size: Option<u64>,
    /// Flares it may start in a minute
    #[arg(long, value_name = "N")]
    pub rate: Option<u32>,
    /// Give an existing namespace a new key and these limits
    #[arg(long)]
    pub overwrite: bool,
}
