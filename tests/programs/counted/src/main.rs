//! An action that notes each of its runs in a file, for the whole-system tests. Its twin in Python is in
//! `tests/src/invocations`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use burst::{BurstContext, Error};

/// What it is given.
#[derive(serde::Deserialize)]
struct Input {
    /// The invocation's number.
    n: u64,
    /// Where runs are noted.
    runs: PathBuf,
    /// How long it takes.
    millis: u64,
}

/// What it gives back.
#[derive(serde::Serialize)]
struct Output {
    n: u64,
}

fn work(input: Input, _: &BurstContext) -> Result<Output, Error> {
    let mut runs = OpenOptions::new().append(true).open(&input.runs)?;
    // In one call, as others write there, too.
    runs.write_all(format!("rust {}\n", input.n).as_bytes())?;
    thread::sleep(Duration::from_millis(input.millis));
    Ok(Output { n: input.n })
}

burst::main!(work);
