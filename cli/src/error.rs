//! Everything that can go wrong, as data, and the one place that turns it into an exit code.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use burst_client::Error as ApiError;
use console::Style;

use crate::visible;

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line, an input file or the properties file is wrong.
    #[error("{0}")]
    Usage(String),
    /// A local file cannot be read or written.
    #[error("cannot {action} {}: {cause}", path.display())]
    File {
        /// What was tried: `read`, `write`, …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The platform refused, failed, or could not be reached.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The same, with what was tried of an entity of OpenWhisk's.
    #[error("Unable to {what}: {}", with_code(cause))]
    Unable {
        /// What was tried.
        what: String,
        /// What happened.
        cause: ApiError,
    },
    /// A feed does not take what it was told: its action's own answer, of this status of HTTP.
    #[error("Unable to {what}: {why}")]
    FeedRefused {
        /// What was tried.
        what: String,
        /// What the feed said.
        why: String,
        /// HTTP status, which tells of any failed action.
        status: u16,
    },
    /// An action failed (502, 500) or goes on (202), which has been shown.
    #[error("")]
    Told {
        /// HTTP status.
        status: u16,
    },
    /// The same while something went on there: what this leaves unknown follows.
    #[error("{}", and(cause, more))]
    Lost {
        /// What happened.
        cause: ApiError,
        /// What is not known now.
        more: String,
    },
    /// What is asked for cannot be, which needs no answer of the platform's to be known.
    #[error("{0}")]
    Invalid(String),
    /// Something asked for does not exist, although the API answered well.
    #[error("{0}")]
    NotFound(String),
    /// The platform cannot be started on this machine.
    #[error("{0}")]
    CannotStart(String),
    /// The platform's data directory belongs to another process.
    #[error("{0}")]
    InUse(String),
    /// Somebody else has put a machine back while it was waited for.
    #[error("{0} takes flares again: somebody resumed it in the meantime")]
    Resumed(String),
    /// Flares run on for longer than they were to be waited for.
    #[error(
        "{invoker} takes no more flares, and after {} some still use {slots} of its slots; `burst admin flare list \
         --state running` lists those of all machines",
        humantime::format_duration(*waited)
    )]
    NotDrained {
        /// On which machine.
        invoker: String,
        /// In how many of its slots.
        slots: u32,
        /// How long that was.
        waited: Duration,
    },
    /// A flare ended, but not well.
    #[error("{sentence}")]
    Flare {
        /// How it ended.
        end: FlareEnd,
        /// Who failed at what, why, and where to read more.
        sentence: String,
    },
    /// The package cannot be built or is not one.
    #[error("{0}")]
    Build(String),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

/// The ways a flare ends other than by success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlareEnd {
    /// A worker or pack failed.
    Failed,
    /// Its deadline passed.
    TimedOut,
    /// Somebody cancelled it.
    Cancelled,
}

impl Error {
    /// The documented exit code of each kind of error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Output(cause) if cause.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::InUse(_)
            | Self::Resumed(_)
            | Self::Flare {
                end: FlareEnd::Failed,
                ..
            } => 1,
            Self::Usage(_) | Self::File { .. } | Self::Output(_) => 2,
            Self::NotFound(_) => 3,
            Self::Invalid(_) | Self::FeedRefused { .. } => 6,
            Self::Api(cause) | Self::Lost { cause, .. } | Self::Unable { cause, .. } => {
                code_of(cause)
            }
            Self::Told { status: 202 } => 9,
            Self::Told { .. } => 1,
            Self::CannotStart(_) => 8,
            Self::NotDrained { .. }
            | Self::Flare {
                end: FlareEnd::TimedOut,
                ..
            } => 9,
            Self::Flare {
                end: FlareEnd::Cancelled,
                ..
            } => 10,
            Self::Build(_) => 11,
        }
    }

    /// Says the error in one sentence on standard error and hands back its exit code.
    pub fn report(&self) -> ExitCode {
        self.report_as(self.exit_code())
    }

    /// The same with an exit code of the caller's.
    pub fn report_as(&self, code: u8) -> ExitCode {
        // Code 0 is a reader such as `head` that has seen enough: nothing to tell anyone.
        if code != 0 && !matches!(self, Self::Told { .. }) {
            // With standard error gone as well the exit code is all that can be said.
            let sentence = self.to_string();
            let mark = Style::new().red().bold().for_stderr().apply_to("error:");
            let _ = writeln!(io::stderr(), "{mark} {}", visible::line(&sentence));
        }
        ExitCode::from(code)
    }

    /// For use with `map_err` on file operations.
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File {
            action,
            path,
            cause,
        }
    }
}

fn code_of(cause: &ApiError) -> u8 {
    match cause {
        ApiError::Refused { status, .. } => match status {
            404 => 3,
            401 | 403 => 4,
            409 => 5,
            400..=499 => 6,
            _ => 8,
        },
        ApiError::BadRequest(_)
        | ApiError::BadAddress { .. }
        | ApiError::BadCredentials
        | ApiError::NoCertificate
        | ApiError::NoIdentity => 2,
        ApiError::Unreachable { .. } | ApiError::Broken { .. } => 7,
        ApiError::NoAnswer { .. } => 9,
        // The platform's failure, or HTTP's.
        _ => 8,
    }
}

/// As OpenWhisk's command line says it.
fn with_code(cause: &ApiError) -> String {
    match cause {
        ApiError::Refused {
            message,
            code: Some(code),
            ..
        } => format!("{message} (code {code})"),
        other => other.to_string(),
    }
}

/// The code of a refusal stays at the end.
fn and(cause: &ApiError, more: &str) -> String {
    match cause {
        ApiError::Refused {
            status,
            message,
            code,
        } => ApiError::Refused {
            status: *status,
            message: format!("{message}{more}"),
            code: code.clone(),
        }
        .to_string(),
        other => format!("{other}{more}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn refused(status: u16) -> Error {
        Error::Api(ApiError::Refused {
            status,
            message: "no".into(),
            code: Some("t1".into()),
        })
    }

    #[test]
    fn every_kind_has_its_documented_code() {
        let flare = |end| Error::Flare {
            end,
            sentence: String::new(),
        };
        for (error, code) in [
            (flare(FlareEnd::Failed), 1),
            (Error::Usage(String::new()), 2),
            (refused(404), 3),
            (refused(401), 4),
            (refused(403), 4),
            (refused(409), 5),
            (refused(400), 6),
            (refused(413), 6),
            (refused(429), 6),
            (Error::Invalid(String::new()), 6),
            (
                Error::Api(ApiError::Unreachable {
                    host: String::new(),
                    cause: String::new(),
                }),
                7,
            ),
            (refused(500), 8),
            (refused(503), 8),
            (flare(FlareEnd::TimedOut), 9),
            (flare(FlareEnd::Cancelled), 10),
            (Error::Build(String::new()), 11),
            (Error::Output(io::ErrorKind::BrokenPipe.into()), 0),
        ] {
            assert_eq!(error.exit_code(), code, "{error:?}");
        }
    }

    #[test]
    fn the_code_stays_at_the_end() {
        assert_eq!(refused(400).to_string(), "no [t1]");
        let Error::Api(cause) = refused(404) else {
            panic!("not the API's");
        };
        let more = "; who knows".into();
        let lost = Error::Lost { cause, more };
        assert_eq!(lost.to_string(), "no; who knows [t1]");
        assert_eq!(lost.exit_code(), 3);
    }
}
