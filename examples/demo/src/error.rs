//! The errors of a demo.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {operation} {path}: {source}")]
    File {
        operation: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot run `{command}`: {source}")]
    Start {
        command: String,
        source: std::io::Error,
    },
    #[error("`{command}` ended with {status}: {output}")]
    Command {
        command: String,
        status: std::process::ExitStatus,
        output: String,
    },
    #[error("the platform ended before it was ready; its last words: {output}")]
    NotReady { output: String },
    #[error("`{command}` answered something else than expected: {answer}")]
    Unexpected { command: String, answer: String },
    #[error("{0}")]
    WrongOutcome(String),
    #[error("--backend redis-list needs --redis redis://HOST:PORT (or REDIS_URL)")]
    NoRedis,
}

/// Why a size could not be parsed.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSize {
    #[error("expected a size, such as 256M")]
    NotASize,
    #[error("that is too large")]
    TooLarge,
}

impl Error {
    pub fn file(operation: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File {
            operation,
            path: path.to_owned(),
            source,
        }
    }
}
