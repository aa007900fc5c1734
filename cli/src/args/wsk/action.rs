//! Arguments of `action`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::pairs::{AnnotationPairs, ParamPairs};
use super::{EntitiesArgs, EntityArgs};
use crate::args::Source;
use crate::args::quantity::number;

/// What to do with actions.
#[derive(Debug, Subcommand)]
pub enum ActionVerb {
    /// Create an action from a file
    #[command(after_help = CREATE)]
    Create(Box<ActionArgs>),
    /// Create or change an action
    #[command(after_help = "Example:\n  burst action update hello hello.py --memory 512")]
    Update(Box<ActionArgs>),
    /// Call an action
    #[command(
        after_help = "Examples:\n  burst action invoke hello --result --param name Ada\n  burst action invoke hello --result --param name=Ada   if no word follows\n  burst action invoke hello --blocking -P params.json"
    )]
    Invoke(InvokeArgs),
    /// Show an action, or save its code
    #[command(
        after_help = "Examples:\n  burst action get hello\n  burst action get hello --url\n  burst action get hello --save-as copy.py"
    )]
    Get(ActionGetArgs),
    /// List actions
    #[command(after_help = "Example:\n  burst action list my-package --limit 10")]
    List(EntitiesArgs),
    /// Delete an action
    #[command(after_help = "Example:\n  burst action delete hello")]
    Delete(EntityArgs),
}

const CREATE: &str = "\
Examples:
  burst action create hello hello.py
  burst action create hello package.zip --kind nodejs:20 --memory 512
  burst action create hello hello-1.0.0.tgz --kind nodejs:default
  burst action create both one,two --sequence
  burst action create page page.js --web true
  burst action create own --docker me/my-image

The kind follows from the file's extension (.py, .js, …), and is rust for an
executable; a zip, or for Node a tar.gz made by `npm pack`, needs --kind.";

/// The action to create, or the changes to one.
#[derive(Debug, Args)]
pub struct ActionArgs {
    /// Name of the action, as [/NAMESPACE/][PACKAGE/]NAME
    pub name: String,
    /// The file; with --copy an action; with --sequence a comma-separated list of actions
    pub artifact: Option<String>,
    /// Kind of its code, such as python:3.10 or nodejs:default
    #[arg(long, value_name = "KIND", conflicts_with_all = ["docker", "native", "sequence", "copy"])]
    pub kind: Option<String>,
    /// Function to call, if not `main`
    #[arg(long, value_name = "NAME")]
    pub main: Option<String>,
    /// The artifact is a list of actions, each called with the result of the one before
    #[arg(long, conflicts_with_all = ["copy", "docker", "native"])]
    pub sequence: bool,
    /// The artifact is an action to copy
    #[arg(long, conflicts_with_all = ["docker", "native"])]
    pub copy: bool,
    /// Image that it runs in
    #[arg(long, value_name = "IMAGE", conflicts_with = "native")]
    pub docker: Option<String>,
    /// The artifact is an executable, or a zip with one named `exec`, that is started once per invocation
    #[arg(long)]
    pub native: bool,
    /// Whether HTTP clients can call it without credentials: yes, raw (body and query unparsed) or no
    #[arg(long, value_name = "yes|raw|no", num_args = 0..=1, default_missing_value = "yes")]
    pub web: Option<Web>,
    /// Secret that HTTP clients must send as X-Require-Whisk-Auth; true generates a number (shown by `action get NAME
    /// annotations`), false requires none
    #[arg(long, value_name = "SECRET|true|false", num_args = 0..=1, default_missing_value = "true")]
    pub web_secure: Option<String>,
    /// How long it may run, in milliseconds
    #[arg(short, long, value_name = "MS", value_parser = number::<u32>)]
    pub timeout: Option<u32>,
    /// Its memory in MB
    #[arg(short, long, value_name = "MB", value_parser = number::<u32>)]
    pub memory: Option<u32>,
    /// How much of its log is kept, in MB
    #[arg(short, long, value_name = "MB", value_parser = number::<u32>)]
    pub logsize: Option<u32>,
    /// How many invocations one container may run at once
    #[arg(short, long, value_name = "N", value_parser = number::<u32>)]
    pub concurrency: Option<u32>,
    /// Default parameters.
    #[command(flatten)]
    pub params: ParamPairs,
    /// An environment variable; may be repeated
    #[arg(short, long, num_args = 2, value_names = ["KEY", "VALUE"], allow_hyphen_values = true)]
    pub env: Vec<String>,
    /// JSON object with environment variables
    #[arg(short = 'E', long, value_name = "FILE")]
    pub env_file: Option<Source>,
    /// Its annotations.
    #[command(flatten)]
    pub annotations: AnnotationPairs,
    /// Remove this annotation; may be repeated
    #[arg(long, value_name = "KEY")]
    pub del_annotation: Vec<String>,
}

/// How HTTP clients can call an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Web {
    /// Query and body become parameters
    #[value(alias = "true")]
    Yes,
    /// Query and body are passed unparsed
    Raw,
    /// Not at all
    #[value(alias = "false")]
    No,
}

/// A call of an action.
#[derive(Debug, Args)]
pub struct InvokeArgs {
    /// Name of the action, as [/NAMESPACE/][PACKAGE/]NAME
    pub name: String,
    /// Wait until it has ended, and show the activation
    #[arg(short, long)]
    pub blocking: bool,
    /// Wait until it has ended, and show only the result
    #[arg(short, long)]
    pub result: bool,
    /// Its parameters.
    #[command(flatten)]
    pub params: ParamPairs,
}

/// Which parts of an action to show.
#[derive(Debug, Args)]
pub struct ActionGetArgs {
    /// Name of the action, as [/NAMESPACE/][PACKAGE/]NAME
    pub name: String,
    /// Only this field of it
    pub field: Option<String>,
    /// Its description and parameters, from its annotations
    #[arg(short, long)]
    pub summary: bool,
    /// The URL at which HTTP clients call it
    #[arg(short = 'r', long)]
    pub url: bool,
    /// Write its code to a file named after it
    #[arg(long)]
    pub save: bool,
    /// Write its code to this file
    #[arg(long, value_name = "FILE")]
    pub save_as: Option<PathBuf>,
}
