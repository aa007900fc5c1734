//! A work function that records each of its runs in a file, for the whole-system tests. Its counterpart in Python,
//! which is only an action, is in `tests/src/invocations`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use burst::{BurstContext, Error};

/// A worker's input.
#[derive(serde::Deserialize)]
struct Input {
    /// The invocation's number; in a flare, the worker's.
    n: u64,
    /// The file in which runs are recorded.
    runs: PathBuf,
    /// How long it runs, in milliseconds.
    millis: u64,
    /// A file whose appearance ends it earlier.
    until: Option<PathBuf>,
    /// Makes it fail with this message at the end.
    fail: Option<String>,
    /// How many letters it puts out in addition.
    #[serde(default)]
    letters: usize,
}

/// A worker's output.
#[derive(serde::Serialize)]
struct Output {
    n: u64,
    /// The sum of all workers' numbers.
    sum: u64,
    letters: String,
}

fn work(input: Input, burst: &BurstContext) -> Result<Output, Error> {
    let mut runs = OpenOptions::new().append(true).open(&input.runs)?;
    // In one call, as others write to the file, too.
    runs.write_all(format!("rust {}\n", input.n).as_bytes())?;
    // No worker fails before all have begun.
    burst.barrier()?;
    hold(Duration::from_millis(input.millis), input.until.as_deref());
    if let Some(reason) = input.fail {
        return Err(Error::new(reason));
    }
    Ok(Output {
        n: input.n,
        sum: *burst.all_reduce(input.n, |a, b| a + b)?,
        letters: "x".repeat(input.letters),
    })
}

fn hold(time: Duration, until: Option<&Path>) {
    const LOOK: Duration = Duration::from_millis(20);
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now())
        && !until.is_some_and(Path::exists)
    {
        thread::sleep(until.map_or(left, |_| left.min(LOOK)));
    }
}

burst::main!(work);
