//! Checks of a program's events: the program may bypass the SDK, and an invalid event must not cause failures in the
//! components that pass it on.

use std::ops::Range;

use burst_protocol::{
    Depth, Failure, FailureKind, IncomingEvent, MESSAGE, OPERATION_NAME, OUTPUT_DEPTH,
    OUTPUT_LIMIT, PHASE_NAME, PackEvent, PackId, ProgramEvent, RunPack, START_STEPS, Timestamp,
    WORK, without_values,
};

use crate::limits;
use crate::violation::ProtocolViolation;

/// What the events of a flare are checked against.
#[derive(Debug)]
pub(crate) struct Checks {
    /// The number of this run, which the program receives with it and cannot have known before.
    run: u64,
    /// Whether this is the first run on the program.
    first_run: bool,
    workers: Range<u32>,
    pack: PackId,
    advertise: String,
    /// Whether an event named no run or another one: events that arrive in the next run could then belong to this one.
    saw_other_run: bool,
}

impl Checks {
    pub(crate) fn new(pack: &RunPack, run: u64, first_run: bool) -> Self {
        Self {
            run,
            first_run,
            workers: pack.workers(),
            pack: pack.pack,
            advertise: pack.advertise.clone(),
            saw_other_run: false,
        }
    }

    /// Returns whether any event was not about this run.
    pub(crate) fn saw_other_run(&self) -> bool {
        self.saw_other_run
    }

    /// Reads the event of a frame, and corrects implausible times and texts that are too long; none if it is about
    /// another run. The error is why it cannot be passed on at all. `reason` is why the flare is being ended, if it is.
    pub(crate) fn read(
        &mut self,
        frame: &[u8],
        reason: Option<&Failure>,
    ) -> Result<Option<ProgramEvent>, ProtocolViolation> {
        let IncomingEvent { run, event } = serde_json::from_slice(frame)
            .map_err(|error| ProtocolViolation::NoEvent(without_values(&error.to_string())))?;
        if run != Some(self.run) {
            self.saw_other_run = true;
            // Programs that were built before runs had numbers name none, and run only once.
            if run.is_some() || !self.first_run {
                return Ok(None);
            }
        }
        match bounded(frame, event)? {
            ProgramEvent::Pack(event) => self.fit(event, reason).map(ProgramEvent::Pack),
            ProgramEvent::Dying { worker, signal } => Ok(ProgramEvent::Dying {
                worker,
                signal: signal.filter(|signal| limits::DYING_SIGNALS.contains(signal)),
            }),
            other @ ProgramEvent::Hello { .. } => Ok(other),
        }
        .map(Some)
    }

    fn fit(
        &self,
        mut event: PackEvent,
        reason: Option<&Failure>,
    ) -> Result<PackEvent, ProtocolViolation> {
        match &mut event {
            PackEvent::Ready {
                endpoint: Some(endpoint),
                ..
            } if !is_at(endpoint, &self.advertise) => {
                return Err(ProtocolViolation::Elsewhere);
            }
            PackEvent::Phase { name, .. } => cut(name, PHASE_NAME),
            PackEvent::WorkerFailed { worker, error, .. } => {
                self.fit_failure(error);
                error.worker = Some(*worker);
            }
            PackEvent::PackEnded { error, traffic, .. } => {
                if let Some(error) = error {
                    self.fit_failure(error);
                    let cancelled = FailureKind::Cancelled;
                    if error.kind == cancelled
                        && reason.is_none_or(|reason| reason.kind != cancelled)
                    {
                        error.kind = FailureKind::Error;
                    }
                }
                if let Some(traffic) = traffic {
                    traffic.messages = traffic.messages.min(limits::MESSAGES_SENT);
                    traffic.bytes = traffic.bytes.min(limits::BYTES_SENT);
                }
            }
            PackEvent::Ready { .. }
            | PackEvent::WorkerStarted { .. }
            | PackEvent::Log { .. }
            | PackEvent::WorkerSucceeded { .. } => {}
        }
        let at = time_of(&mut event);
        // The program has the same clock.
        let now = Timestamp::now();
        if at.distance(now) > limits::SKEW {
            *at = now;
        }
        Ok(event)
    }

