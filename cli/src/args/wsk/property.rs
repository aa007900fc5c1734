//! Arguments of `wsk property`.

use clap::{Args, Subcommand};

/// What to do with the properties, which the flags select.
#[derive(Debug, Subcommand)]
pub enum PropertyVerb {
    /// Write properties to ~/.wskprops
    Set(PropertySetArgs),
    /// Print properties: all, or those named
    Get(PropertyGetArgs),
    /// Remove properties from ~/.wskprops
    Unset(PropertyUnsetArgs),
}

/// Properties besides those of the global flags.
#[derive(Debug, Args)]
pub struct PropertySetArgs {
    /// The default namespace, for names without one
    #[arg(long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// Which properties to print.
#[derive(Debug, Args)]
pub struct PropertyGetArgs {
    /// All properties
    #[arg(long)]
    pub all: bool,
    /// The default namespace, for names without one
    #[arg(long)]
    pub namespace: bool,
    /// The version of this program
    #[arg(long)]
    pub cliversion: bool,
    /// When the platform was built
    #[arg(long)]
    pub apibuild: bool,
    /// The platform's build
    #[arg(long)]
    pub apibuildno: bool,
    /// With raw, only the values
    #[arg(short, long, value_name = "raw|std", default_value = "std")]
    pub output: String,
}

/// Which properties to remove.
#[derive(Debug, Args)]
pub struct PropertyUnsetArgs {
    /// The default namespace, for names without one
    #[arg(long)]
    pub namespace: bool,
}
