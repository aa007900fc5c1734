//! Arguments of `api`.

use std::path::PathBuf;

use crate::args::quantity::number;
use clap::{Args, Subcommand, ValueEnum};

/// What to do with APIs.
#[derive(Debug, Subcommand)]
pub enum ApiVerb {
    /// Have a path and a verb of HTTP lead to a web action
    #[command(
        after_help = "Examples:\n  burst api create /shop /orders get orders\n  burst api create /health get health --response-type json\n  burst api create --config-file swagger.yaml"
    )]
    Create(ApiCreateArgs),
    /// Show APIs as Swagger describes them
    #[command(
        after_help = "Examples:\n  burst api get /shop\n  burst api get /shop --full --format yaml"
    )]
    Get(ApiGetArgs),
    /// List APIs
    #[command(after_help = "Example:\n  burst api list /shop")]
    List(ApiListArgs),
    /// Delete APIs
    #[command(after_help = "Example:\n  burst api delete /shop /orders get")]
    Delete(ApiPathArgs),
}

/// An API as it is to be.
#[derive(Debug, Args)]
pub struct ApiCreateArgs {
    /// [BASE_PATH] PATH VERB ACTION
    #[arg(value_names = ["BASE_PATH", "PATH", "VERB", "ACTION"], num_args = 3..=4, required_unless_present = "config_file", conflicts_with = "config_file")]
    pub what: Vec<String>,
    /// Its name, where that is not its base path
    #[arg(short = 'n', long, value_name = "NAME")]
    pub apiname: Option<String>,
    /// File of Swagger that describes it all: JSON, or YAML if its name ends with .yaml or .yml
    #[arg(short, long, value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    /// What the action answers
    #[arg(long, value_enum, default_value_t = ResponseType::Json, value_name = "TYPE")]
    pub response_type: ResponseType,
}

/// The ending that the web action is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ResponseType {
    /// A status, headers and a body
    Http,
    /// Any JSON
    Json,
    /// A text of the field `text`
    Text,
    /// A picture of the field `svg`
    Svg,
    /// A page of the field `html`
    Html,
}

/// Which APIs.
#[derive(Debug, Args)]
pub struct ApiPathArgs {
    /// Its base path, or its name
    pub base: String,
    /// Only this path
    pub path: Option<String>,
    /// Only this verb
    pub verb: Option<String>,
}

/// Which API to show.
#[derive(Debug, Args)]
pub struct ApiGetArgs {
    /// Which ones.
    #[command(flatten)]
    pub which: ApiPathArgs,
    /// All that the gateway says of it, its address among that, also when a path is named
    #[arg(short, long)]
    pub full: bool,
    /// How it is written
    #[arg(long, value_enum, ignore_case = true, default_value_t = ApiFormat::Json, value_name = "TYPE")]
    pub format: ApiFormat,
}

/// How an API is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApiFormat {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Which APIs to list.
#[derive(Debug, Args)]
pub struct ApiListArgs {
    /// Only this base path, or the API of this name
    pub base: Option<String>,
    /// Only this path
    pub path: Option<String>,
    /// Only this verb
    pub verb: Option<String>,
    /// At most so many
    #[arg(short, long, value_name = "N", default_value_t = 30, value_parser = number::<u32>)]
    pub limit: u32,
    /// Leave out the first so many
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = number::<u32>)]
    pub skip: u32,
    /// Order by the API's name, then path, then verb
    #[arg(short, long)]
    pub name_sort: bool,
    /// One fact per line
    #[arg(short, long)]
    pub full: bool,
}
