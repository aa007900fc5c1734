//! Everything that can go wrong, as data, and the one place that turns it into an exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use burst_client::Error as ApiError;
use console::Style;

use crate::package::error::PackageError;
use crate::visible;

/// Why a command failed. An error of usage, or something missing, is only a sentence, written where it is detected: no
/// code distinguishes one such error from another.
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
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The platform refused, failed, or could not be reached.
    #[error("{}", and(.0, start_one(.0)))]
    Api(#[from] ApiError),
    /// The same, with the operation on an OpenWhisk entity that failed.
    #[error("Unable to {what}: {}", with_code(cause))]
    Unable {
        /// The operation that failed.
        what: String,
        /// The cause.
        cause: ApiError,
    },
    /// A feed rejected a request, with its action's own answer.
    #[error("Unable to {what}: {why}")]
    FeedRefused {
        /// The operation that failed.
        what: String,
        /// The feed's reason.
        why: String,
        /// HTTP status, the same as for any failed action.
        status: u16,
    },
    /// An action failed (502, 500) or is still running (202), which has already been shown.
    #[error("")]
    AlreadyShown {
        /// HTTP status.
        status: u16,
    },
    /// An error of the API, with what it leaves unknown or where to look.
    #[error("{}", and(cause, more))]
    With {
        /// The cause.
        cause: ApiError,
        /// The text that follows its sentence.
        more: String,
    },
    /// A prefix of an id is so short that too many ids can share it.
    #[error(
        "{given} is too short for a {kind}'s id: give at least {shortest} of its {length} characters"
    )]
    ShortId {
        /// The text that was given.
        given: String,
        /// The kind of thing that it should identify.
        kind: &'static str,
        /// The least number of characters.
        shortest: usize,
        /// The number of characters of a whole id.
        length: usize,
    },
    /// A text does not have the form of an id.
    #[error(
        "\"{given}\" is not a {kind}'s id: that has {length} hexadecimal digits, of which the first {shortest} or more \
         may be given; `{listed_by}` lists ids"
    )]
    NoId {
        /// The text that was given.
        given: String,
        /// The kind of thing that it should identify.
        kind: &'static str,
        /// The command that lists ids.
        listed_by: &'static str,
        /// The least number of digits.
        shortest: usize,
        /// The number of digits of a whole id.
        length: usize,
    },
    /// A flare does not have the requested worker.
    #[error("flare {id} has {}, and no worker {worker}", workers(*size))]
    NoWorker {
        /// The flare's id.
        id: String,
        /// How many workers it has.
        size: u32,
        /// The requested worker.
        worker: u32,
    },
    /// Something requested does not exist, although the API reported no error.
    #[error("{0}")]
    NotFound(String),
    /// The outputs of a flare are not in the order that the API promises, by which they are printed.
    #[error("the platform's answer could not be understood: its outputs are not by worker")]
    Disordered,
    /// Something cannot be started on this machine.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The platform's data directory belongs to another process.
    #[error("{0}: stop that one, or give this one another directory with --data")]
    InUse(InUse),
    /// Somebody else resumed a machine while the command waited for it to drain.
    #[error("{0} takes flares again: somebody resumed it in the meantime")]
    Resumed(String),
    /// Flares were still running on a machine when the time to wait for them was up.
    #[error(
        "{invoker} takes no more flares, and after {} some still use {slots} of its slots; `burst admin flare list \
         --state running` lists those of all machines",
        humantime::format_duration(*waited)
    )]
    NotDrained {
        /// The machine.
        invoker: String,
        /// The number of its slots that they use.
        slots: u32,
        /// How long the command waited.
        waited: Duration,
    },
    /// A flare ended without success.
    #[error("{sentence}")]
    Flare {
        /// How it ended.
        end: FlareEnd,
        /// Who failed at what, why, and where to read more.
        sentence: String,
    },
    /// The package cannot be built or is invalid.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

/// A data directory that another process already uses.
#[derive(Debug, thiserror::Error)]
#[error("{} is used by another platform (process {owner})", data.display())]
pub struct InUse {
    /// The directory.
    pub data: PathBuf,
    /// The id of that process.
    pub owner: String,
}

