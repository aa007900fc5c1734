//! Arguments of `burst invokers`.

use std::time::Duration;

use clap::Subcommand;

use super::quantity::duration;

/// What to do with a machine. Each command needs the administrator's credentials.
#[derive(Debug, Subcommand)]
pub enum InvokersAction {
    /// Place no more flares on a machine until it is resumed; those that run on it continue
    #[command(
        after_help = "Example:\n  burst invokers drain machine-3 --wait 10m && ssh machine-3 sudo reboot"
    )]
    Drain {
        /// Id of the invoker, as `burst invokers` lists it
        id: String,
        /// Wait until nothing runs on it, for at most this long, such as 90s or 10m
        #[arg(long, value_name = "TIME", value_parser = duration)]
        wait: Option<Duration>,
    },
    /// Place flares on a machine again
    #[command(after_help = "Example:\n  burst invokers resume machine-3")]
    Resume {
        /// Id of the invoker, as `burst invokers` lists it
        id: String,
    },
}
