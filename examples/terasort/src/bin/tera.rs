//! `tera generate` generates TeraSort input, `tera validate` verifies sorted output.

use clap::Parser;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use terasort::generate::Records;
use terasort::record::RECORD;
use terasort::validate::{self, Invalid, Summary};

#[derive(Parser)]
#[command(about = "Make TeraSort input and prove its sorted output")]
enum Command {
    /// Writes records in gensort's ASCII layout.
    Generate {
        /// The file to write.
        path: PathBuf,
        /// Number of records, of 100 bytes each.
        #[arg(long)]
        records: u64,
        /// Seed of the random numbers; the same seed gives the same file.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Checks that the files in OUTPUT, in the order of their names, are the sorted records of
    /// INPUT.
    Validate {
        /// The file that was sorted.
        input: PathBuf,
        /// The directory of the sorted parts.
        output: PathBuf,
    },
}

/// Why the input could not be generated or the output is not valid.
#[derive(Debug, thiserror::Error)]
enum TeraError {
    #[error(transparent)]
    Generate(#[from] io::Error),
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("output is not input's records: {found:?}, not {expected:?}")]
    OtherRecords { found: Summary, expected: Summary },
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<String, TeraError> {
    match command {
        Command::Generate {
            path,
            records: count,
            seed,
        } => {
            let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
            Records { count, seed }.write(&path, threads)?;
            Ok(format!("{count} records, {} bytes", count * RECORD as u64))
        }
        Command::Validate { input, output } => {
            let (expected, found) = (
                validate::summarise(&input)?,
                validate::check_sorted(&output)?,
            );
            if expected != found {
                return Err(TeraError::OtherRecords { found, expected });
            }
            Ok(format!(
                "valid: {} records in order, checksum {:016x}",
                found.records, found.checksum
            ))
        }
    }
}
