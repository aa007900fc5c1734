//! Arguments of `api`.

use std::path::PathBuf;

use crate::args::quantity::number;
use clap::{Args, Subcommand, ValueEnum};

/// What to do with APIs.
#[derive(Debug, Subcommand)]
pub enum ApiVerb {
    /// Map a path and an HTTP verb to a web action
    #[command(
        after_help = "Examples:\n  burst api create /shop /orders get orders\n  burst api create /health get health --response-type json\n  burst api create --config-file swagger.yaml"
    )]
    Create(ApiCreateArgs),
    /// Show an API as a Swagger document
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

/// The API to create.
#[derive(Debug, Args)]
pub struct ApiCreateArgs {
    /// [BASE_PATH] PATH VERB ACTION
    #[arg(value_names = ["BASE_PATH", "PATH", "VERB", "ACTION"], num_args = 3..=4, required_unless_present = "config_file", conflicts_with = "config_file")]
    pub what: Vec<String>,
    /// Its name, if not its base path
    #[arg(short = 'n', long, value_name = "NAME")]
    pub apiname: Option<String>,
    /// Swagger file that describes the whole API: JSON, or YAML if its name ends with .yaml or .yml
    #[arg(short, long, value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    /// What the action returns
    #[arg(long, value_enum, default_value_t = ResponseType::Json, value_name = "TYPE")]
    pub response_type: ResponseType,
}

/// The extension with which the web action is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ResponseType {
    /// A status, headers and a body
    Http,
    /// Any JSON
    Json,
    /// Text, from the field `text`
    Text,
    /// A picture, from the field `svg`
    Svg,
    /// A page, from the field `html`
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
    /// Everything the gateway knows of it, including its address, even if a path is named
    #[arg(short, long)]
    pub full: bool,
    /// Format to print it in
    #[arg(long, value_enum, ignore_case = true, default_value_t = ApiFormat::Json, value_name = "TYPE")]
    pub format: ApiFormat,
}

/// The format in which an API is printed.
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
    /// Show at most N
    #[arg(short, long, value_name = "N", default_value_t = 30, value_parser = number::<u32>)]
    pub limit: u32,
    /// Skip the first N
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = number::<u32>)]
    pub skip: u32,
    /// Order by the API's name, then path, then verb
    #[arg(short, long)]
    pub name_sort: bool,
    /// Print one field per line
    #[arg(short, long)]
    pub full: bool,
}
