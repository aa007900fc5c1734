//! A work function that puts out and logs as much as it is told to.

use burst::BurstContext;
use serde::Deserialize;
use std::io::Write;
use std::time::Duration;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Input {
    /// Bytes of output, but for its quotes.
    output: usize,
    /// Milliseconds before its end.
    sleep: u64,
    /// Empty lines, as fast as they can be written.
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
