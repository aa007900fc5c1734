//! The `burst` command: deploys work functions, runs them on many workers at once, and shows the
//! results.

mod args;
mod commands;
mod connection;
mod data;
mod error;
mod failure;
mod follow;
mod ids;
mod inputs;
mod interrupt;
mod output;
mod package;
mod progress;
mod properties;
mod sdk;
mod table;
mod times;
mod trace;
mod variables;
mod visible;
mod wsk;

use std::env;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, param, refusal};

fn main() -> ExitCode {
    if wsk::is_name(env::args_os().next().as_deref()) {
        return wsk::main();
    }
    let cli = Cli::try_parse_from(param::joined(env::args_os()))
        .unwrap_or_else(|error| refusal::without_secrets(error).exit());
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
