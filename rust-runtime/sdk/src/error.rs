//! The error of a work function.

use std::error::Error as StdError;
use std::fmt;

use burst_bcm::{Failure, FailureKind, PackId};
use burst_protocol::WORK;

/// The error of a work function, which then has no output.
///
/// Anything that implements [`std::error::Error`] becomes one with `?`; [`Error::new`] makes one
/// from a sentence. (It does not implement `std::error::Error` itself: that is what allows the
/// conversion from everything that does.)
///
/// ```
/// use burst::Error;
///
/// fn parse(text: &str) -> Result<u16, Error> {
///     let port: u16 = text.parse()?;
///     if port < 1024 {
///         return Err(Error::new(format!("port {port} is reserved")));
///     }
///     Ok(port)
/// }
/// assert_eq!(parse("80").unwrap_err().to_string(), "port 80 is reserved");
/// assert!(parse("http").is_err());
/// ```
pub struct Error {
    cause: Box<dyn StdError + Send + Sync>,
}

impl Error {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            cause: Box::new(Message(message.into())),
        }
    }

    /// The first error of type `E` among this one and its sources.
    ///
    /// ```
    /// let error = burst::Error::from(std::io::Error::other("disk on fire"));
    /// assert!(error.find::<std::io::Error>().is_some());
    /// assert!(error.find::<std::fmt::Error>().is_none());
    /// ```
    pub fn find<E: StdError + 'static>(&self) -> Option<&E> {
        let mut next: Option<&(dyn StdError + 'static)> = Some(self.cause.as_ref());
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }

    /// The failure to report for the worker whose function returned this error.
    pub(crate) fn to_failure(&self, worker: u32, pack: PackId) -> Failure {
        let mut failure = match self.find::<burst_bcm::Error>() {
            Some(error) => failure_of(error, worker, pack),
            None => Failure::new(FailureKind::Error, "").of_worker(worker, pack),
        };
        failure.message = self.to_string();
        failure.operation.get_or_insert_with(|| WORK.to_owned());
        failure
    }
}

/// The failure of a worker whose communication ended with `error`. If the flare's timeout or
/// cancellation ended it, the failure is reported as that, not as a peer's.
pub(crate) fn failure_of(error: &burst_bcm::Error, worker: u32, pack: PackId) -> Failure {
    let mut failure = error.to_failure(Some(worker), Some(pack));
    if let burst_bcm::Error::Aborted(cause) = error
        && cause.worker.is_none()
        && matches!(cause.kind, FailureKind::Timeout | FailureKind::Cancelled)
    {
        failure.kind = cause.kind;
    }
    failure
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(cause: E) -> Self {
        Self {
            cause: Box::new(cause),
        }
    }
}

/// The error and its sources, in one line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.cause.to_string();
        f.write_str(&shown)?;
        let mut next = self.cause.source();
        while let Some(error) = next {
            // Many errors print their source themselves: it is printed only once.
            let text = error.to_string();
            if !shown.contains(&text) {
                write!(f, ": {text}")?;
                shown = text;
            }
            next = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cause, f)
    }
}

struct Message(String);

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl StdError for Message {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("step two")]
    struct Wrapped(#[source] burst_bcm::Error);

    fn aborted() -> burst_bcm::Error {
        let cause = Failure::new(FailureKind::Panic, "boom").of_worker(3, PackId(0));
        burst_bcm::Error::Aborted(cause)
    }

    #[test]
    fn a_failed_peer_is_recognised_inside_an_error_of_the_function() {
        for error in [Error::from(aborted()), Error::from(Wrapped(aborted()))] {
            let failure = error.to_failure(1, PackId(0));
            assert_eq!(failure.kind, FailureKind::PeerFailed);
            assert_eq!((failure.worker, failure.pack), (Some(1), Some(PackId(0))));
            assert!(failure.message.contains("worker 3"), "{failure}");
            assert!(failure.message.contains("boom"), "{failure}");
        }
    }

    #[test]
    fn an_error_of_the_function_has_the_kind_error() {
        let failure = Error::new("no such city").to_failure(1, PackId(0));
        assert_eq!(failure.kind, FailureKind::Error);
        assert_eq!(failure.message, "no such city");
        assert_eq!(failure.operation.as_deref(), Some("work"));
    }

    #[test]
    fn sources_show_once() {
        let shown = Error::from(Wrapped(aborted())).to_string();
        assert!(
            shown.starts_with("step two: the flare was aborted"),
            "{shown}"
        );
        assert_eq!(shown.matches("boom").count(), 1, "{shown}");
    }
}
