//! A work function that notes each of its runs in a file, for the whole-system tests. Its twin in Python, which is an
//! action only, is in `tests/src/invocations`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use burst::{BurstContext, Error};

/// What a worker is given.
#[derive(serde::Deserialize)]
struct Input {
    /// The invocation's number; of a flare the worker's.
    n: u64,
    /// Where runs are noted.
    runs: PathBuf,
    /// How long it takes.
    millis: u64,
    /// It takes less when this file is there.
    until: Option<PathBuf>,
    /// It then fails by saying this.
    fail: Option<String>,
    /// So many letters are put out, too.
    #[serde(default)]
    letters: usize,
}

/// What it gives back.
#[derive(serde::Serialize)]
struct Output {
    n: u64,
    /// Of all workers' numbers.
    sum: u64,
    letters: String,
}

fn work(input: Input, burst: &BurstContext) -> Result<Output, Error> {
    let mut runs = OpenOptions::new().append(true).open(&input.runs)?;
    // In one call, as others write there, too.
    runs.write_all(format!("rust {}\n", input.n).as_bytes())?;
    // Nobody fails before everybody has begun.
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
