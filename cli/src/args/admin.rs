//! Arguments of `burst admin`.

use clap::{Args, Subcommand};

use crate::args::PageArgs;
use crate::args::quantity::{bytes, mebibytes, number};

/// What to administer.
#[derive(Debug, Subcommand)]
pub enum AdminAction {
    /// Say who may use the platform, and how much of it
    #[command(subcommand, after_help = CREDENTIALS)]
    Namespace(NamespaceAction),
    /// See flares of all namespaces, and cancel them
    #[command(subcommand, after_help = CREDENTIALS)]
    Flare(AnyFlareAction),
    /// See groups of all namespaces, and close them
    #[command(subcommand, after_help = CREDENTIALS)]
    Group(AnyGroupAction),
}

/// What to do with anybody's flares.
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

/// What to do with anybody's groups.
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
    /// Close a group, with what runs on it
    #[command(after_help = "Example:\n  burst admin group close 0123abcd")]
    Close {
        /// Id of the group, or the beginning of it
        id: String,
    },
}

/// What to do with namespaces.
#[derive(Debug, Subcommand)]
pub enum NamespaceAction {
    /// Create a namespace and print its credentials, the only time they are seen
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
    /// Give a namespace other limits; its key and the limits that are not named stay
    Limit(LimitNamespaceArgs),
    /// Give a namespace new credentials and print them, the only time they are seen; all else stays
    #[command(after_help = "Example:\n  burst admin namespace renew-key team-a")]
    RenewKey {
        /// Name of the namespace
        name: String,
    },
    /// Revoke a namespace's credentials and end its flares, at once; its definitions and results stay
    #[command(after_help = "Example:\n  burst admin namespace revoke team-a")]
    Revoke {
        /// Name of the namespace
        name: String,
    },
}

const CREDENTIALS: &str = "\
The administrator's credentials, admin:KEY, are taken from --admin-auth, else
BURST_ADMIN_AUTH, else ADMIN_AUTH in the properties file (~/.burst.properties,
or the file BURST_CONFIG_FILE names), else what `burst standalone` left in
~/.burst/properties, or `burst controller` in ~/.burst-controller/properties.
KEY is the platform's setting burst.http.admin-key.";

/// A namespace and those of its limits that differ from the configured ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst admin namespace create team-a
  burst admin namespace create team-a --slots 64 --memory 1G --rate 600
  burst admin namespace create team-a --overwrite
  AUTH=$(burst admin namespace create me --output json | jq -r .auth)
  burst property set --auth \"$AUTH\"

--overwrite replaces key and limits, also of a namespace that was revoked.")]
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

/// A namespace and which of its limits become others.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  burst admin namespace limit team-a --slots 128 --rate 1200

The key of the namespace stays, and so do its other limits.")]
pub struct LimitNamespaceArgs {
    /// Name of the namespace
    pub name: String,
    /// What becomes of them.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// The limits of a namespace that are named.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Most workers of one flare
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub burst_size: Option<u32>,
    /// Slots that its running flares may hold together
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub slots: Option<u32>,
    /// Most memory of a worker, such as 1G; a bare number is MiB
    #[arg(long, value_name = "SIZE", value_parser = mebibytes)]
    pub memory: Option<u32>,
    /// Largest package, such as 64M
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub package_size: Option<u64>,
    /// Invocations of actions it may begin per calendar minute
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub invocation_rate: Option<u32>,
    /// Triggers it may fire per calendar minute
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub fire_rate: Option<u32>,
    /// Flares it may start in a minute; without their own rates, also invocations and fires
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub rate: Option<u32>,
    /// Deploys it may make in a minute
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub deploy_rate: Option<u32>,
    /// Requests of any kind it may send in a minute
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub request_rate: Option<u32>,
    /// Requests of it that may be under way at once, such as of those who wait for a result
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub requests: Option<u32>,
    /// Definitions it may have
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub definitions: Option<u32>,
    /// What their packages may take together, such as 4G
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub definitions_size: Option<u64>,
    /// What results and logs may take, such as 8G; beyond, its oldest flares are deleted
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub stored_size: Option<u64>,
    /// Whether its packs may reach the internet, where the driver keeps packs apart
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub egress: Option<bool>,
}
