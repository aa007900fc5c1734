//! The command line of OpenWhisk's `wsk`, both as a program of that name and as verbs of `burst`.

pub mod action;
pub mod activation;
pub mod api;
pub mod package;
pub mod pairs;
pub mod property;
pub mod rule;
pub mod trigger;

use crate::args::quantity::number;
use clap::{Args, Parser, Subcommand};

pub use action::ActionVerb;
pub use activation::ActivationVerb;
pub use api::ApiVerb;
pub use package::PackageVerb;
pub use property::PropertyVerb;
pub use rule::RuleVerb;
pub use trigger::TriggerVerb;

/// `burst` under the name that scripts for OpenWhisk call.
#[derive(Debug, Parser)]
#[command(name = "wsk", version, arg_required_else_help = true, max_term_width = 80, after_help = NOTES)]
pub struct Wsk {
    /// Flags every command takes.
    #[command(flatten)]
    pub global: WskGlobal,
    /// What to do.
    #[command(subcommand)]
    pub command: WskCommand,
}

const NOTES: &str = "\
Where to reach the platform: --apihost and --auth, else WHISK_APIHOST and
WHISK_AUTH, else ~/.wskprops (or the file WSK_CONFIG_FILE names), else what
`burst` uses. A host without a scheme is reached over https.

Exit codes: 0 success; the HTTP status modulo 256 when the platform refuses (148
for 404, 149 for 405, 153 for 409) or an action fails (246); 202 a blocking call
whose action still runs; 2 wrong usage; 3 cannot reach the platform; 1 anything
else.";

/// Flags every command of `wsk` takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct WskGlobal {
    // Values are optional, because `wsk property get --auth` gives only the property's flag.
    /// Address of the platform: host, host:port or URL
    #[arg(long, global = true, value_name = "HOST", num_args = 0..=1, default_missing_value = "")]
    pub apihost: Option<String>,
    /// Credentials, as uuid:key
    #[arg(short = 'u', long, global = true, value_name = "KEY", num_args = 0..=1, default_missing_value = "")]
    pub auth: Option<String>,
    /// Version of the API; only v1 exists
    #[arg(long, global = true, value_name = "VERSION", num_args = 0..=1, default_missing_value = "")]
    pub apiversion: Option<String>,
    /// CA certificates (PEM file) to trust instead of the system's
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    pub cacert: Option<String>,
    /// Client certificate (PEM file), for a proxy that requires one
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    pub cert: Option<String>,
    /// Private key of the client certificate (PEM file)
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    pub key: Option<String>,
    /// Accept any certificate of an https platform
    #[arg(short = 'i', long, global = true)]
    pub insecure: bool,
    /// Show what is sent and received, credentials redacted
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// The same as --verbose
    #[arg(short, long, global = true)]
    pub debug: bool,
}

/// The commands of `wsk`.
#[derive(Debug, Subcommand)]
pub enum WskCommand {
    /// Commands that `burst` has as well.
    #[command(flatten)]
    Entity(EntityCommand),
    /// Store the platform's address and your credentials in ~/.wskprops
    Property {
        /// What to do with the properties.
        #[command(subcommand)]
        verb: PropertyVerb,
    },
    /// List everything in a namespace
    List(ListArgs),
}

/// Commands for each kind of entity.
#[derive(Debug, Subcommand)]
pub enum EntityCommand {
    /// Work with actions
    Action {
        /// What to do.
        #[command(subcommand)]
        verb: ActionVerb,
    },
    /// Work with activations: the records of invocations
    Activation {
        /// What to do.
        #[command(subcommand)]
        verb: ActivationVerb,
    },
    /// Work with packages of actions
    Package {
        /// What to do.
        #[command(subcommand)]
        verb: PackageVerb,
    },
    /// Work with triggers
    Trigger {
        /// What to do.
        #[command(subcommand)]
        verb: TriggerVerb,
    },
    /// Work with rules, which bind triggers to actions
    Rule {
        /// What to do.
        #[command(subcommand)]
        verb: RuleVerb,
    },
    /// Work with namespaces
    Namespace {
        /// What to do.
        #[command(subcommand)]
        verb: NamespaceVerb,
    },
    /// Work with APIs: HTTP paths and verbs that lead to web actions
    Api {
        /// What to do.
        #[command(subcommand)]
        verb: ApiVerb,
    },
}

/// What to do with namespaces.
#[derive(Debug, Subcommand)]
pub enum NamespaceVerb {
    /// List the namespaces that the credentials give access to
    List,
    /// List everything in a namespace
    Get(ListArgs),
}

/// Which namespace's entities to list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The namespace, as /NAMESPACE [default: your own]
    pub namespace: Option<String>,
    /// Order by name, not by time
    #[arg(short, long)]
    pub name_sort: bool,
}

/// Which entities to list, and how many.
#[derive(Debug, Args)]
pub struct EntitiesArgs {
    /// The namespace or package, as /NAMESPACE[/PACKAGE] or PACKAGE [default: your namespace]
    pub within: Option<String>,
    /// Show at most N; 0 means the maximum, 200
    #[arg(short, long, value_name = "N", default_value_t = 30, value_parser = number::<u32>)]
    pub limit: u32,
    /// Skip the first N
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = number::<u32>)]
    pub skip: u32,
    /// Order by name, not by time
    #[arg(short, long)]
    pub name_sort: bool,
}

/// An entity's name.
#[derive(Debug, Args)]
pub struct EntityArgs {
    /// Its name, as [/NAMESPACE/][PACKAGE/]NAME
    pub name: String,
}

/// An entity, and which parts of it to show.
#[derive(Debug, Args)]
pub struct EntityGetArgs {
    /// Its name, as [/NAMESPACE/][PACKAGE/]NAME
    pub name: String,
    /// Only this field of it
    pub field: Option<String>,
    /// Its description and parameters, from its annotations
    #[arg(short, long)]
    pub summary: bool,
}
