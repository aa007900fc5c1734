//! Arguments of `trigger`.

use clap::{Args, Subcommand};

use super::pairs::{AnnotationPairs, ParamPairs};
use super::{EntitiesArgs, EntityArgs, EntityGetArgs};

/// What to do with triggers.
#[derive(Debug, Subcommand)]
pub enum TriggerVerb {
    /// Create a trigger
    #[command(
        after_help = "Examples:\n  burst trigger create order\n  burst trigger create tick --feed /whisk.system/alarms/interval \\\n      --param minutes 5"
    )]
    Create(TriggerArgs),
    /// Create or change a trigger; if it has a feed, its parameters go to the feed
    #[command(after_help = "Example:\n  burst trigger update tick --param minutes 10")]
    Update(TriggerArgs),
    /// Fire a trigger
    #[command(after_help = "Example:\n  burst trigger fire order --param id 7")]
    Fire(FireArgs),
    /// Show a trigger; if it has a feed, show what the feed returns for it
    #[command(after_help = "Example:\n  burst trigger get tick")]
    Get(EntityGetArgs),
    /// List triggers
    #[command(after_help = "Example:\n  burst trigger list --name-sort")]
    List(EntitiesArgs),
    /// Delete a trigger
    #[command(after_help = "Example:\n  burst trigger delete tick")]
    Delete(EntityArgs),
}

/// The trigger to create, or the changes to one.
#[derive(Debug, Args)]
pub struct TriggerArgs {
    /// Name of the trigger
    pub name: String,
    /// Action that fires it, as [/NAMESPACE/][PACKAGE/]NAME
    #[arg(short, long, value_name = "ACTION")]
    pub feed: Option<String>,
    /// Parameters of the trigger, or of its feed.
    #[command(flatten)]
    pub params: ParamPairs,
    /// Parameters of the feed alone; may be repeated
    #[arg(short = 'F', long, num_args = 2, value_names = ["KEY", "VALUE"], allow_hyphen_values = true)]
    pub feed_param: Vec<String>,
    /// Parameters of the trigger alone; may be repeated
    #[arg(short = 'T', long, num_args = 2, value_names = ["KEY", "VALUE"], allow_hyphen_values = true)]
    pub trigger_param: Vec<String>,
    /// Its annotations.
    #[command(flatten)]
    pub annotations: AnnotationPairs,
}

/// An event: the trigger to fire, and its parameters.
#[derive(Debug, Args)]
pub struct FireArgs {
    /// Name of the trigger
    pub name: String,
    /// JSON object with parameters, instead of --param-file
    #[arg(conflicts_with = "param_file")]
    pub payload: Option<String>,
    /// The parameters of the actions it calls.
    #[command(flatten)]
    pub params: ParamPairs,
}
