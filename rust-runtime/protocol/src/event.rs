//! The events that a program and a pack report.

use std::borrow::Cow;

use burst_bcm::Failure;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::timestamp::Timestamp;
use crate::versions::Versions;

/// Which of the two output streams a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogStream {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// An event that a pack reports while it runs. `PackEnded` is always the last one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", try_from = "Fields")]
#[allow(
    missing_docs,
    reason = "the fields are described in docs/architecture/runtime.md"
)]
pub enum PackEvent {
    /// The pack has joined the flare.
    Ready {
        endpoint: Option<String>,
        at: Timestamp,
    },
    /// The worker entered the work function.
    WorkerStarted { worker: u32, at: Timestamp },
    /// The worker entered a phase that its code names.
    Phase {
        worker: u32,
        name: String,
        at: Timestamp,
    },
    /// Lines of output, separated by line feeds; without a `worker`, output of the pack itself.
    Log {
        worker: Option<u32>,
        stream: LogStream,
        text: String,
        at: Timestamp,
    },
    /// The work function returned its output.
    WorkerSucceeded {
        worker: u32,
        output: Box<RawValue>,
        at: Timestamp,
    },
    /// The worker ended without an output.
    WorkerFailed {
        worker: u32,
        error: Failure,
        at: Timestamp,
    },
    /// The pack has ended; no event follows.
    PackEnded {
        reusable: bool,
        error: Option<Failure>,
        at: Timestamp,
        #[serde(skip_serializing_if = "Option::is_none")]
        traffic: Option<Traffic>,
    },
}

/// What a pack has sent to the other packs of its flare, as counted by its program: a broadcast counts once for each
/// pack it goes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The number of messages.
    pub messages: u64,
    /// The bytes of their values.
    pub bytes: u64,
}

/// The events that carry an output to the invoker instead of [`PackEvent::WorkerSucceeded`]: its text in pieces, so
/// that no component after the runtime has to hold a whole output or parse it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(
    missing_docs,
    reason = "the fields are described in docs/architecture/runtime.md"
)]
pub enum OutputEvent<'a> {
    /// A piece of an output; more follow.
    Output { worker: u32, text: Cow<'a, str> },
    /// The last piece of an output, or all of it.
    WorkerSucceeded {
        worker: u32,
        output: Cow<'a, str>,
        at: Timestamp,
    },
}

/// One frame from the program to the runtime.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", try_from = "Fields")]
#[allow(
    missing_docs,
    reason = "the fields are described in docs/architecture/program.md"
)]
pub enum ProgramEvent {
    /// The program is up and waits for commands. Without `versions` it speaks the first version; if it lists several,
    /// it speaks the oldest unless the runtime names another.
    Hello {
        sdk: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        versions: Option<Versions>,
    },
    /// A thread (a worker's or another one) is about to end the process, by a signal or by `exit`.
    Dying {
        worker: Option<u32>,
        signal: Option<i32>,
    },
    /// Any other event, which is passed on.
    #[serde(untagged)]
    Pack(PackEvent),
}

/// An event that a program sends, with the number of the run it belongs to.
#[derive(Debug, Serialize)]
pub struct OutgoingEvent<'a, E> {
    /// The number from the `run` command.
    pub run: u64,
    /// The event itself.
    #[serde(flatten)]
    pub event: &'a E,
}

/// An event that the runtime receives.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Fields")]
pub struct IncomingEvent {
    /// The run it claims to belong to; none from programs that were built before runs had numbers.
    pub run: Option<u64>,
    /// The event itself.
    pub event: ProgramEvent,
}

/// The fields of all events. Raw outputs cannot pass through serde's tagged enums, so events are read through this.
#[derive(Deserialize)]
struct Fields {
    event: String,
    run: Option<u64>,
    sdk: Option<String>,
    versions: Option<Versions>,
    endpoint: Option<String>,
    worker: Option<u32>,
    signal: Option<i32>,
    name: Option<String>,
    stream: Option<LogStream>,
    // Programs that were built with the first SDK call it `line`.
    #[serde(alias = "line")]
    text: Option<String>,
    output: Option<Box<RawValue>>,
    error: Option<Failure>,
    reusable: Option<bool>,
    traffic: Option<Traffic>,
    at: Option<Timestamp>,
}

/// Why the fields do not form an event.
#[derive(Debug, thiserror::Error)]
enum EventError {
    #[error("event `{event}` needs the field `{field}`")]
    Incomplete { event: String, field: &'static str },
    #[error("unknown event `{0}`")]
    Unknown(String),
}

fn need<T>(event: &str, field: &'static str, value: Option<T>) -> Result<T, EventError> {
    value.ok_or_else(|| EventError::Incomplete {
        event: event.to_owned(),
        field,
    })
}

impl TryFrom<Fields> for PackEvent {
    type Error = EventError;

