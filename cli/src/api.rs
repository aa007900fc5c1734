//! The fields of the API's answers that the command line reads.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::FlareEnd;

/// Where a flare or a worker is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Worker: its pack has not started it.
    Pending,
    /// Flare: waits for slots.
    Queued,
    /// Flare: slots are being reserved.
    Placing,
    /// Flare: packs are brought up.
    Starting,
    /// At work.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Stopped by someone.
    Cancelled,
    /// Flare: its deadline passed.
    TimedOut,
    /// A state this version does not know: taken as one that will pass.
    #[serde(other)]
    Unknown,
}

impl State {
    /// As the API spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Queued => "queued",
            Self::Placing => "placing",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
            Self::Unknown => "unknown",
        }
    }

    /// How it ended if it ended badly.
    pub fn bad_end(self) -> Option<FlareEnd> {
        match self {
            Self::Failed => Some(FlareEnd::Failed),
            Self::TimedOut => Some(FlareEnd::TimedOut),
            Self::Cancelled => Some(FlareEnd::Cancelled),
            _ => None,
        }
    }

    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        self == Self::Succeeded || self.bad_end().is_some()
    }
}

/// Answer to a flare request or a cancellation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlareRef {
    pub flare_id: String,
}

/// Answer to a request for a group.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupRef {
    pub group_id: String,
}

/// Where a group is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupState {
    /// Waits for slots.
    Queued,
    /// Its packs are brought up.
    Opening,
    /// Takes flares.
    Open,
    /// Has ended, for whatever reason.
    Closed,
    /// A state this version does not know: taken as one that will pass.
    #[serde(other)]
    Unknown,
}

impl GroupState {
    /// As the API spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Opening => "opening",
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Unknown => "unknown",
        }
    }
}

/// A group; in lists without packs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    pub group_id: String,
    pub name: String,
    pub version: String,
    pub state: GroupState,
    pub size: u32,
    pub idle_timeout: u64,
    pub created: u64,
    pub opened: Option<u64>,
    pub closed: Option<u64>,
    pub error: Option<Failure>,
    #[serde(default)]
    pub packs: Vec<Pack>,
}

/// A flare; in lists without packs and workers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flare {
    pub flare_id: String,
    pub name: String,
    pub version: String,
    pub state: State,
    pub size: u32,
    pub attempt: Option<u32>,
    pub granularity: Option<u32>,
    pub packing: Option<String>,
    pub backend: Option<String>,
    pub created: u64,
    pub started: Option<u64>,
    pub ended: Option<u64>,
    pub error: Option<Failure>,
    pub queue: Option<Standing>,
    #[serde(default)]
    pub packs: Vec<Pack>,
    #[serde(default)]
    pub workers: Vec<Worker>,
}

/// Where a queued flare stands: position 1 is next, `start` an estimate.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    pub position: u32,
    pub start: Option<u64>,
    /// What it waits for when nobody knows until when.
    pub waits_for: Option<String>,
}

/// Where a pack ran.
#[derive(Debug, Deserialize)]
pub struct Pack {
    pub pack: u32,
    pub invoker: Option<String>,
    pub start: Option<String>,
}

/// A worker of a flare.
#[derive(Debug, Deserialize)]
pub struct Worker {
    pub worker: u32,
    pub pack: Option<u32>,
    pub state: State,
    pub started: Option<u64>,
    pub ended: Option<u64>,
    pub error: Option<Failure>,
}

/// What went wrong, where and why.
#[derive(Debug, Clone, Deserialize)]
pub struct Failure {
    pub kind: String,
    pub message: String,
    pub worker: Option<u32>,
    pub pack: Option<u32>,
    pub invoker: Option<String>,
    pub operation: Option<String>,
}

/// What came of a flare, beside its outputs.
#[derive(Debug, Deserialize)]
pub struct Outcome {
    pub state: State,
    pub error: Option<Failure>,
}

/// What a worker handed back, if it has.
#[derive(Debug, Deserialize)]
pub struct Output {
    pub worker: u32,
    // Kept as it came, so that numbers lose no digits and keys keep their order. Boxed in an
    // option by hand: `null` is an output like any other.
    #[serde(default, deserialize_with = "present")]
    pub output: Option<Box<RawValue>>,
}

fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(from).map(Some)
}

/// A flare's logs, beside their lines.
#[derive(Debug, Deserialize)]
pub struct Logs {
    pub truncated: bool,
}

/// A line a worker or, without a worker, its pack wrote.
#[derive(Debug, Deserialize)]
pub struct LogLine {
    pub worker: Option<u32>,
    pub pack: Option<u32>,
    pub stream: String,
    pub at: u64,
    pub line: String,
}

