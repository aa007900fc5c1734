//! Creates the example's data set from this machine's package lists.

use clap::Parser;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes a line for each Debian package: 1 for a library, 0 for anything else, a tab, and the package's description.
#[derive(Parser)]
struct Arguments {
    /// The file to write.
    path: PathBuf,
    /// How many times to write everything, for a larger data set.
    #[arg(long, default_value_t = 1)]
    times: u32,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Packages(#[from] debian::Unreadable),
    #[error("cannot write {path}: {source}")]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
}

fn main() -> ExitCode {
    let Arguments { path, times } = Arguments::parse();
    match run(&path, times) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("descriptions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(path: &Path, times: u32) -> Result<(), Error> {
    let packages = debian::read()?;
    println!("{} packages, from {}", packages.list.len(), packages.source);
    let write = || {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        for _ in 0..times {
            for package in &packages.list {
                let library = u8::from(package.is_library());
                writeln!(file, "{library}\t{}", package.description)?;
            }
        }
        file.flush()
    };
    write().map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}
