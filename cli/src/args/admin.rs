//! Arguments of `burst admin`.

use clap::{Args, Subcommand};

use crate::args::PageArgs;
use crate::args::quantity::{bytes, mebibytes, number};

/// What to administer.
#[derive(Debug, Subcommand)]
pub enum AdminAction {
    /// Control who may use the platform, and how much of it
    #[command(subcommand, after_help = CREDENTIALS)]
    Namespace(NamespaceAction),
    /// List and cancel flares of all namespaces
    #[command(subcommand, after_help = CREDENTIALS)]
    Flare(AnyFlareAction),
    /// List and close groups of all namespaces
    #[command(subcommand, after_help = CREDENTIALS)]
    Group(AnyGroupAction),
}

/// What to do with flares of any namespace.
#[derive(Debug, Subcommand)]
pub enum AnyFlareAction {
    /// List flares, newest first
    #[command(after_help = "Example:\n  burst admin flare list --namespace team-a --state running")]
    List {
        /// Only flares of this namespace
        #[arg(long)]
        namespace: Option<String>,
        /// Only flares in this state: queued, placing, starting, running, succeeded, failed, cancelled or timed-out
        #[arg(long)]
        state: Option<String>,
        /// Which part of the list.
        #[command(flatten)]
        page: PageArgs,
    },
    /// Cancel a flare
    #[command(after_help = "Example:\n  burst admin flare cancel 0123abcd")]
    Cancel {
        /// Id of the flare, or the beginning of it
        id: String,
    },
}

/// What to do with groups of any namespace.
#[derive(Debug, Subcommand)]
pub enum AnyGroupAction {
    /// List groups, newest first
    #[command(after_help = "Example:\n  burst admin group list --namespace team-a")]
    List {
        /// Only groups of this namespace
        #[arg(long)]
        namespace: Option<String>,
        /// Which part of the list.
        #[command(flatten)]
        page: PageArgs,
    },
    /// Close a group and cancel what runs on it
    #[command(after_help = "Example:\n  burst admin group close 0123abcd")]
    Close {
        /// Id of the group, or the beginning of it
        id: String,
    },
}

/// What to do with namespaces.
#[derive(Debug, Subcommand)]
pub enum NamespaceAction {
    /// Create a namespace and print its credentials, which are shown only once
    Create(CreateArgs),
    /// Show a namespace with all of its limits
    #[command(after_help = "Example:\n  burst admin namespace get team-a")]
    Get {
        /// Name of the namespace
        name: String,
    },
    /// List the namespaces with the most important of their limits
    #[command(
        after_help = "Example:\n  burst admin namespace list --output json | jq -r '.[].name'"
    )]
    List(PageArgs),
    /// Change limits of a namespace; its key and its other limits stay
    Limit(LimitNamespaceArgs),
    /// Replace a namespace's credentials and print the new ones, shown only once; all else stays
    #[command(after_help = "Example:\n  burst admin namespace renew-key team-a")]
    RenewKey {
        /// Name of the namespace
        name: String,
    },
    /// Revoke a namespace's credentials and end its flares immediately; its definitions and results stay
    #[command(after_help = "Example:\n  burst admin namespace revoke team-a")]
    Revoke {
        /// Name of the namespace
        name: String,
    },
}

const CREDENTIALS: &str = "\
The administrator's credentials, admin:KEY, are taken from --admin-auth, else
BURST_ADMIN_AUTH, else ADMIN_AUTH in the properties file (~/.burst.properties,
or the file BURST_CONFIG_FILE names), else what `burst standalone` wrote to
~/.burst/properties, or `burst controller` to ~/.burst-controller/properties.
KEY is the platform's setting burst.http.admin-key.";

/// A namespace, and the limits that differ from the configured ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst admin namespace create team-a
  burst admin namespace create team-a --slots 64 --memory 1G --rate 600
  burst admin namespace create team-a --overwrite
  AUTH=$(burst admin namespace create me --output json | jq -r .auth)
  burst property set --auth \"$AUTH\"

--overwrite replaces the key and the limits, also of a revoked namespace.")]
pub struct CreateArgs {
    /// Name of the namespace
    pub name: String,
    /// How much of the platform it may use.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Give an existing namespace a new key and these limits
    #[arg(long)]
    pub overwrite: bool,
}

/// A namespace, and the limits to change.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  burst admin namespace limit team-a --slots 128 --rate 1200

The namespace keeps its key and its other limits.")]
pub struct LimitNamespaceArgs {
    /// Name of the namespace
    pub name: String,
    /// The new limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Limits of a namespace, each of them optional.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Maximum number of workers per flare
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub burst_size: Option<u32>,
    /// Slots that its running flares may hold in total
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub slots: Option<u32>,
    /// Maximum memory per worker, such as 1G; a bare number is MiB
    #[arg(long, value_name = "SIZE", value_parser = mebibytes)]
    pub memory: Option<u32>,
    /// Largest package, such as 64M
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub package_size: Option<u64>,
    /// Invocations of actions it may start per calendar minute
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub invocation_rate: Option<u32>,
    /// Triggers it may fire per calendar minute
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub fire_rate: Option<u32>,
    /// Flares it may start per minute; also the default of --invocation-rate and --fire-rate
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub rate: Option<u32>,
    /// Deploys it may make per minute
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub deploy_rate: Option<u32>,
    /// Requests of any kind it may send per minute
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub request_rate: Option<u32>,
    /// Requests it may have open at the same time, including those that wait for a result
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub requests: Option<u32>,
    /// Definitions it may have
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub definitions: Option<u32>,
    /// Total size of their packages, such as 4G
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub definitions_size: Option<u64>,
    /// Total size of results and logs, such as 8G; beyond it, the oldest flares are deleted
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub stored_size: Option<u64>,
    /// Whether its packs may reach the internet, if the driver isolates packs
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub egress: Option<bool>,
}
