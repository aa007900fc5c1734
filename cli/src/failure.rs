//! Failures as sentences.

use burst_client::{Failure, FailureKind, Flare, FlareState};

use crate::error::{Error, FlareEnd};

/// Describes a failure in one line.
pub fn describe(failure: &Failure) -> String {
    let subject = subject(failure);
    // A worker reads its input before any operation begins.
    let operation = match failure.operation.as_deref() {
        Some(operation) if failure.kind != FailureKind::InvalidInput => format!(" in {operation}"),
        _ => String::new(),
    };
    let what = format!("{subject} {}{operation}", verb(&failure.kind));
    let message = one_line(&failure.message);
    if message.is_empty() || message == what {
        what
    } else {
        format!("{what}: {message}")
    }
}

/// Returns the error for a flare that ended badly; `None` for any other flare.
pub fn of_flare(flare: &Flare) -> Option<Error> {
    let cause = flare.error.as_ref().or_else(|| {
        // The worker that failed first says more than the peers that failed because of it.
        let errors = || {
            flare
                .workers
                .iter()
                .filter_map(|worker| worker.error.as_ref())
        };
        errors()
            .find(|failure| failure.kind != FailureKind::PeerFailed)
            .or_else(|| errors().next())
    });
    of_state(&flare.flare_id, &flare.state, cause)
}

/// Does the same from the parts of a flare that every answer about it contains.
pub fn of_state(id: &str, state: &FlareState, cause: Option<&Failure>) -> Option<Error> {
    let end = match state {
        FlareState::Failed => FlareEnd::Failed,
        FlareState::TimedOut => FlareEnd::TimedOut,
        FlareState::Cancelled => FlareEnd::Cancelled,
        _ => return None,
    };
    let what = match end {
        FlareEnd::Failed => "failed",
        FlareEnd::TimedOut => "timed out",
        FlareEnd::Cancelled => "was cancelled",
    };
    let mut sentence = format!("flare {id} {what}");
    match cause {
        // "was cancelled: the flare was cancelled" would say it twice.
        Some(cause) if end == FlareEnd::Cancelled && cause.worker.is_none() => {}
        // A worker that did not begin has written nothing to the log.
        Some(cause) if cause.kind == FailureKind::InvalidInput => {
            sentence += &format!(": {}", describe(cause));
        }
        Some(cause) => {
            sentence += &format!(": {}; see `burst logs {id}", describe(cause));
            if let Some(worker) = cause.worker {
                sentence += &format!(" --worker {worker}");
            }
            sentence.push('`');
        }
        None => sentence += &format!("; see `burst logs {id}`"),
    }
    Some(Error::Flare { end, sentence })
}

fn subject(failure: &Failure) -> String {
    let on = match failure.invoker.as_deref() {
        Some(invoker) => format!(" on {invoker}"),
        None => String::new(),
    };
    match (failure.worker, failure.pack) {
        (Some(worker), Some(pack)) => format!("worker {worker} (pack {pack}{on})"),
        (Some(worker), None) => format!("worker {worker}{on}"),
        (None, Some(pack)) => format!("pack {pack}{on}"),
        (None, None) => failure
            .invoker
            .clone()
            .unwrap_or_else(|| "the flare".into()),
    }
}

fn verb(kind: &FailureKind) -> String {
    match kind {
        FailureKind::Error => "returned an error".into(),
        FailureKind::Panic => "panicked".into(),
        FailureKind::Abort => "aborted".into(),
        FailureKind::Exit => "exited".into(),
        FailureKind::Signal => "was killed by a signal".into(),
        FailureKind::OutOfMemory => "ran out of memory".into(),
        FailureKind::Timeout => "timed out".into(),
        FailureKind::Cancelled => "was cancelled".into(),
        FailureKind::PeerFailed => "was stopped by the failure of another".into(),
        FailureKind::PackLost | FailureKind::InvokerLost => "was lost".into(),
        FailureKind::StartFailed => "could not be started".into(),
        FailureKind::Backend => "lost its backend".into(),
        FailureKind::InvalidInput => "could not read its input".into(),
        FailureKind::ControllerRestarted => "was lost when the controller restarted".into(),
        other => format!("failed ({other})"),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn failure(json: &str) -> Failure {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_failure_names_worker_pack_operation_and_cause() {
        let full = failure(
            r#"{"kind":"panic","worker":3,"pack":0,"invoker":"invoker0","operation":"work","message":"index out\nof bounds"}"#,
        );
        assert_eq!(
            describe(&full),
            "worker 3 (pack 0 on invoker0) panicked in work: index out of bounds"
        );
        let input =
            failure(r#"{"kind":"invalid-input","worker":0,"operation":"work","message":"no"}"#);
        assert_eq!(describe(&input), "worker 0 could not read its input: no");
        let pack = failure(r#"{"kind":"pack-lost","pack":1,"worker":null,"message":""}"#);
        assert_eq!(describe(&pack), "pack 1 was lost");
        let other = failure(r#"{"kind":"internal","message":"oops"}"#);
        assert_eq!(describe(&other), "the flare failed (internal): oops");
        let cancelled = failure(r#"{"kind":"cancelled","message":"the flare was cancelled"}"#);
        assert_eq!(describe(&cancelled), "the flare was cancelled");
    }

    #[test]
    fn a_worker_failure_suggests_the_logs_command() {
        let cause = failure(r#"{"kind":"error","worker":3,"message":"no"}"#);
        let error = of_state("f1", &FlareState::Failed, Some(&cause)).unwrap();
        assert_eq!(
            error.to_string(),
            "flare f1 failed: worker 3 returned an error: no; see `burst logs f1 --worker 3`"
        );
        let input = failure(r#"{"kind":"invalid-input","worker":0,"message":"no name"}"#);
        let error = of_state("f1", &FlareState::Failed, Some(&input)).unwrap();
        assert_eq!(
            error.to_string(),
            "flare f1 failed: worker 0 could not read its input: no name"
        );
        assert!(of_state("f1", &FlareState::Succeeded, None).is_none());
    }
}
