//! `make demo`: starts the platform on this machine, deploys an example, flares it, proves the outcome, shows the
//! time line, and stops all it started. Every `burst` command it runs is printed, so that a reader can type the same.

mod error;
mod platform;
mod terasort;
mod wordcount;

use clap::{Parser, ValueEnum};
use error::{Error, InvalidSize};
use platform::Platform;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to run, where, and how large.
#[derive(Parser)]
pub struct Options {
    /// The example.
    #[arg(long, value_enum, default_value_t = App::Terasort)]
    app: App,
    /// Bytes of TeraSort input, with K, M or G for powers of 1000.
    #[arg(long, default_value = "256M", value_parser = parse_size)]
    size: u64,
    /// The text word count reads: a file or a directory.
    #[arg(long, default_value = "/usr/share/doc")]
    path: PathBuf,
    /// Workers of the flare.
    #[arg(long, default_value_t = 8)]
    workers: u32,
    /// Workers of a pack.
    #[arg(long, default_value_t = 4)]
    granularity: u32,
    /// How packs are run: auto, sandbox, process or docker.
    #[arg(long, default_value = "auto")]
    driver: String,
    /// What carries messages between packs: direct or redis-list.
    #[arg(long, default_value = "direct")]
    backend: String,
    /// The Redis that `--backend redis-list` uses; containers must be able to reach it under this address.
    #[arg(long, env = "REDIS_URL")]
    redis: Option<String>,
    /// Where input and output go; a temporary directory below it is removed at the end.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    scratch: PathBuf,
    /// Where `make build` put the platform.
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
    // Packs may be other users and must be able to get to their files, which are all that they see of it.
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

/// Creates a directory that workers of any user may write to.
fn shared_directory(path: &Path) -> Result<(), Error> {
    std::fs::create_dir(path).map_err(|source| Error::file("create", path, source))?;
    open_to_all(path)
}

fn open_to_all(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))
        .map_err(|source| Error::file("open", path, source))
}