    fn try_from(fields: Fields) -> Result<Self, EventError> {
        let event = fields.event.as_str();
        let at = need(event, "at", fields.at)?;
        let worker = || need(event, "worker", fields.worker);
        Ok(match event {
            "ready" => Self::Ready {
                endpoint: fields.endpoint,
                at,
            },
            "worker-started" => Self::WorkerStarted {
                worker: worker()?,
                at,
            },
            "phase" => Self::Phase {
                worker: worker()?,
                name: need(event, "name", fields.name)?,
                at,
            },
            "log" => Self::Log {
                worker: fields.worker,
                stream: need(event, "stream", fields.stream)?,
                text: need(event, "text", fields.text)?,
                at,
            },
            // An output of `null` and a missing one look the same to serde; both mean null.
            "worker-succeeded" => Self::WorkerSucceeded {
                worker: worker()?,
                output: fields.output.unwrap_or_else(|| RawValue::NULL.to_owned()),
                at,
            },
            "worker-failed" => Self::WorkerFailed {
                worker: worker()?,
                error: need(event, "error", fields.error)?,
                at,
            },
            "pack-ended" => Self::PackEnded {
                reusable: need(event, "reusable", fields.reusable)?,
                error: fields.error,
                at,
                traffic: fields.traffic,
            },
            unknown => return Err(EventError::Unknown(unknown.to_owned())),
        })
    }
}

impl TryFrom<Fields> for ProgramEvent {
    type Error = EventError;

    fn try_from(fields: Fields) -> Result<Self, EventError> {
        Ok(match fields.event.as_str() {
            "hello" => Self::Hello {
                sdk: fields.sdk.unwrap_or_default(),
                versions: fields.versions,
            },
            "dying" => Self::Dying {
                worker: fields.worker,
                signal: fields.signal,
            },
            _ => Self::Pack(PackEvent::try_from(fields)?),
        })
    }
}

impl TryFrom<Fields> for IncomingEvent {
    type Error = EventError;

    fn try_from(fields: Fields) -> Result<Self, EventError> {
        Ok(Self {
            run: fields.run,
            event: fields.try_into()?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_event_is_received_with_its_run_as_it_was_sent() {
        let event = PackEvent::WorkerSucceeded {
            worker: 3,
            output: RawValue::from_string("{\"a\": 1e2}".to_owned()).unwrap(),
            at: Timestamp::from_micros(5),
        };
        let run = u64::MAX;
        let sent = serde_json::to_string(&OutgoingEvent { run, event: &event }).unwrap();
        let received: IncomingEvent = serde_json::from_str(&sent).unwrap();
        assert_eq!(received.run, Some(run));
        let ProgramEvent::Pack(received) = received.event else {
            unreachable!()
        };
        assert_eq!(
            serde_json::to_string(&received).unwrap(),
            serde_json::to_string(&event).unwrap()
        );
        let unnumbered: IncomingEvent =
            serde_json::from_str(r#"{"event":"hello","sdk":"0"}"#).unwrap();
        assert_eq!(unnumbered.run, None);
    }

    #[test]
    fn an_output_of_null_survives() {
        let event = r#"{"event":"worker-succeeded","worker":0,"output":null,"at":1}"#;
        let parsed: PackEvent = serde_json::from_str(event).unwrap();
        assert_eq!(serde_json::to_string(&parsed).unwrap(), event);
    }

    #[test]
    fn a_line_of_an_earlier_sdk_is_read_as_text() {
        let event = r#"{"event":"log","worker":0,"stream":"stdout","line":"said","at":1}"#;
        let parsed = serde_json::from_str(event).unwrap();
        assert!(matches!(parsed, PackEvent::Log { text, .. } if text == "said"));
    }

    #[test]
    fn incomplete_and_unknown_events_are_refused() {
        for bad in [
            r#"{"event":"party","at":1}"#,
            r#"{"event":"phase","worker":1,"at":1}"#,
        ] {
            assert!(serde_json::from_str::<ProgramEvent>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn program_events_are_pack_events_and_two_more() {
        let hello = r#"{"event":"hello","sdk":"0.1.0"}"#;
        let newer = r#"{"event":"hello","sdk":"0.2.0","versions":"1-2"}"#;
        let dying = r#"{"event":"dying","worker":3,"signal":6}"#;
        let started = r#"{"event":"worker-started","worker":3,"at":9}"#;
        for event in [hello, newer, dying, started] {
            let parsed: ProgramEvent = serde_json::from_str(event).unwrap();
            assert_eq!(serde_json::to_string(&parsed).unwrap(), event);
        }
    }
}
