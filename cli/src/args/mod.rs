//! The command line: verbs, flags, and their help.

pub mod admin;
mod build;
mod definition;
pub mod flare;
pub mod group;
mod invokers;
mod new;
pub mod param;
pub mod platform;
mod quantity;
pub mod refusal;
mod variables;
pub mod wsk;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use self::quantity::number;
pub use admin::AdminAction;
pub use build::BuildArgs;
pub use definition::{GetArgs, HistoryArgs, RollbackArgs};
pub use flare::{DeployArgs, FlareArgs, InputArgs, Options, RunArgs, SharedOptions};
pub use invokers::InvokersAction;
pub use new::NewArgs;
pub use param::ParamArgs;
pub use platform::{ControllerArgs, InvokerArgs, StandaloneArgs};
pub use variables::{SecretSource, VariableArgs};

/// Run a function on many workers at once, all starting together.
#[derive(Debug, Parser)]
#[command(
    name = "burst",
    version,
    arg_required_else_help = true,
    max_term_width = 80,
    after_help = EXAMPLES
)]
pub struct Cli {
    /// Flags every verb takes.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  burst standalone --slots 8       start everything on this machine
  burst new hello                  make a crate in ./hello
  burst deploy hello ./hello       build the crate in ./hello and upload it
  burst flare hello --size 8 --param name=Ada --result
  burst run ./hello --size 8 --param name=Ada       build, deploy, flare in one
  burst logs --last

The id of a flare or a group can be shortened to a prefix of at least four
characters that is unique among the newest 2000.

Where to reach the platform: --apihost and --auth, else BURST_APIHOST and
BURST_AUTH, else the properties file (~/.burst.properties, or the file
BURST_CONFIG_FILE names), else what `burst standalone` wrote to
~/.burst/properties, or `burst controller` to ~/.burst-controller/properties.
For an https platform whose certificate the system does not trust: --cacert,
BURST_CACERT, or CACERT in those files.

When the platform refuses a request, the error ends with the request's id in
brackets, by which the operator finds it in the log.

Exit codes: 0 success; 1 the flare failed; 2 wrong usage; 3 not found;
4 refused; 5 conflict; 6 invalid request; 7 cannot reach the platform;
8 the platform failed; 9 timed out; 10 cancelled; 11 the package does not build.";

/// Flags every verb takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    // The value is optional so that `burst property get --auth` can name the property alone;
    // everywhere else an empty value is refused when the connection is made.
    /// Address of the platform: host, host:port or URL
    #[arg(long, global = true, value_name = "HOST", num_args = 0..=1, default_missing_value = "")]
    pub apihost: Option<String>,
    /// Credentials, as uuid:key
    #[arg(long, global = true, value_name = "AUTH", num_args = 0..=1, default_missing_value = "")]
    pub auth: Option<String>,
    /// The administrator's credentials, as admin:key, for `burst admin`
    #[arg(long, global = true, value_name = "AUTH", num_args = 0..=1, default_missing_value = "")]
    pub admin_auth: Option<String>,
    /// CA certificates (PEM file) to trust instead of the system's
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    pub cacert: Option<String>,
    /// Show what is sent and received (credentials redacted), and cargo's output
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// How to print the platform's answers
    #[arg(long, global = true, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The API's JSON, unchanged
    Json,
    /// Tables for people to read
    #[default]
    Table,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the whole platform on this machine
    Standalone(Box<StandaloneArgs>),
    /// Start a controller of a cluster: the API and the scheduler
    Controller(Box<ControllerArgs>),
    /// Start an invoker of a cluster: it runs workers on this machine
    Invoker(Box<InvokerArgs>),
    /// Make a crate with a work function and its test
    New(NewArgs),
    /// Build a work function and upload it
    Deploy(Box<DeployArgs>),
    /// Run a deployed work function on many workers
    Flare(Box<FlareArgs>),
    /// Build, deploy and run a work function, and show its log and its outputs
    Run(Box<RunArgs>),
    /// List the definitions
    #[command(after_help = "Example:\n  burst list --limit 100")]
    List(PageArgs),
    /// Show a definition
    Get(GetArgs),
    /// List the stored versions of a definition, newest first
    History(HistoryArgs),
    /// Deploy an older version of a definition again
    Rollback(RollbackArgs),
    /// Delete a definition with all its versions
    #[command(after_help = "Example:\n  burst delete hello")]
    Delete(NameArgs),
    /// List flares, newest first
    Flares(FlaresArgs),
    /// Show a flare and the state of each worker
    Status(StatusArgs),
    /// Wait until a flare has ended, and exit with its outcome
    #[command(
        after_help = "The exit code shows how the flare ended. Ctrl-C ends the wait, not the flare.\n\nExample:\n  burst wait --last && burst result --last"
    )]
    Wait(IdArgs),
    /// Print the log of a flare's workers
    Logs(LogsArgs),
    /// Print the outputs of a flare by worker id
    #[command(
        after_help = "Prints a JSON array by worker id, whatever --output is, with null for a worker\nwithout an output. The exit code shows how the flare ended.\n\nExample:\n  burst result --last | jq '.[0]'"
    )]
    Result(IdArgs),
    /// Show what each worker did when
    #[command(after_help = "Example:\n  burst timeline --last")]
    Timeline(IdArgs),
    /// Stop a flare and free its slots
    #[command(after_help = "Example:\n  burst cancel --last")]
    Cancel(IdArgs),
    /// Keep packs, and the data their workers have loaded, for several flares
    Group {
        /// What to do with groups.
        #[command(subcommand)]
        action: group::GroupAction,
    },
    /// Store the platform's address and your credentials in the properties file
    Property {
        /// What to do with the properties.
        #[command(subcommand)]
        action: PropertyAction,
    },
    /// Administer namespaces, and the flares and groups of all of them
    Admin {
        /// What to administer.
        #[command(subcommand)]
        action: AdminAction,
    },
    /// OpenWhisk's commands.
    #[command(flatten)]
    Entity(wsk::EntityCommand),
    /// List the machines that run workers, take one out of service, and put it back
    #[command(
        after_help = "Examples:\n  burst invokers\n  burst invokers drain machine-3 --wait 10m"
    )]
    Invokers {
        /// What to do with one.
        #[command(subcommand)]
        action: Option<InvokersAction>,
    },
    /// Print a shell's completion script for this program's commands and flags
    #[command(
        after_help = "Examples:\n  burst completion bash > ~/.local/share/bash-completion/completions/burst\n  burst completion fish > ~/.config/fish/completions/burst.fish\n  burst completion zsh > ~/.zfunc/_burst\n\nZsh needs fpath+=~/.zfunc before compinit in ~/.zshrc."
    )]
    Completion {
        /// Which shell
        shell: Shell,
    },
    /// Write the man pages of this program and its commands
    #[command(after_help = "Example:\n  burst man ~/.local/share/man/man1")]
    Man {
        /// Directory to write them to; created if it is missing
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// A definition's name.
#[derive(Debug, Args)]
pub struct NameArgs {
    /// Name of the definition
    pub name: String,
}

/// A flare: by id, or the newest. Exactly one of the two is required.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct IdArgs {
    /// Id of the flare, or the beginning of it
    pub id: Option<String>,
    /// The newest flare
    #[arg(short, long)]
    pub last: bool,
}

