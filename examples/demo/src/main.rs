//! `make demo`: starts the platform on this machine, deploys an example, flares it, verifies the result, prints the
//! timeline, and stops everything it started. It prints every `burst` command before running it, so that you can type
//! the same commands yourself.

mod error;
mod platform;
mod terasort;
mod wordcount;

use clap::{Parser, ValueEnum};
use error::{Error, InvalidSize};
use platform::Platform;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs an example on a platform of its own and verifies the result.
#[derive(Parser)]
pub struct Options {
    /// The example to run.
    #[arg(long, value_enum, default_value_t = App::Terasort)]
    app: App,
    /// Size of the TeraSort input in bytes; K, M and G are powers of 1000.
    #[arg(long, default_value = "256M", value_parser = parse_size)]
    size: u64,
    /// The text to count words in: a file or a directory.
    #[arg(long, default_value = "/usr/share/doc")]
    path: PathBuf,
    /// Number of workers of the flare.
    #[arg(long, default_value_t = 8)]
    workers: u32,
    /// Number of workers per pack.
    #[arg(long, default_value_t = 4)]
    granularity: u32,
    /// How packs are run: auto, sandbox, process or docker.
    #[arg(long, default_value = "auto")]
    driver: String,
    /// The backend for messages between packs: direct or redis-list.
    #[arg(long, default_value = "direct")]
    backend: String,
    /// The Redis server for `--backend redis-list`; containers must be able to reach it at this address.
    #[arg(long, env = "REDIS_URL")]
    redis: Option<String>,
    /// Where to put input and output, in a temporary directory that is removed at the end.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    scratch: PathBuf,
    /// The directory in which `make build` put the platform.
    #[arg(long, default_value = "dist")]
    dist: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum App {
    Terasort,
    Wordcount,
}

fn parse_size(text: &str) -> Result<u64, InvalidSize> {
    let (digits, unit) = match text.to_ascii_uppercase().as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| InvalidSize::NotASize)?;
    number.checked_mul(unit).ok_or(InvalidSize::TooLarge)
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Error> {
    let scratch = tempfile::Builder::new()
        .prefix("burst-demo-")
        .tempdir_in(&options.scratch)
        .map_err(|source| Error::file("make a directory in", &options.scratch, source))?;
    // Packs can run as other users, so every user must be able to pass through this directory to the files. With
    // drivers other than `process`, packs see only the files.
    open_to_all(scratch.path())?;
    let files = scratch.path().join("files");
    shared_directory(&files)?;

    let mut platform = Platform::start(options, &scratch.path().join("platform"), &files)?;
    let outcome = match options.app {
        App::Terasort => terasort::run(options, &platform, &files),
        App::Wordcount => wordcount::run(options, &platform, &files),
    };
    let stopped = platform.stop();
    outcome.and(stopped)
}

/// Creates a directory that any user's workers can write to.
fn shared_directory(path: &Path) -> Result<(), Error> {
    std::fs::create_dir(path).map_err(|source| Error::file("create", path, source))?;
    open_to_all(path)
}

fn open_to_all(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))
        .map_err(|source| Error::file("open", path, source))
}
