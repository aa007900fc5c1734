//! Arguments of `activation`.

use crate::args::quantity::number;
use clap::{ArgGroup, Args, Subcommand};

/// What to do with activations.
#[derive(Debug, Subcommand)]
pub enum ActivationVerb {
    /// List activations, newest first
    #[command(after_help = "Example:\n  burst activation list hello --limit 5")]
    List(ActivationsArgs),
    /// Show an activation
    #[command(after_help = "Example:\n  burst activation get --last")]
    Get(ActivationGetArgs),
    /// Print the log of an activation
    #[command(after_help = "Example:\n  burst activation logs --last --strip")]
    Logs(ActivationLogsArgs),
    /// Print the result of an activation
    #[command(after_help = "Example:\n  burst activation result --last")]
    Result(ActivationArgs),
    /// Print the logs of activations as they end
    #[command(after_help = "Example:\n  burst activation poll hello --since-minutes 5")]
    Poll(PollArgs),
}

/// Which activations to list.
#[derive(Debug, Args)]
pub struct ActivationsArgs {
    /// Only those of this action or trigger, as [/NAMESPACE/][PACKAGE/]NAME; /NAMESPACE for all
    pub name: Option<String>,
    /// Show at most N; 0 means the maximum, 200
    #[arg(short, long, value_name = "N", default_value_t = 30, value_parser = number::<u32>)]
    pub limit: u32,
    /// Skip the first N
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = number::<u32>)]
    pub skip: u32,
    /// Print whole activations, each as JSON
    #[arg(short, long)]
    pub full: bool,
    /// Only those that began since this time, in milliseconds since the epoch
    #[arg(long, value_name = "MS", value_parser = number::<u64>)]
    pub since: Option<u64>,
    /// Only those that began up to this time, in milliseconds since the epoch
    #[arg(long, value_name = "MS", value_parser = number::<u64>)]
    pub upto: Option<u64>,
}

/// An activation: by id, or the newest. Exactly one of the two is required.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ActivationArgs {
    /// Id of the activation
    pub id: Option<String>,
    /// The newest activation
    #[arg(short, long)]
    pub last: bool,
}

/// An activation, and which parts of it to show.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("activation").args(["id", "last"]).required(true).multiple(true))]
pub struct ActivationGetArgs {
    /// Id of the activation; with --last the field to show
    pub id: Option<String>,
    /// Only this field of it
    pub field: Option<String>,
    /// The newest activation
    #[arg(short, long)]
    pub last: bool,
    /// Its status and its result
    #[arg(short, long)]
    pub summary: bool,
    /// Its log: only the lines, without time and stream
    #[arg(short = 'g', long)]
    pub logs: bool,
}

/// Whose logs to print.
#[derive(Debug, Args)]
pub struct ActivationLogsArgs {
    /// Which activation.
    #[command(flatten)]
    pub activation: ActivationArgs,
    /// Print only the lines, without time and stream
    #[arg(short = 'r', long)]
    pub strip: bool,
}

/// Which activations to look at, and for how long.
#[derive(Debug, Args)]
pub struct PollArgs {
    /// Only those of this action, as [/NAMESPACE/][PACKAGE/]NAME; /NAMESPACE for all
    pub name: Option<String>,
    /// Stop after this many seconds
    #[arg(short, long, value_name = "SECONDS", value_parser = number::<u32>)]
    pub exit: Option<u32>,
    /// Begin with those of the last N seconds
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<u32>)]
    pub since_seconds: u32,
    /// Begin with those of the last N minutes
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<u32>)]
    pub since_minutes: u32,
    /// Begin with those of the last N hours
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<u32>)]
    pub since_hours: u32,
    /// Begin with those of the last N days
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<u32>)]
    pub since_days: u32,
}
