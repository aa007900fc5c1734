//! Arguments of `burst group`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::flare::SharedOptions;
use super::quantity::{duration, number};
use super::{PageArgs, ParamArgs, Source};

/// What to do with groups.
#[derive(Debug, Subcommand)]
pub enum GroupAction {
    /// Start packs that stay for several flares
    Open(Box<OpenArgs>),
    /// Run a flare on a group's packs; it waits while another one runs
    Flare(Box<GroupFlareArgs>),
    /// Close a group, cancel what runs on it, and free its slots
    #[command(after_help = "Example:\n  burst group close 0123abcd")]
    Close(GroupArgs),
    /// List groups, newest first
    List(GroupsArgs),
    /// Show a group
    #[command(after_help = "Example:\n  burst group get 0123abcd --output json")]
    Get(GroupArgs),
}

/// Arguments of `burst group open`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst group open train --size 8              prints the group's id
  burst group open train --size 48 --idle-timeout 10m --blocking

A group keeps its slots, its packs and its workers' state (burst.state in the
SDK) until it is closed, it has no flare for --idle-timeout, or one of its
flares does not succeed.")]
pub struct OpenArgs {
    /// Name of the definition
    pub name: String,
    /// An older version of it [default: the current one]
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
    /// Number of workers
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub size: u32,
    /// Time without a flare after which the group is closed, such as 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub idle_timeout: Option<Duration>,
    /// Wait until the group is open
    #[arg(short, long)]
    pub blocking: bool,
    /// How to run its flares.
    #[command(flatten)]
    pub options: SharedOptions,
}

/// Arguments of `burst group flare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst group flare 0123abcd --param step=1 --result
  burst group flare 0123abcd --params-file inputs.json --blocking

While waiting, Ctrl-C cancels the flare, which ends the group.")]
pub struct GroupFlareArgs {
    /// Id of the group, or the beginning of it
    pub id: String,
    /// JSON array with one input per worker (- reads standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["param", "param_file"])]
    pub params_file: Option<Source>,
    /// Wait until the flare has ended
    #[arg(short, long)]
    pub blocking: bool,
    /// Wait, and print only the outputs: a JSON array by worker id, null for a worker without one
    #[arg(short, long)]
    pub result: bool,
    /// The same input for every worker.
    #[command(flatten)]
    pub params: ParamArgs,
    /// Longest run time, such as 500ms, 90s or 1h30m
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
}

/// A group by id.
#[derive(Debug, Args)]
pub struct GroupArgs {
    /// Id of the group, or the beginning of it
    pub id: String,
}

/// Which groups to list.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  burst group list --name train")]
pub struct GroupsArgs {
    /// Only groups of this definition
    #[arg(long)]
    pub name: Option<String>,
    /// Which part of the list.
    #[command(flatten)]
    pub page: PageArgs,
}
