//! Arguments of `deploy` and `flare`, which share the options of a flare.

use std::path::PathBuf;
use std::time::Duration;

use burst_client::Packing;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::{Serialize, Serializer};

use super::quantity::{bytes, duration, mebibytes, number};
use super::{BuildArgs, ParamArgs, Source, VariableArgs};
use crate::times;

/// Arguments of `burst deploy`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst deploy hello ./hello                    a crate: cargo build --release
  burst deploy hello ./target/release/hello     a prebuilt executable
  burst deploy hello hello.zip --overwrite      a zip with an executable `exec`
  burst deploy hello hello.py                   a Python or Node source file
  burst deploy hello hello.py --kind python:3.10
  burst deploy hello ./hello --target aarch64-unknown-linux-musl
  burst deploy sort ./sort --granularity 8 --memory 512M --param rows=1000
  burst deploy hello ./hello --env LANGUAGE=fr --secret TOKEN   asks for TOKEN

Parameters given here are the defaults of every flare's inputs. --overwrite
keeps options that are not given, and all parameters if none are given;
otherwise the new parameters replace all. The same holds for --env. A secret is
kept until it is set again or removed. Of a value that --secret reads, the final
line break is dropped.")]
pub struct DeployArgs {
    /// Name of the definition
    pub name: String,
    /// Directory of a Rust crate, an executable, a zip, or a Python or Node source file
    pub path: PathBuf,
    /// How to build it.
    #[command(flatten)]
    pub build: BuildArgs,
    /// Replace the definition if it exists
    #[arg(long, visible_alias = "update")]
    pub overwrite: bool,
    /// Remove the default parameters of the definition that is replaced
    #[arg(long, conflicts_with_all = ["param", "param_file"])]
    pub no_params: bool,
    /// Default parameters.
    #[command(flatten)]
    pub params: ParamArgs,
    /// The program's environment.
    #[command(flatten)]
    pub variables: VariableArgs,
    /// Default options.
    #[command(flatten)]
    pub options: Options,
}

/// Arguments of `burst flare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst flare hello                             one worker; prints the id
  burst flare hello --size 96 --param name=Ada --result
                                                waits, and prints all outputs
  burst flare sort --params-file inputs.json    one worker per element
  burst flare sort --size 48 --granularity 48 --packing homogeneous
  burst flare hello --version 0.0.3             see `burst history hello`

While waiting, Ctrl-C cancels the flare.")]
pub struct FlareArgs {
    /// Name of the definition
    pub name: String,
    /// An older version of it [default: the current one]
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
    /// The inputs of its workers.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Wait until the flare has ended
    #[arg(short, long)]
    pub blocking: bool,
    /// Wait, and print only the outputs: a JSON array by worker id, null for a worker without one
    #[arg(short, long)]
    pub result: bool,
    /// How to run it.
    #[command(flatten)]
    pub options: Options,
}

/// Arguments of `burst run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst run .                                   the crate in this directory
  burst run ./hello --size 8 --param name=Ada
  burst run ./target/release/hello --name greet

It replaces the definition of the same name, but keeps its options and
parameters; those given here apply to this flare only. The log goes to standard
error while the flare runs, and the outputs go to standard output at the end, as
with `burst flare --result`. Ctrl-C cancels the flare.")]
pub struct RunArgs {
    /// Directory of a Rust crate, an executable, a zip, or a Python or Node source file
    pub path: PathBuf,
    /// Name of the definition [default: that of the program]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// How to build it.
    #[command(flatten)]
    pub build: BuildArgs,
    /// The inputs of its workers.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// How to run it.
    #[command(flatten)]
    pub options: Options,
}

/// The number of a flare's workers, and their inputs.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// Number of workers [default: 1]
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub size: Option<u32>,
    /// JSON array with one input per worker (- reads standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "param", "param_file"])]
    pub params_file: Option<Source>,
    /// The same input for every worker.
    #[command(flatten)]
    pub params: ParamArgs,
}

/// Options of a flare; those not given are left to the definition, then to the platform.
#[derive(Debug, Default, Clone, Args, Serialize)]
#[serde(rename_all = "camelCase")]
#[command(next_help_heading = "Flare options")]
pub struct Options {
    /// Options that a group has, too.
    #[command(flatten)]
    #[serde(flatten)]
    pub shared: SharedOptions,
    /// How many times the whole flare is run again if it fails
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// Options of both flares and groups.
#[derive(Debug, Default, Clone, Args, Serialize)]
#[serde(rename_all = "camelCase")]
#[command(next_help_heading = "Flare options")]
pub struct SharedOptions {
    /// Workers per pack
    #[arg(short, long, value_name = "N", value_parser = number::<u32>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<u32>,
    /// How packs are made: mixed merges packs of the granularity that are on one machine, homogeneous does not,
    /// heterogeneous makes the largest pack that each machine can take
    #[arg(long, value_name = "POLICY", value_parser = PossibleValuesParser::new(Packing::NAMES))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packing: Option<String>,
    /// Backend for messages between packs: a name that the operator configured
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Size of the chunks that long messages are split into, such as 64K or 1MiB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<u64>,
    /// Longest run time, such as 500ms, 90s or 1h30m
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_millis")]
    pub timeout: Option<Duration>,
    /// Memory per worker, such as 512M or 2G; a bare number is MiB
    #[arg(short, long, value_name = "SIZE", value_parser = mebibytes)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
}

fn in_millis<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(times::in_millis).serialize(to)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn options_not_given_are_not_sent() {
        let shared = SharedOptions {
            granularity: Some(4),
            packing: Some("heterogeneous".into()),
            chunk_size: Some(7),
            timeout: Some(Duration::from_secs(90)),
            ..SharedOptions::default()
        };
        let retries = Some(2);
        assert_eq!(
            serde_json::to_string(&Options { shared, retries }).unwrap(),
            r#"{"granularity":4,"packing":"heterogeneous","chunkSize":7,"timeout":90000,"retries":2}"#
        );
    }
}
