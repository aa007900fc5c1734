//! A failure: why a worker, a pack or a whole flare ended badly.
//!
//! One shape on both sides of every boundary: it is what a worker reports, what is passed to
//! the peers of a failed worker, and what a user reads in the flare's status.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::pack_id::PackId;

/// What sort of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The work function returned an error.
    Error,
    /// The work function panicked.
    Panic,
    /// The process aborted.
    Abort,
    /// The process exited while workers were running.
    Exit,
    /// A signal ended the process.
    Signal,
    /// The process was killed for using too much memory.
    OutOfMemory,
    /// A deadline passed.
    Timeout,
    /// The flare was cancelled.
    Cancelled,
    /// An operation ended because another worker failed.
    PeerFailed,
    /// A pack was lost.
    PackLost,
    /// A machine that ran packs was lost.
    InvokerLost,
    /// A pack could not be started.
    StartFailed,
    /// The backend, which carries messages between packs, failed.
    Backend,
    /// A worker was given an input it cannot read.
    InvalidInput,
    /// The controller restarted and could not resume the flare.
    ControllerRestarted,
    /// A bug in the platform itself.
    Internal,
}

impl FailureKind {
    /// Returns what happened, as a phrase that follows the name of the worker, pack or flare.
    fn phrase(self) -> &'static str {
        match self {
            Self::Error => "returned an error",
            Self::Panic => "panicked",
            Self::Abort => "aborted its process",
            Self::Exit => "exited the process",
            Self::Signal => "was ended by a signal",
            Self::OutOfMemory => "ran out of memory",
            Self::Timeout => "timed out",
            Self::Cancelled => "was cancelled",
            Self::PeerFailed => "was stopped because another worker failed",
            Self::PackLost => "was lost",
            Self::InvokerLost => "was lost together with its machine",
            Self::StartFailed => "could not be started",
            Self::Backend => "lost the connection to its peers",
            Self::InvalidInput => "was given an invalid input",
            Self::ControllerRestarted => "could not be resumed after a restart of the controller",
            Self::Internal => "failed because of an internal error",
        }
    }
}

/// Why something failed, and which worker or pack it was.
///
/// ```
/// use burst_bcm::{Failure, FailureKind, PackId};
///
/// let mut failure = Failure::new(FailureKind::Panic, "index out of bounds");
/// failure.worker = Some(3);
/// failure.pack = Some(PackId(0));
/// failure.operation = Some("work".into());
/// assert_eq!(
///     failure.to_string(),
///     "worker 3 of pack 0 panicked in work: index out of bounds"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What sort of failure it was.
    pub kind: FailureKind,
    /// The worker that failed first, when it is known.
    #[serde(default)]
    pub worker: Option<u32>,
    /// The pack that failed or whose worker did, when it is known.
    #[serde(default)]
    pub pack: Option<PackId>,
    /// The invoker that ran the pack, when it is known.
    #[serde(default)]
    pub invoker: Option<String>,
    /// The operation that failed: `work`, or the name of a communication.
    #[serde(default)]
    pub operation: Option<String>,
    /// The cause, in words.
    pub message: String,
}

impl Failure {
    /// A failure that names no worker or pack yet.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            worker: None,
            pack: None,
            invoker: None,
            operation: None,
            message: message.into(),
        }
    }

    /// The flare's deadline has passed, which is no worker's failure: what each worker was doing shows which of
    /// them kept the flare from ending.
    pub fn overdue() -> Self {
        Self::new(FailureKind::Timeout, "the flare's deadline has passed")
    }

    /// Whether this is the timeout of the flare, and not of one worker's operation.
    pub fn is_overdue(&self) -> bool {
        self.kind == FailureKind::Timeout && self.worker.is_none()
    }

    /// Replaces the failure of a peer and a timeout by the flare's own timeout if the flare is `overdue`: the peer
    /// is then not to blame, as it only met the same deadline a moment earlier.
    #[must_use]
    pub fn unless_overdue(self, overdue: bool) -> Self {
        match self.kind {
            FailureKind::PeerFailed | FailureKind::Timeout if overdue => Self::overdue(),
            _ => self,
        }
    }

    /// The same failure, naming the worker and its pack.
    #[must_use]
    pub fn of_worker(mut self, worker: u32, pack: PackId) -> Self {
        self.worker = Some(worker);
        self.pack = Some(pack);
        self
    }

    /// The same failure, naming the operation.
    #[must_use]
    pub fn in_operation(mut self, operation: impl Into<String>) -> Self {
        self.operation = Some(operation.into());
        self
    }

    /// Returns who failed, how and in which operation, without the cause.
    fn what(&self) -> String {
        let who = match (self.worker, self.pack) {
            (Some(worker), Some(pack)) => format!("worker {worker} of pack {pack}"),
            (Some(worker), None) => format!("worker {worker}"),
            (None, Some(pack)) => format!("pack {pack}"),
            (None, None) => "the flare".into(),
        };
        let on = self.invoker.as_ref().map(|it| format!(" on {it}"));
        let during = self.operation.as_ref().map(|it| format!(" in {it}"));
        format!(
            "{who}{} {}{}",
            on.unwrap_or_default(),
            self.kind.phrase(),
            during.unwrap_or_default()
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.what();
        f.write_str(&what)?;
        // A message that only repeats this, such as "the flare was cancelled", is left out.
        if !self.message.is_empty() && self.message != what {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn its_json_has_the_fields_of_the_contract() {
        let failure = Failure::new(FailureKind::OutOfMemory, "killed").of_worker(3, PackId(0));
        let json = serde_json::to_value(&failure).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"kind":"out-of-memory","worker":3,"pack":0,"invoker":null,
                "operation":null,"message":"killed"})
        );
        let back: Failure =
            serde_json::from_str(r#"{"kind":"pack-lost","pack":1,"message":""}"#).unwrap();
        assert_eq!(back.to_string(), "pack 1 was lost");
    }

    #[test]
    fn a_message_that_repeats_the_kind_is_shown_once() {
        let cancelled = |message: &str| Failure::new(FailureKind::Cancelled, message).to_string();
        assert_eq!(
            cancelled("the flare was cancelled"),
            "the flare was cancelled"
        );
        assert_eq!(
            cancelled("the group was closed"),
            "the flare was cancelled: the group was closed"
        );
    }
}