/// Which part of a list.
#[derive(Debug, Args)]
pub struct PageArgs {
    /// Show at most N entries
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub limit: Option<u32>,
    /// Skip the first N entries
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub skip: Option<u32>,
}

/// Which flares to list.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  burst flares --state running\n  burst flares --name hello --limit 5"
)]
pub struct FlaresArgs {
    /// Only flares of this definition
    #[arg(long)]
    pub name: Option<String>,
    /// Only flares in this state: queued, placing, starting, running, succeeded, failed, cancelled or timed-out
    #[arg(long)]
    pub state: Option<String>,
    /// Which part of the list.
    #[command(flatten)]
    pub page: PageArgs,
}

/// Which flare to show.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  burst status --last\n  burst status 0123abcd --watch\n  burst status 0123abcd --output json"
)]
pub struct StatusArgs {
    /// Which flare.
    #[command(flatten)]
    pub flare: IdArgs,
    /// Show it again whenever something changes, until the flare has ended
    #[arg(short, long)]
    pub watch: bool,
}

/// Whose logs to print.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  burst logs --last\n  burst logs 0123abcd --worker 3\n  burst logs --last --follow --output json     one JSON object per line"
)]
pub struct LogsArgs {
    /// Which flare.
    #[command(flatten)]
    pub flare: IdArgs,
    /// Only this worker's lines
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub worker: Option<u32>,
    /// Print lines as they come, until the flare has ended
    #[arg(short, long)]
    pub follow: bool,
}

/// What to do with the properties, which the global `--apihost`, `--auth`, `--admin-auth` and
/// `--cacert` select.
#[derive(Debug, Subcommand)]
pub enum PropertyAction {
    /// Write --apihost, --auth, --admin-auth and --cacert to the properties file
    #[command(
        after_help = "Examples:\n  burst property set --apihost burst.example.org:3233 --auth UUID:KEY\n  burst property set --admin-auth admin:KEY"
    )]
    Set,
    /// Print the properties in effect, or just the one named
    #[command(after_help = "Examples:\n  burst property get\n  burst property get --auth")]
    Get,
    /// Remove properties from the properties file
    #[command(after_help = "Example:\n  burst property unset --auth")]
    Unset,
}

/// The path of a file; `-` is standard input.
pub type Source = PathBuf;
