//! Sorts generated records and verifies the output.

use crate::{Options, error::Error, platform::Platform, shared_directory};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const RECORD: u64 = 100;

pub fn run(options: &Options, platform: &Platform, files: &Path) -> Result<(), Error> {
    let records = options.size / RECORD;
    let (input, output) = (files.join("input"), files.join("output"));
    let (input, output) = (input.display().to_string(), output.display().to_string());
    shared_directory(Path::new(&output))?;
    tera(
        options,
        &["generate", &input, "--records", &records.to_string()],
    )?;

    // `make build` has compiled the example together with the platform. Deploying its sources would compile its
    // dependencies again, with only the features that the example needs.
    let program = options.dist.join("examples/terasort");
    platform.burst(&[
        "deploy",
        "terasort",
        &program.display().to_string(),
        "--memory",
        &memory(options),
    ])?;
    let flare = platform.flare("terasort", &[("input", &input), ("output", &output)])?;

    tera(options, &["validate", &input, &output])?;
    report(options, &flare)
}

/// Returns the MiB that a worker can need: for its slice of the input, the slice's partitions, the received records
/// (twice while they arrive), and the sort order.
fn memory(options: &Options) -> String {
    let slice = options.size / u64::from(options.workers) / (1 << 20);
    (slice * 5 + 64).to_string()
}

fn report(options: &Options, flare: &Value) -> Result<(), Error> {
    let micros = |key: &str| {
        flare[key].as_u64().ok_or_else(|| Error::Unexpected {
            command: "burst flare".into(),
            answer: flare.to_string(),
        })
    };
    let seconds = (micros("ended")? - micros("created")?) as f64 / 1e6;
    println!(
        "sorted {} MB on {} workers in {seconds:.3} s: {:.0} MB/s",
        options.size / 1_000_000,
        options.workers,
        options.size as f64 / 1e6 / seconds
    );
    Ok(())
}

/// Runs the example's command `tera`, which `make build` has built.
fn tera(options: &Options, arguments: &[&str]) -> Result<(), Error> {
    let shown = format!("tera {}", arguments.join(" "));
    println!("$ {shown}");
    let status = Command::new(options.dist.join("examples/tera"))
        .args(arguments)
        .status()
        .map_err(|source| Error::Start {
            command: shown.clone(),
            source,
        })?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::WrongOutcome(format!(
            "`{shown}` ended with {status}"
        )))
    }
}
