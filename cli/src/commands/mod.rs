//! One module per group of verbs.

mod admin;
mod definitions;
mod deploy;
mod flare;
mod flares;
mod group;
mod invokers;
mod jvm;
mod logs;
mod new;
mod platform;
mod property;
mod result;
mod run;
mod shell;
mod status;
mod timeline;

use crate::args::{Cli, Command};
use crate::connection;
use crate::error::Error;
use crate::wsk;

/// Runs the command that the command line names.
pub fn run(cli: Cli) -> Result<(), Error> {
    let global = &cli.global;
    let format = global.output;
    let client = || connection::user(global);
    match &cli.command {
        Command::Standalone(args) => platform::standalone(args, global.verbose),
        Command::Controller(args) => platform::controller(args, global.verbose),
        Command::Invoker(args) => platform::invoker(args, global.verbose),
        Command::Property { action } => property::run(action, global),
        Command::New(args) => new::run(args),
        Command::Deploy(args) => deploy::run(&client()?, args, global),
        Command::Flare(args) => flare::run(&client()?, args, global),
        Command::List(page) => definitions::list(&client()?, page, format),
        Command::Get(args) => definitions::get(&client()?, args, format),
        Command::History(args) => definitions::history(&client()?, args, format),
        Command::Rollback(args) => definitions::roll_back(&client()?, args, format),
        Command::Delete(args) => definitions::delete(&client()?, &args.name, format),
        Command::Flares(args) => flares::list(&client()?, args, format),
        Command::Run(args) => run::run(&client()?, args, global),
        Command::Status(args) => status::status(&client()?, args, format),
        Command::Wait(id) => status::wait(&client()?, id, global),
        Command::Logs(args) => logs::run(&client()?, args, format),
        Command::Result(id) => flares::result(&client()?, id),
        Command::Timeline(id) => timeline::run(&client()?, id, format),
        Command::Cancel(id) => flares::cancel(&client()?, id, format),
        Command::Group { action } => group::run(action, &client()?, global),
        Command::Admin { action } => admin::run(action, global),
        Command::Entity(command) => wsk::entity(command, &wsk::ClientContext::of_burst(global)?),
        Command::Invokers { action: None } => invokers::list(&client()?, format),
        Command::Invokers {
            action: Some(action),
        } => invokers::change(action, &connection::administrator(global)?, format),
        Command::Completion { shell } => shell::completion(*shell),
        Command::Man { directory } => shell::man(directory),
    }
}
