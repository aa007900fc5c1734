//! Arguments of `package`.

use clap::{Args, Subcommand};

use super::pairs::{AnnotationPairs, ParamPairs, SharedArgs};
use super::{EntitiesArgs, EntityGetArgs};

/// What to do with packages.
#[derive(Debug, Subcommand)]
pub enum PackageVerb {
    /// Create a package
    #[command(after_help = "Example:\n  burst package create tools --param host example.org")]
    Create(PackageArgs),
    /// Create or change a package
    #[command(after_help = "Example:\n  burst package update tools --shared yes")]
    Update(PackageArgs),
    /// Bind another package to a name of your own, with parameters
    #[command(
        after_help = "Example:\n  burst package bind /whisk.system/utils utils --param separator ,"
    )]
    Bind(BindArgs),
    /// Show a package
    #[command(after_help = "Example:\n  burst package get tools --summary")]
    Get(EntityGetArgs),
    /// List packages
    #[command(after_help = "Example:\n  burst package list /whisk.system")]
    List(EntitiesArgs),
    /// Delete a package
    #[command(after_help = "Example:\n  burst package delete tools --force")]
    Delete(PackageDeleteArgs),
    /// Refresh the bindings of a namespace (no effect: they are never out of date)
    #[command(after_help = "Example:\n  burst package refresh")]
    Refresh(RefreshArgs),
}

/// The package to create, or the changes to one.
#[derive(Debug, Args)]
pub struct PackageArgs {
    /// Name of the package
    pub name: String,
    /// The parameters of its actions.
    #[command(flatten)]
    pub params: ParamPairs,
    /// Its annotations.
    #[command(flatten)]
    pub annotations: AnnotationPairs,
    /// Who else may use it.
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// The binding to create.
#[derive(Debug, Args)]
pub struct BindArgs {
    /// The package, as [/NAMESPACE/]PACKAGE
    pub package: String,
    /// Name of the binding
    pub name: String,
    /// The parameters of its actions.
    #[command(flatten)]
    pub params: ParamPairs,
    /// Its annotations.
    #[command(flatten)]
    pub annotations: AnnotationPairs,
}

/// Which package to delete.
#[derive(Debug, Args)]
pub struct PackageDeleteArgs {
    /// Name of the package
    pub name: String,
    /// Delete its actions, too
    #[arg(short, long)]
    pub force: bool,
}

/// Which namespace's bindings.
#[derive(Debug, Args)]
pub struct RefreshArgs {
    /// The namespace, as /NAMESPACE [default: your own]
    pub namespace: Option<String>,
}
