//! Generates graphs for the example.

use clap::{Parser, Subcommand};
use pagerank::generate::{self, PowerLaw};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes edge lists: lines of two node numbers.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The dependencies between Debian packages, from this machine's package lists.
    Debian {
        /// The file to write.
        path: PathBuf,
        /// A file for the packages' names; line n is the name of node n, from 0.
        #[arg(long)]
        names: Option<PathBuf>,
    },
    /// A power-law graph (R-MAT).
    Rmat {
        /// The file to write.
        path: PathBuf,
        /// Number of nodes, as a power of two.
        #[arg(long, default_value_t = 18)]
        scale: u32,
        /// Number of edges per node.
        #[arg(long, default_value_t = 16)]
        edges: u64,
        /// Seed of the random numbers; each seed gives a different graph.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Packages(#[from] debian::Unreadable),
    #[error("--scale must be at most 31, not {0}")]
    Scale(u32),
    #[error("cannot write {path}: {source}")]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("graph: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Debian { path, names } => {
            let packages = debian::read()?;
            write(&path, |file| generate::dependencies(&packages, file))?;
            println!("{} packages, from {}", packages.list.len(), packages.source);
            let Some(names) = names else { return Ok(()) };
            write(&names, |mut file| {
                for package in &packages.list {
                    writeln!(file, "{}", package.name)?;
                }
                file.flush()
            })
        }
        Command::Rmat { scale, .. } if scale > 31 => Err(Error::Scale(scale)),
        Command::Rmat {
            path,
            scale,
            edges,
            seed,
        } => write(&path, |file| PowerLaw { scale, edges, seed }.write(file)),
    }
}

fn write(
    path: &Path,
    content: impl FnOnce(BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), Error> {
    let file = File::create(path).map(|file| BufWriter::with_capacity(1 << 20, file));
    file.and_then(content).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}
