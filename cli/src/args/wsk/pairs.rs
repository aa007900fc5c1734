//! Parameters and annotations, which `wsk` takes as two words each.

use clap::Args;

use crate::args::Source;

/// Parameters by key and value, or from a file.
#[derive(Debug, Default, Args)]
pub struct ParamPairs {
    /// A parameter: JSON if the value is JSON, else a string; may be repeated
    #[arg(short, long, num_args = 2, value_names = ["KEY", "VALUE"], allow_hyphen_values = true)]
    pub param: Vec<String>,
    /// JSON object with parameters (- reads standard input); --param overrides it
    #[arg(short = 'P', long, value_name = "FILE")]
    pub param_file: Option<Source>,
}

/// Annotations by key and value, or from a file.
#[derive(Debug, Default, Args)]
pub struct AnnotationPairs {
    /// An annotation: JSON if the value is JSON, else a string; may be repeated
    #[arg(short, long, num_args = 2, value_names = ["KEY", "VALUE"], allow_hyphen_values = true)]
    pub annotation: Vec<String>,
    /// JSON object with annotations (- reads standard input); --annotation overrides it
    #[arg(short = 'A', long, value_name = "FILE")]
    pub annotation_file: Option<Source>,
}

/// Who else may read an entity.
#[derive(Debug, Args)]
pub struct SharedArgs {
    /// Whether other namespaces may read and use it
    #[arg(long, value_name = "yes|no", num_args = 0..=1, default_missing_value = "yes", value_parser = yes_or_no)]
    pub shared: Option<bool>,
}

/// The text is neither yes nor no.
#[derive(Debug, thiserror::Error)]
#[error("expected yes or no")]
struct NotYesOrNo;

/// Parses yes or no as OpenWhisk's command line does.
fn yes_or_no(text: &str) -> Result<bool, NotYesOrNo> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(NotYesOrNo),
    }
}