    /// Restricts a failure to the program's own workers, and to what they can know.
    fn fit_failure(&self, failure: &mut Failure) {
        if !may_claim(failure.kind) {
            failure.kind = FailureKind::Error;
        }
        shorten(&mut failure.message, MESSAGE);
        if let Some(operation) = &mut failure.operation {
            cut(operation, OPERATION_NAME);
            if START_STEPS.contains(&operation.as_str()) {
                WORK.clone_into(operation);
            }
        }
        failure.invoker = None;
        failure.pack = Some(self.pack);
        failure.worker = failure
            .worker
            .filter(|worker| self.workers.contains(worker));
    }
}

/// Returns whether a program may report that this happened to one of its workers. What happens to its process, to packs
/// and to machines the platform finds out itself. Whether a worker was cancelled is known to the controller: a pack may
/// learn of that from another pack before this runtime does.
fn may_claim(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Error
            | FailureKind::Panic
            | FailureKind::Timeout
            | FailureKind::Cancelled
            | FailureKind::PeerFailed
            | FailureKind::StartFailed
            | FailureKind::Backend
            | FailureKind::InvalidInput
            | FailureKind::Internal
    )
}

/// Returns whether an endpoint is the advertised Unix socket, or a port at the advertised address.
fn is_at(endpoint: &str, address: &str) -> bool {
    if endpoint.starts_with("unix:") {
        return endpoint == address;
    }
    let Some((host, port)) = endpoint.rsplit_once(':') else {
        return false;
    };
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    host == address && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Returns the event, unless it is nested too deeply: its next reader may be recursive. A worker whose output is nested
/// too deeply, or too long, fails.
fn bounded(frame: &[u8], event: ProgramEvent) -> Result<ProgramEvent, ProtocolViolation> {
    // One level more, as the output is within the event.
    let shallow = Depth::is_within(OUTPUT_DEPTH + 1, frame);
    let (worker, at, refused) = match event {
        ProgramEvent::Pack(PackEvent::WorkerSucceeded { worker, at, .. }) if !shallow => {
            (worker, at, RefusedOutput::TooDeep)
        }
        _ if !shallow => return Err(ProtocolViolation::TooDeep),
        ProgramEvent::Pack(PackEvent::WorkerSucceeded {
            worker,
            at,
            ref output,
        }) if output.get().len() > OUTPUT_LIMIT => (worker, at, RefusedOutput::TooLarge),
        event => return Ok(event),
    };
    let error = Failure::new(FailureKind::Error, refused.to_string()).in_operation(WORK);
    Ok(ProgramEvent::Pack(PackEvent::WorkerFailed {
        worker,
        error,
        at,
    }))
}

/// Why an output is not passed on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RefusedOutput {
    #[error("the output is nested more than {OUTPUT_DEPTH} levels deep as JSON")]
    TooDeep,
    #[error("the output is larger than {} MiB as JSON", OUTPUT_LIMIT >> 20)]
    TooLarge,
}

fn time_of(event: &mut PackEvent) -> &mut Timestamp {
    match event {
        PackEvent::Ready { at, .. }
        | PackEvent::WorkerStarted { at, .. }
        | PackEvent::Phase { at, .. }
        | PackEvent::Log { at, .. }
        | PackEvent::WorkerSucceeded { at, .. }
        | PackEvent::WorkerFailed { at, .. }
        | PackEvent::PackEnded { at, .. } => at,
    }
}

fn cut(text: &mut String, limit: usize) {
    text.truncate(text.floor_char_boundary(limit));
}

