//! Generates tables for the example.

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Writes a table of two int64 columns, key and value, as an Arrow file.
#[derive(Parser)]
struct Arguments {
    /// The file to write.
    path: PathBuf,
    /// Number of rows; keys are uniform in a range nine tenths as large.
    #[arg(long, default_value_t = 4_500_000)]
    rows: u64,
    /// Seed of the random numbers; each seed gives a different table.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let Arguments { path, rows, seed } = Arguments::parse();
    match tables::generate::write(&path, rows, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tabgen: cannot write {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
