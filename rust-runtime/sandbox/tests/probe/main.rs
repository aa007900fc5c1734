//! Replaces `burst-runtime` in tests: as the shim, and as the program in its sandbox, which does what `PROBE` names.

mod acts;
mod attempts;
mod clients;
mod facts;
mod packs;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

/// Why the probe ends early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("unknown arguments")]
    UnknownArguments,
    #[error("there is no act {0}")]
    UnknownAct(String),
    #[error("there is no attempt {0}")]
    UnknownAttempt(String),
    #[error("an attempt is at a path")]
    NoPath,
    #[error("no local listener")]
    NoListener,
    #[error("no name")]
    NoName,
    #[error(transparent)]
    Sandbox(#[from] burst_sandbox::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Variable(#[from] std::env::VarError),
    #[error(transparent)]
    Number(#[from] std::num::ParseIntError),
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code.into(),
        Err(error) => {
            eprintln!("burst-runtime: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<u8, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["sandbox"] => return Ok(burst_sandbox::launch()?),
        ["sandbox", "--check"] => println!("{}", serde_json::to_string(&burst_sandbox::check())?),
        ["sandbox", "--remove", prefix] => println!("{}", burst_sandbox::remove(prefix)?),
        ["serve", "--held", ..] => return serve(&words[2..]),
        // Runs as a pack's program.
        ["act", ..] => return acts::act(&words[1..].join(" ")),
        _ => return Err(Failure::UnknownArguments),
    }
    Ok(0)
}

fn serve(options: &[&str]) -> Result<u8, Failure> {
    let mut lines = io::stdin().lock().lines();
    lines.next().transpose()?;
    println!("listening on {}", options.join(" "));
    io::stdout().flush()?;
    match std::env::var("PROBE")?.as_str() {
        "facts" => println!("{}", facts::all(options)?),
        "attempts" => println!("{}", attempts::all()),
        probe => {
            drop(lines);
            return acts::act(probe);
        }
    }
    io::stdout().flush()?;
    // Until the shim ends it.
    while lines.next().transpose()?.is_some() {}
    Ok(0)
}