/// Cuts a sentence that is too long, and marks that with an ellipsis.
pub(crate) fn shorten(text: &mut String, limit: usize) {
    if text.len() > limit {
        cut(text, limit);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use serde_json::{Value, json};

    /// Pack 1 of three packs of two workers each, in run 7.
    fn checks() -> Checks {
        let run = json!({
            "flareId": "f", "pack": 1, "packSizes": [2, 2, 2], "inputs": {"shared": 1},
            "backend": {"kind": "direct"}, "secret": "", "advertise": "10.0.0.7", "deadline": 1
        });
        Checks::new(&serde_json::from_str(&run.to_string()).unwrap(), 7, false)
    }

    fn read(event: Value) -> Result<Option<ProgramEvent>, ProtocolViolation> {
        checks().read(event.to_string().as_bytes(), None)
    }

    fn failure(error: Value) -> Failure {
        let event =
            json!({"event": "worker-failed", "run": 7, "worker": 2, "at": 1, "error": error});
        let read = checks().read(event.to_string().as_bytes(), None).unwrap();
        let Some(ProgramEvent::Pack(PackEvent::WorkerFailed { error, .. })) = read else {
            panic!("{read:?}")
        };
        error
    }

    #[test]
    fn a_program_reports_only_kinds_that_its_workers_can_know() {
        for kind in [
            "error",
            "panic",
            "timeout",
            "cancelled",
            "peer-failed",
            "start-failed",
            "backend",
        ] {
            let error = failure(json!({"kind": kind, "message": "m"}));
            assert_eq!(serde_json::to_value(error.kind).unwrap(), kind);
        }
        let others = [
            "invoker-lost",
            "pack-lost",
            "controller-restarted",
            "out-of-memory",
        ];
        for kind in others.into_iter().chain(["signal", "abort", "exit"]) {
            let error = failure(json!({"kind": kind, "message": "m"}));
            assert_eq!(error.kind, FailureKind::Error, "{kind}");
        }
    }

    #[test]
    fn a_program_cannot_report_steps_of_a_start() {
        for step in START_STEPS {
            let error = failure(json!({"kind": "error", "message": "m", "operation": step}));
            assert_eq!(error.operation.as_deref(), Some(WORK), "{step}");
        }
    }

    #[test]
    fn a_failure_is_attributed_to_its_worker_and_to_no_machine() {
        let error = failure(
            json!({"kind": "start-failed", "message": "m", "worker": 3, "pack": 0, "invoker": "other",
                "operation": "fetch"}),
        );
        assert_eq!(
            (error.worker, error.pack, error.invoker),
            (Some(2), Some(PackId(1)), None)
        );
        assert_eq!(error.operation.as_deref(), Some("work"));
    }

    #[test]
    fn an_endpoint_at_another_host_is_refused() {
        let ready = |endpoint: Value| {
            read(json!({"event": "ready", "run": 7, "endpoint": endpoint, "at": 1}))
        };
        for right in [json!("10.0.0.7:40001"), Value::Null] {
            assert!(ready(right.clone()).is_ok(), "{right}");
        }
        for wrong in [
            "10.0.0.8:40001",
            "10.0.0.7",
            "10.0.0.7:0",
            "10.0.0.7:40001/x",
            "",
            ":1",
        ] {
            assert!(ready(json!(wrong)).is_err(), "{wrong}");
        }
        assert!(is_at("[::1]:9", "::1"));
        assert!(is_at("unix:/a", "unix:/a"));
        assert!(!is_at("unix:/b", "unix:/a") && !is_at("unix:/a", "127.0.0.1"));
    }

    #[test]
    fn events_of_another_run_are_ignored() {
        let succeeded = |run: Value| {
            json!({"event": "worker-succeeded", "run": run, "worker": 2, "output": 1, "at": 1})
                .to_string()
        };
        for (run, first_run, heard, saw_other_run) in [
            (json!(7), false, true, false),
            (json!(6), false, false, true),
            (json!(6), true, false, true),
            (Value::Null, false, false, true),
            (Value::Null, true, true, true),
        ] {
            let mut checks = Checks {
                first_run,
                ..checks()
            };
            let event = checks
                .read(succeeded(run.clone()).as_bytes(), None)
                .unwrap();
            assert_eq!(
                (event.is_some(), checks.saw_other_run()),
                (heard, saw_other_run),
                "{run} {first_run}"
            );
        }
    }

    #[test]
    fn an_output_that_only_fits_its_frame_is_too_large() {
        for (length, fits) in [(OUTPUT_LIMIT, true), (OUTPUT_LIMIT + 1, false)] {
            let output = "x".repeat(length - 2);
            let event = json!({"event": "worker-succeeded", "run": 7, "worker": 2, "output": output, "at": 1});
            let Some(ProgramEvent::Pack(event)) = read(event).unwrap() else {
                panic!("no event")
            };
            assert_eq!(
                matches!(event, PackEvent::WorkerSucceeded { .. }),
                fits,
                "{length}"
            );
        }
    }
}