/// Why the platform, or a command, cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No JVM was found.
    #[error("java was not found: install a Java runtime (17 or later), or set JAVA_HOME")]
    NoJava,
    /// The JVM cannot be executed.
    #[error("cannot start {}: {cause}", program.display())]
    Java {
        /// Its program.
        program: OsString,
        /// The system's error.
        cause: io::Error,
    },
    /// This program cannot determine its own path.
    #[error("cannot tell where Burst is: {0}")]
    Home(#[source] io::Error),
    /// A part of the platform is not where it should be.
    #[error("{} is missing: run `make build`, or set BURST_HOME to where Burst is installed", .0.display())]
    Missing(PathBuf),
    /// Signals cannot be waited for.
    #[error("cannot listen for interrupts: {0}")]
    Interrupts(#[source] io::Error),
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
            Self::ShortId { .. }
            | Self::NoId { .. }
            | Self::NoWorker { .. }
            | Self::FeedRefused { .. } => 6,
            Self::Api(cause) | Self::With { cause, .. } | Self::Unable { cause, .. } => {
                code_of(cause)
            }
            Self::AlreadyShown { status: 202 } => 9,
            Self::AlreadyShown { .. } => 1,
            Self::Start(_) | Self::Disordered => 8,
            Self::NotDrained { .. }
            | Self::Flare {
                end: FlareEnd::TimedOut,
                ..
            } => 9,
            Self::Flare {
                end: FlareEnd::Cancelled,
                ..
            } => 10,
            Self::Package(_) => 11,
        }
    }

    /// Prints the error as one sentence on standard error and returns its exit code.
    pub fn report(&self) -> ExitCode {
        self.report_as(self.exit_code())
    }

    /// Does the same with an exit code from the caller.
    pub fn report_as(&self, code: u8) -> ExitCode {
        // Code 0 means that a reader such as `head` has seen enough: there is nothing to report.
        if code != 0 && !matches!(self, Self::AlreadyShown { .. }) {
            // If standard error is closed as well, only the exit code can report the error.
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
        // A failure of the platform, or of HTTP.
        _ => 8,
    }
}

/// Formats an error as OpenWhisk's command line does.
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

/// Names the workers of a flare of this size.
fn workers(size: u32) -> String {
    match size {
        1 => "only worker 0".into(),
        _ => format!("workers 0 to {}", size.saturating_sub(1)),
    }
}

/// Returns a hint to start a platform, if nothing listens at an address of this machine.
fn start_one(cause: &ApiError) -> &'static str {
    match cause {
        ApiError::Unreachable { host, cause }
            if is_here(host) && cause.kind() == Some(io::ErrorKind::ConnectionRefused) =>
        {
            "; `burst standalone` starts one here"
        }
        _ => "",
    }
}

/// Whether an address belongs to this machine.
fn is_here(host: &str) -> bool {
    let host = host.split_once("://").map_or(host, |(_, host)| host);
    ["localhost", "127.", "[::1]"]
        .iter()
        .any(|here| host.starts_with(here))
}

/// Appends a text to an error's sentence; the code of a refusal stays at the end.
fn and(cause: &ApiError, more: &str) -> String {
    match cause {
        ApiError::Refused {
            status,
            message,
            code,
        } => ApiError::Refused {
            status: *status,
            message: match more {
                "" => message.clone(),
                more => format!("{}{more}", message.trim_end_matches('.')),
            },
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
    use burst_client::ConnectionError;

    fn refused(status: u16) -> Error {
        Error::Api(ApiError::Refused {
            status,
            message: "no".into(),
            code: Some("t1".into()),
        })
    }

    #[test]
    fn every_error_has_its_documented_exit_code() {
        let flare = |end| Error::Flare {
            end,
            sentence: String::new(),
        };
        let short = Error::ShortId {
            given: String::new(),
            kind: "flare",
            shortest: 4,
            length: 32,
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
            (short, 6),
            (
                Error::Api(ApiError::Unreachable {
                    host: String::new(),
                    cause: ConnectionError::TimedOut,
                }),
                7,
            ),
            (refused(500), 8),
            (refused(503), 8),
            (flare(FlareEnd::TimedOut), 9),
            (flare(FlareEnd::Cancelled), 10),
            (PackageError::Empty("x".into()).into(), 11),
            (Error::Output(io::ErrorKind::BrokenPipe.into()), 0),
        ] {
            assert_eq!(error.exit_code(), code, "{error:?}");
        }
    }

    #[test]
    fn the_transaction_code_stays_at_the_end() {
        assert_eq!(refused(400).to_string(), "no [t1]");
        let Error::Api(cause) = refused(404) else {
            panic!("not the API's");
        };
        let more = "; who knows".into();
        let lost = Error::With { cause, more };
        assert_eq!(lost.to_string(), "no; who knows [t1]");
        assert_eq!(lost.exit_code(), 3);
    }
}