/// When each worker did what.
#[derive(Debug, Deserialize)]
pub struct Timeline {
    pub created: u64,
    /// The time of the answer by the platform's clock, which phases that last have come to.
    pub now: u64,
    pub workers: Vec<WorkerPhases>,
}

/// A worker's phases in order.
#[derive(Debug, Deserialize)]
pub struct WorkerPhases {
    pub worker: u32,
    pub pack: Option<u32>,
    pub phases: Vec<Phase>,
}

/// A stretch of time with a name; without an end while it lasts.
#[derive(Debug, Deserialize)]
pub struct Phase {
    pub name: String,
    pub start: u64,
    pub end: Option<u64>,
}

/// A deployed work function.
#[derive(Debug, Deserialize)]
pub struct Definition {
    pub name: String,
    pub version: String,
    pub exec: Exec,
    #[serde(default)]
    pub config: Config,
    #[serde(default)]
    pub parameters: BTreeMap<String, Box<RawValue>>,
    pub updated: Option<u64>,
}

/// A definition's package.
#[derive(Debug, Deserialize)]
pub struct Exec {
    pub kind: String,
    pub package: Option<String>,
    pub size: Option<u64>,
}

/// A definition's defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    pub granularity: Option<u32>,
    pub packing: Option<String>,
    pub backend: Option<String>,
    pub chunk_size: Option<u64>,
    pub timeout: Option<u64>,
    pub memory: Option<u64>,
    pub retries: Option<u32>,
}

/// A machine that runs packs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invoker {
    pub id: String,
    pub slots: u32,
    pub free_slots: u32,
    pub cpu_load: Option<f64>,
    pub state: String,
    pub quarantine: Option<Quarantine>,
    pub driver: Option<String>,
    pub warm_packs: Option<u32>,
    pub runtime: Option<Runtime>,
}

/// Why a machine gets no flares that fit elsewhere.
#[derive(Debug, Deserialize)]
pub struct Quarantine {
    /// What went wrong last.
    pub reason: String,
    /// When a flare may try it again, in microseconds since the epoch.
    pub until: u64,
}

/// What packages the machine can run.
#[derive(Debug, Deserialize)]
pub struct Runtime {
    pub arch: Option<String>,
    pub glibc: Option<String>,
}

/// What a namespace may use.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Workers of one flare.
    pub burst_size: u64,
    /// Slots of its running flares together.
    pub concurrent_slots: u64,
    /// MiB per worker.
    pub memory: u64,
    /// Bytes of a package.
    pub package_size: u64,
    /// Flare requests in a minute.
    pub flares_per_minute: u64,
    /// How many definitions.
    pub definitions: u64,
    /// Bytes of their packages together.
    pub definitions_size: u64,
    /// Bytes of its flares' results and logs.
    pub stored_size: u64,
    /// Deploys in a minute.
    pub deploys_per_minute: u64,
    /// Requests of any kind in a minute.
    pub requests_per_minute: u64,
    /// Requests that may be under way at once.
    pub concurrent_requests: u64,
    /// Whether its packs may reach the internet.
    pub egress: bool,
}

/// A namespace as its administrator sees it.
#[derive(Debug, Deserialize)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// The limits in force.
    pub limits: Limits,
    /// When it was created, in microseconds since the epoch.
    pub created: u64,
    /// When its key was revoked.
    pub revoked: Option<u64>,
}

/// A flare or a group in a list of those of all namespaces.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    flare_id: Option<String>,
    /// The group itself, or the one that a flare is on.
    group_id: Option<String>,
    pub namespace: String,
    pub name: String,
    pub state: String,
    pub size: u32,
    pub created: u64,
}

impl Listed {
    /// The flare's id, or the group's.
    pub fn id(&self) -> &str {
        let id = self.flare_id.as_deref().or(self.group_id.as_deref());
        id.unwrap_or_default()
    }
}

/// A namespace that has just got its credentials.
#[derive(Debug, Deserialize)]
pub struct CreatedNamespace {
    /// Its name.
    pub name: String,
    /// The limits in force.
    pub limits: Limits,
    /// `uuid:key`.
    pub auth: String,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_null_output_differs_from_none() {
        let read = |text| serde_json::from_str::<Output>(text).unwrap();
        assert_eq!(
            read(r#"{"worker":0,"output":null}"#).output.unwrap().get(),
            "null"
        );
        assert!(read(r#"{"worker":0}"#).output.is_none());
    }

    #[test]
    fn unknown_states_are_taken_as_passing() {
        let state: State = serde_json::from_str("\"meditating\"").unwrap();
        assert!(!state.is_final());
        let state: State = serde_json::from_str("\"timed-out\"").unwrap();
        assert_eq!(state.bad_end(), Some(FlareEnd::TimedOut));
    }
}
