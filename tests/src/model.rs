//! The API's answers, as the tests read them (docs/architecture.md, sections 2 and 6).

use serde::Deserialize;
use serde_json::Value;

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Kebab-case kind.
    pub kind: String,
    /// For people.
    pub message: String,
    /// Who failed, where it was a worker.
    pub worker: Option<u32>,
    /// In which pack.
    pub pack: Option<u32>,
    /// On which invoker.
    pub invoker: Option<String>,
    /// During which operation.
    pub operation: Option<String>,
}

/// A pack of a flare.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pack {
    /// Id in the flare.
    pub pack: u32,
    /// Where it runs.
    pub invoker: String,
    /// Its workers.
    pub workers: Vec<u32>,
    /// `cold`, `prewarmed` or `warm`, once it is ready.
    pub start: Option<String>,
}

/// A worker of a flare.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Id in the flare.
    pub worker: u32,
    /// Its pack, once placed.
    pub pack: Option<u32>,
    /// `pending`, `running`, `succeeded`, `failed` or `cancelled`.
    pub state: String,
    /// When it started, in microseconds.
    pub started: Option<i64>,
    /// When it ended, in microseconds.
    pub ended: Option<i64>,
    /// Why it failed.
    pub error: Option<Failure>,
}

/// A flare; `packs` and `workers` are absent in lists.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flare {
    /// 32 hexadecimal digits.
    pub flare_id: String,
    /// The group it runs on.
    pub group_id: Option<String>,
    /// The definition's namespace.
    pub namespace: String,
    /// The definition's name.
    pub name: String,
    /// The definition's version.
    pub version: String,
    /// One of the states of a flare's life.
    pub state: String,
    /// Which try this is.
    pub attempt: u32,
    /// Number of workers.
    pub size: u32,
    /// Workers per pack in force.
    pub granularity: Option<u32>,
    /// Placement policy.
    pub packing: String,
    /// Name of the backend.
    pub backend: String,
    /// Milliseconds.
    pub timeout: i64,
    /// MiB per worker.
    pub memory: u32,
    /// Microseconds.
    pub created: i64,
    /// Microseconds.
    pub started: Option<i64>,
    /// Microseconds.
    pub ended: Option<i64>,
    /// Why it did not succeed.
    pub error: Option<Failure>,
    /// Its packs.
    #[serde(default)]
    pub packs: Vec<Pack>,
    /// Its workers.
    #[serde(default)]
    pub workers: Vec<Worker>,
}

impl Flare {
    /// Whether it has ended, however it did.
    pub fn has_ended(&self) -> bool {
        matches!(
            self.state.as_str(),
            "succeeded" | "failed" | "cancelled" | "timed-out"
        )
    }
}

/// A group; `packs` are absent in lists.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// 32 hexadecimal digits.
    pub group_id: String,
    /// `queued`, `opening`, `open` or `closed`.
    pub state: String,
    /// Number of workers.
    pub size: u32,
    /// Milliseconds.
    pub idle_timeout: u64,
    /// Why it was closed, if nobody asked for it.
    pub error: Option<Failure>,
    /// Its packs.
    #[serde(default)]
    pub packs: Vec<Pack>,
}

/// A worker's output, or why there is none.
#[derive(Debug, Clone, Deserialize)]
pub struct Output {
    /// Id in the flare.
    pub worker: u32,
    /// What it returned.
    pub output: Option<Value>,
    /// Why it returned nothing.
    pub error: Option<Failure>,
}

/// Outputs of a flare.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Which flare.
    pub flare_id: String,
    /// Its state.
    pub state: String,
    /// The flare's failure.
    pub error: Option<Failure>,
    /// One per worker, by id.
    pub outputs: Vec<Output>,
}

/// A line that was written.
#[derive(Debug, Clone, Deserialize)]
pub struct LogLine {
    /// By which worker; none for the pack itself.
    pub worker: Option<u32>,
    /// In which pack.
    pub pack: u32,
    /// `stdout` or `stderr`.
    pub stream: String,
    /// When, in microseconds.
    pub at: i64,
    /// What.
    pub line: String,
}

/// Logs of a flare.
#[derive(Debug, Clone, Deserialize)]
pub struct Logs {
    /// Whether lines were dropped.
    pub truncated: bool,
    /// The lines.
    pub logs: Vec<LogLine>,
}

/// A stretch of a worker's time.
#[derive(Debug, Clone, Deserialize)]
pub struct Phase {
    /// What it did.
    pub name: String,
    /// Microseconds.
    pub start: i64,
    /// Microseconds; none while it lasts.
    pub end: Option<i64>,
}

/// A worker's phases, in order.
#[derive(Debug, Clone, Deserialize)]
pub struct WorkerPhases {
    /// Id in the flare.
    pub worker: u32,
    /// In order.
    pub phases: Vec<Phase>,
}

/// What every worker did when.
#[derive(Debug, Clone, Deserialize)]
pub struct Timeline {
    /// When the flare was created, in microseconds.
    pub created: i64,
    /// By worker.
    pub workers: Vec<WorkerPhases>,
}

/// A machine that runs packs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invoker {
    /// Its id.
    pub id: String,
    /// What it offers.
    pub slots: u32,
    /// What it has left.
    pub free_slots: u32,
    /// `up` or not.
    pub state: String,
    /// `process` or `docker`.
    pub driver: String,
    /// Idle packs it keeps.
    pub warm_packs: u32,
    /// Containers it keeps for definitions that have none.
    pub prewarmed_packs: u32,
}
