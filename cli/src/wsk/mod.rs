//! The command line of OpenWhisk: its commands, and what they print.

mod action;
mod actions;
mod activation;
mod api;
mod client_context;
mod entity;
mod error;
mod exec;
mod feed;
mod fields;
mod found;
mod invoke;
mod lists;
mod name;
mod namespace;
mod package;
mod poll;
mod property;
mod rule;
mod save;
mod show;
mod trigger;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::args::wsk::{EntityCommand, Wsk, WskCommand};
use crate::error::Error;

pub use client_context::ClientContext;

/// Whether the program was called as `wsk`.
pub fn is_name(program: Option<&OsStr>) -> bool {
    program.and_then(|path| Path::new(path).file_name()) == Some(OsStr::new("wsk"))
}

/// The main function of `wsk`.
pub fn main() -> ExitCode {
    let wsk = Wsk::parse();
    match run(&wsk) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report_as(error::exit_code(&error)),
    }
}

fn run(wsk: &Wsk) -> Result<(), Error> {
    match &wsk.command {
        WskCommand::Entity(command) => entity(command, &ClientContext::of_wsk(&wsk.global)?),
        WskCommand::Property { verb } => property::run(verb, &wsk.global),
        WskCommand::List(args) => namespace::get(&ClientContext::of_wsk(&wsk.global)?, args),
    }
}

/// Runs a command for an entity, for `wsk` and for `burst`.
pub fn entity(command: &EntityCommand, context: &ClientContext) -> Result<(), Error> {
    match command {
        EntityCommand::Action { verb } => action::run(verb, context),
        EntityCommand::Activation { verb } => activation::run(verb, context),
        EntityCommand::Package { verb } => package::run(verb, context),
        EntityCommand::Trigger { verb } => trigger::run(verb, context),
        EntityCommand::Rule { verb } => rule::run(verb, context),
        EntityCommand::Namespace { verb } => namespace::run(verb, context),
        EntityCommand::Api { verb } => api::run(verb, context),
    }
}
