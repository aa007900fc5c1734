//! A work function that returns and logs a given amount of data.

use burst::BurstContext;
use serde::Deserialize;
use std::io::Write;
use std::time::Duration;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Input {
    /// Bytes of output, not counting its quotes.
    output: usize,
    /// Milliseconds to sleep before it returns.
    sleep: u64,
    /// Number of empty lines to log, as fast as possible.
    lines: usize,
}

fn work(input: Input, _: &BurstContext) -> Result<String, burst::Error> {
    let lines = vec![b'\n'; 1000];
    let mut out = std::io::stdout();
    for _ in 0..input.lines / 1000 {
        out.write_all(&lines)?;
    }
    out.flush()?;
    std::thread::sleep(Duration::from_millis(input.sleep));
    Ok("x".repeat(input.output))
}

burst::main!(work);
