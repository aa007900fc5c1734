//! Makes the tables that the example joins, groups and sorts.

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Writes a table of two int64 columns, key and value, as an Arrow file.
#[derive(Parser)]
struct Arguments {
    /// The file to write.
    path: PathBuf,
    /// How many rows; the keys are uniform in nine tenths as many numbers.
    #[arg(long, default_value_t = 4_500_000)]
    rows: u64,
    /// Another seed gives another table.
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
