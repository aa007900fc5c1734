//! Arguments of `rule`.

use clap::{Args, Subcommand};

use super::pairs::AnnotationPairs;
use super::{EntitiesArgs, EntityArgs, EntityGetArgs};

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub enum RuleVerb {
    /// Create a rule
    #[command(after_help = "Example:\n  burst rule create on-order order handle")]
    Create(RuleArgs),
    /// Create or change a rule
    #[command(after_help = "Example:\n  burst rule update on-order order handle-better")]
    Update(RuleArgs),
    /// Enable a rule: its trigger calls its action
    #[command(after_help = "Example:\n  burst rule enable on-order")]
    Enable(EntityArgs),
    /// Disable a rule: its trigger no longer calls its action
    #[command(after_help = "Example:\n  burst rule disable on-order")]
    Disable(EntityArgs),
    /// Show whether a rule is enabled
    #[command(after_help = "Example:\n  burst rule status on-order")]
    Status(EntityArgs),
    /// Show a rule
    #[command(after_help = "Example:\n  burst rule get on-order")]
    Get(EntityGetArgs),
    /// List rules
    #[command(after_help = "Example:\n  burst rule list")]
    List(EntitiesArgs),
    /// Delete a rule
    #[command(after_help = "Example:\n  burst rule delete on-order --disable")]
    Delete(RuleDeleteArgs),
}

/// The rule to create, or the changes to one.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// Name of the rule
    pub name: String,
    /// The trigger
    pub trigger: String,
    /// The action, as [/NAMESPACE/][PACKAGE/]NAME
    pub action: String,
    /// Its annotations.
    #[command(flatten)]
    pub annotations: AnnotationPairs,
}

/// Which rule to delete.
#[derive(Debug, Args)]
pub struct RuleDeleteArgs {
    /// Name of the rule
    pub name: String,
    /// Disable it first
    #[arg(long)]
    pub disable: bool,
}
