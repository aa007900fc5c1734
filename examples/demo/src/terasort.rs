//! Sorts generated records and proves the output.

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

    // Built beside the platform: by itself its libraries would be compiled again, with the features that it needs alone.
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

/// MiB a worker may need: its slice as read, its parts, what it receives (twice while it arrives), and the order.
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

/// Runs the example's own command, built beside the platform.
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
