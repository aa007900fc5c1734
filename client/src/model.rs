// Made from openapi.yaml: `cargo run -p burst-client-generator` makes it anew.

//! What the API's requests and answers say.
//!
//! Times are microseconds since the epoch, time-outs milliseconds, memory MiB per worker, other sizes bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::streamed::Streamed;
use crate::vocabulary::vocabulary;

/// A value that is there, if only `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(from).map(Some)
}

/// What a controller needs to take flares, each `ok` or a sentence that says what is wrong.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    /// Whether all of it is.
    pub ready: bool,
    /// What keeps definitions and flares.
    pub database: String,
    /// What keeps large results.
    pub blobs: String,
    /// Room where this controller has its data.
    pub disk: String,
    /// What places flares, of all controllers.
    pub scheduler: String,
}

vocabulary! {
    /// How a web action's result is answered.
    WebExtension {
        Http = "http",
        Json = "json",
        Html = "html",
        Svg = "svg",
        Text = "text",
    }
}

/// What an API is to have.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiRequest {
    /// An operation (`gatewayBasePath`, `gatewayPath`, `gatewayMethod`, `action`), or a whole document
    /// (`swagger`), as OpenWhisk's clients send them.
    pub apidoc: BTreeMap<String, Box<RawValue>>,
}

/// An API.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Api {
    /// Whose it is.
    pub namespace: String,
    /// Where it is called.
    pub gw_api_url: String,
    /// Whether it can be called, which is always so.
    pub gw_api_activated: bool,
    /// What stands for the namespace in that address.
    pub tenant_id: String,
    /// The swagger document.
    pub apidoc: BTreeMap<String, Box<RawValue>>,
}

/// An API in a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedApi {
    /// Its name among those of all namespaces.
    pub id: String,
    /// Its base path.
    pub key: String,
    /// An API.
    pub value: Api,
}

/// APIs of a namespace.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Apis {
    /// By their base paths.
    pub apis: Vec<ListedApi>,
}

/// Packages that a refresh has changed, which are none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefreshedPackages {
    /// Those that are new.
    pub added: Vec<String>,
    /// Those that are others now.
    pub updated: Vec<String>,
    /// Those that are gone.
    pub deleted: Vec<String>,
}

/// What answers here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The platform's name.
    pub name: String,
    /// Where the API is.
    pub api: String,
    /// Where this description is.
    pub description: String,
    /// Kinds of work functions that can be deployed.
    pub kinds: Vec<String>,
}

/// A flare that was asked for, or whose end was.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// The id of a flare or a group.
    pub flare_id: String,
}

/// A group that was asked for, or whose end was.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedGroup {
    /// The id of a flare or a group.
    pub group_id: String,
}

vocabulary! {
    /// Where a flare is in its life.
    FlareState {
        Queued = "queued",
        Placing = "placing",
        Starting = "starting",
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
        TimedOut = "timed-out",
    }
}

vocabulary! {
    /// Where a group is in its life.
    GroupState {
        Queued = "queued",
        Opening = "opening",
        Open = "open",
        Closed = "closed",
    }
}

vocabulary! {
    /// Where a worker is in its life.
    WorkerState {
        Pending = "pending",
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

vocabulary! {
    /// Whether a machine gets flares. A quarantined one gets none that fit elsewhere, as packs fail to start on
    /// it. One that is drained gets none at all, and is draining as long as flares run on it.
    InvokerState {
        Up = "up",
        Quarantined = "quarantined",
        Draining = "draining",
        Drained = "drained",
        Down = "down",
    }
}

vocabulary! {
    /// How a pack came up; null until it has.
    Start {
        Cold = "cold",
        Prewarmed = "prewarmed",
        Warm = "warm",
    }
}

vocabulary! {
    /// What a queued flare waits for. Its turn on its group; more invokers, as those that are up have fewer slots
    /// than it wants, or none large enough; or slots that groups hold, or that are on machines too busy to take
    /// anything.
    WaitsFor {
        Turn = "turn",
        Invokers = "invokers",
        Slots = "slots",
    }
}

vocabulary! {
    /// Where a line was written to.
    LogStream {
        Stdout = "stdout",
        Stderr = "stderr",
    }
}

vocabulary! {
    /// What kind of thing went wrong.
    FailureKind {
        Error = "error",
        Panic = "panic",
        Abort = "abort",
        Exit = "exit",
        Signal = "signal",
        OutOfMemory = "out-of-memory",
        Timeout = "timeout",
        Cancelled = "cancelled",
        PeerFailed = "peer-failed",
        PackLost = "pack-lost",
        InvokerLost = "invoker-lost",
        StartFailed = "start-failed",
        Backend = "backend",
        InvalidInput = "invalid-input",
        ControllerRestarted = "controller-restarted",
        Internal = "internal",
    }
}

vocabulary! {
    /// `mixed`: packs of the granularity, those on one machine merged; `homogeneous`: packs of exactly the
    /// granularity; `heterogeneous`: the largest pack each machine can take.
    Packing {
        Mixed = "mixed",
        Homogeneous = "homogeneous",
        Heterogeneous = "heterogeneous",
    }
}

/// Why a request was refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// One sentence that says what to change.
    pub error: String,
    /// The request's id.
    pub code: String,
}

/// What went wrong, and with whom.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What kind of thing went wrong.
    pub kind: FailureKind,
    /// What it is, for people.
    pub message: String,
    /// Who failed, where it was a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// In which pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<u32>,
    /// On which machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoker: Option<String>,
    /// At which operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
}

/// A program as it is uploaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Package {
    /// What it is written in: `rust`, `python`, `nodejs`, `go` or `swift`, of which all but the first may have a
    /// version, as `python:3.10` or `nodejs:default`.
    pub kind: String,
    /// The text of a source of Python or Node; else base64, of a zip that holds an executable named `exec`, of the
    /// executable itself, or of a zip with `__main__.py` or `package.json` or `index.js`.
    pub code: String,
    /// The function of Python or Node that is called, if it is not `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main: Option<String>,
}

/// A package and how its flares are to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// A program as it is uploaded.
    pub exec: Package,
    /// What is absent is the platform's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Options>,
    /// Merged under every input that is an object. An overwrite without them keeps those there are. At most 64
    /// KiB, with all other fields beside the package and the variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<BTreeMap<String, Box<RawValue>>>,
    /// Environment variables of the program, as strings. An overwrite without them keeps those there are; with
    /// them it replaces all. Names have letters, digits and `_`, and are neither `PATH` nor begin with `BURST_`,
    /// `LD_` or `__OW_`. With the secrets at most 100, of 64 KiB together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, Box<RawValue>>>,
    /// Environment variables that are encrypted where they are kept and never shown, as strings. An overwrite
    /// keeps those it does not name, and removes those that are null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<BTreeMap<String, Box<RawValue>>>,
}

/// What is absent is the platform's choice.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    /// Workers per pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<u32>,
    /// How workers are spread over machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
    /// A backend the operator configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Bytes of the pieces that long messages are cut into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<u32>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// MiB per worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
    /// How often a flare that fails is run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// What is null is the platform's choice; the rest is in force.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Workers per pack.
    pub granularity: Option<u32>,
    /// How workers are spread over machines.
    pub packing: Option<Packing>,
    /// What carries messages between packs.
    pub backend: Option<String>,
    /// Bytes of the pieces that long messages are cut into.
    pub chunk_size: Option<u32>,
    /// Milliseconds.
    pub timeout: u64,
    /// MiB per worker.
    pub memory: u32,
    /// How often a flare that fails is run again.
    pub retries: u32,
}

/// A definition's package.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exec {
    /// What it is written in.
    pub kind: String,
    /// SHA-256 of the package.
    pub package: String,
    /// Bytes.
    pub size: u64,
}

/// Which version is to be the present one again.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// That version; without, the one before the present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A deployed work function.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// Whose it is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// It rises with every deploy.
    pub version: String,
    /// A definition's package.
    pub exec: Exec,
    /// What is null is the platform's choice; the rest is in force.
    pub config: Config,
    /// Merged under every input that is an object.
    pub parameters: BTreeMap<String, Box<RawValue>>,
    /// Environment variables of the program, as strings.
    pub environment: BTreeMap<String, Box<RawValue>>,
    /// Names of its secret environment variables; all versions have the present ones.
    pub secrets: Vec<String>,
    /// When it was deployed last.
    pub updated: u64,
}

/// A definition without its parameters and environment variables.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionSummary {
    /// Whose it is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// It rises with every deploy.
    pub version: String,
    /// A definition's package.
    pub exec: Exec,
    /// What is null is the platform's choice; the rest is in force.
    pub config: Config,
    /// When it was deployed last.
    pub updated: u64,
}

/// One input for each worker (`params` an array), or `size` workers with the same input. Options that are
/// absent are the definition's.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlareRequest {
    /// The definition's version; without, the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// An array with one input for each worker, or with `size` the input for all of them.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub params: Option<Box<RawValue>>,
    /// Number of workers; where `params` is an array it must agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// Workers per pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<u32>,
    /// How workers are spread over machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
    /// A backend the operator configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Bytes of the pieces that long messages are cut into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<u32>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// MiB per worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
    /// How often a flare that fails is run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// Where a queued flare stands; null for any other, and while nobody can tell.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// 1 is next.
    pub position: u32,
    /// When it will have its slots, estimated from the time-outs and past durations of what runs and waits before
    /// it; null while what it waits for has no end that is known.
    pub start: Option<u64>,
    /// What a queued flare waits for. Its turn on its group; more invokers, as those that are up have fewer slots
    /// than it wants, or none large enough; or slots that groups hold, or that are on machines too busy to take
    /// anything.
    pub waits_for: Option<WaitsFor>,
    /// What there is and what it needs, such as "the cluster can give 6 slots now, and the flare needs 8"; null
    /// where it waits for its turn on a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Workers of a flare on one machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pack {
    /// Its number in the flare.
    pub pack: u32,
    /// On which machine.
    pub invoker: String,
    /// On which node of a cluster, where the slots of its invoker are those of a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Their numbers.
    pub workers: Vec<u32>,
    /// How a pack came up; null until it has.
    pub start: Option<Start>,
}

/// A worker of a flare.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Its number in the flare.
    pub worker: u32,
    /// Once it has been placed.
    pub pack: Option<u32>,
    /// Where a worker is in its life.
    pub state: WorkerState,
    /// When it began.
    pub started: Option<u64>,
    /// When it ended.
    pub ended: Option<u64>,
    /// What went wrong, and with whom.
    pub error: Option<Failure>,
}

/// A flare in a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlareSummary {
    /// The id of a flare or a group.
    pub flare_id: String,
    /// The group it runs on.
    pub group_id: Option<String>,
    /// Whose it is.
    pub namespace: String,
    /// The definition's name.
    pub name: String,
    /// The definition's version.
    pub version: String,
    /// Where a flare is in its life.
    pub state: FlareState,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// Number of workers.
    pub size: u32,
    /// Workers per pack.
    pub granularity: Option<u32>,
    /// `mixed`: packs of the granularity, those on one machine merged; `homogeneous`: packs of exactly the
    /// granularity; `heterogeneous`: the largest pack each machine can take.
    pub packing: Packing,
    /// What carries messages between packs.
    pub backend: String,
    /// Bytes; null where it is the backend's choice.
    pub chunk_size: Option<u32>,
    /// Milliseconds.
    pub timeout: u64,
    /// MiB per worker.
    pub memory: u32,
    /// When it was asked for.
    pub created: u64,
    /// When it began.
    pub started: Option<u64>,
    /// When it ended.
    pub ended: Option<u64>,
    /// What went wrong, and with whom.
    pub error: Option<Failure>,
}

/// A flare.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flare {
    /// The id of a flare or a group.
    pub flare_id: String,
    /// The group it runs on.
    pub group_id: Option<String>,
    /// Whose it is.
    pub namespace: String,
    /// The definition's name.
    pub name: String,
    /// The definition's version.
    pub version: String,
    /// Where a flare is in its life.
    pub state: FlareState,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// Number of workers.
    pub size: u32,
    /// Workers per pack.
    pub granularity: Option<u32>,
    /// `mixed`: packs of the granularity, those on one machine merged; `homogeneous`: packs of exactly the
    /// granularity; `heterogeneous`: the largest pack each machine can take.
    pub packing: Packing,
    /// What carries messages between packs.
    pub backend: String,
    /// Bytes; null where it is the backend's choice.
    pub chunk_size: Option<u32>,
    /// Milliseconds.
    pub timeout: u64,
    /// MiB per worker.
    pub memory: u32,
    /// When it was asked for.
    pub created: u64,
    /// When it began.
    pub started: Option<u64>,
    /// When it ended.
    pub ended: Option<u64>,
    /// What went wrong, and with whom.
    pub error: Option<Failure>,
    /// Where a queued flare stands; null for any other, and while nobody can tell.
    pub queue: Option<Queue>,
    /// Where its workers are.
    pub packs: Vec<Pack>,
    /// By their numbers.
    pub workers: Vec<Worker>,
}

/// What is absent is the definition's, or the platform's choice. The definition is the present version, also
/// for later flares.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupRequest {
    /// The definition's version; without, the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Name of the definition.
    pub definition: String,
    /// Number of workers.
    pub size: u32,
    /// Milliseconds without a flare after which the group is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<u64>,
    /// Workers per pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<u32>,
    /// How workers are spread over machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
    /// A backend the operator configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Bytes of the pieces that long messages are cut into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<u32>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// MiB per worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
}

/// A flare on a group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupFlareRequest {
    /// An array with one input for each worker, or the input for all of them.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub params: Option<Box<RawValue>>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

/// A group in a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupSummary {
    /// The id of a flare or a group.
    pub group_id: String,
    /// Where a group is in its life.
    pub state: GroupState,
    /// Whose it is.
    pub namespace: String,
    /// The definition's name.
    pub name: String,
    /// The definition's version.
    pub version: String,
    /// Number of workers.
    pub size: u32,
    /// Workers per pack.
    pub granularity: Option<u32>,
    /// `mixed`: packs of the granularity, those on one machine merged; `homogeneous`: packs of exactly the
    /// granularity; `heterogeneous`: the largest pack each machine can take.
    pub packing: Packing,
    /// What carries messages between packs.
    pub backend: String,
    /// Bytes; null where it is the backend's choice.
    pub chunk_size: Option<u32>,
    /// Milliseconds; of flares on it that ask for no other.
    pub timeout: u64,
    /// MiB per worker.
    pub memory: u32,
    /// Milliseconds.
    pub idle_timeout: u64,
    /// When it was asked for.
    pub created: u64,
    /// When its packs were up.
    pub opened: Option<u64>,
    /// When it ended.
    pub closed: Option<u64>,
    /// What went wrong, and with whom.
    pub error: Option<Failure>,
}

/// A group.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The id of a flare or a group.
    pub group_id: String,
    /// Where a group is in its life.
    pub state: GroupState,
    /// Whose it is.
    pub namespace: String,
    /// The definition's name.
    pub name: String,
    /// The definition's version.
    pub version: String,
    /// Number of workers.
    pub size: u32,
    /// Workers per pack.
    pub granularity: Option<u32>,
    /// `mixed`: packs of the granularity, those on one machine merged; `homogeneous`: packs of exactly the
    /// granularity; `heterogeneous`: the largest pack each machine can take.
    pub packing: Packing,
    /// What carries messages between packs.
    pub backend: String,
    /// Bytes; null where it is the backend's choice.
    pub chunk_size: Option<u32>,
    /// Milliseconds; of flares on it that ask for no other.
    pub timeout: u64,
    /// MiB per worker.
    pub memory: u32,
    /// Milliseconds.
    pub idle_timeout: u64,
    /// When it was asked for.
    pub created: u64,
    /// When its packs were up.
    pub opened: Option<u64>,
    /// When it ended.
    pub closed: Option<u64>,
    /// What went wrong, and with whom.
    pub error: Option<Failure>,
    /// Where a queued flare stands; null for any other, and while nobody can tell.
    pub queue: Option<Queue>,
    /// Where its workers are.
    pub packs: Vec<Pack>,
}

/// What a worker left; neither output nor error while it has nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Which worker.
    pub worker: u32,
    /// Whatever the work function returned, which may be `null`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub output: Option<Box<RawValue>>,
    /// What went wrong, and with whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// What came of a flare.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlareResult {
    /// The id of a flare or a group.
    pub flare_id: String,
    /// Where a flare is in its life.
    pub state: FlareState,
    /// What went wrong, and with whom.
    pub error: Option<Failure>,
    /// One entry for each worker, by its id.
    #[serde(default)]
    pub outputs: Vec<Output>,
}

impl Streamed for FlareResult {
    type Element = Output;
    const ARRAY: &'static str = "outputs";
}

/// A line that was written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// Null for output of the pack itself.
    pub worker: Option<u32>,
    /// In which pack.
    pub pack: u32,
    /// Where a line was written to.
    pub stream: LogStream,
    /// When it was written.
    pub at: u64,
    /// What was written.
    pub line: String,
}

/// What the workers of a flare wrote.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Logs {
    /// The id of a flare or a group.
    pub flare_id: String,
    /// Whether more was written than is kept.
    pub truncated: bool,
    /// The lines, in the order in which they arrived.
    #[serde(default)]
    pub logs: Vec<LogLine>,
}

impl Streamed for Logs {
    type Element = LogLine;
    const ARRAY: &'static str = "logs";
}

/// A stretch of a worker's time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Phase {
    /// What the worker did.
    pub name: String,
    /// When it began.
    pub start: u64,
    /// Null while it lasts.
    pub end: Option<u64>,
}

/// A worker's phases, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerPhases {
    /// Which worker.
    pub worker: u32,
    /// In which pack.
    pub pack: Option<u32>,
    /// In the order in which they began.
    pub phases: Vec<Phase>,
}

/// Where each worker's time went.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// The id of a flare or a group.
    pub flare_id: String,
    /// When the flare was asked for.
    pub created: u64,
    /// When the answer was made; phases that last have come so far.
    pub now: u64,
    /// By their numbers.
    pub workers: Vec<WorkerPhases>,
}

/// What a namespace may use.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Workers of one flare.
    pub burst_size: u32,
    /// Slots that its running flares may hold together.
    pub concurrent_slots: u32,
    /// MiB per worker.
    pub memory: u32,
    /// Bytes of a package, as uploaded.
    pub package_size: u64,
    /// Flares in a minute.
    pub flares_per_minute: u32,
    /// How many definitions it may have.
    pub definitions: u32,
    /// Bytes of their packages, parameters and variables together.
    pub definitions_size: u64,
    /// Bytes that results and logs of its flares may take; beyond, its oldest ended flares are deleted.
    pub stored_size: u64,
    /// Invocations of actions in a minute of the calendar.
    pub invocations_per_minute: u32,
    /// Triggers fired in a minute of the calendar.
    pub fires_per_minute: u32,
    /// Deploys and rollbacks in a minute.
    pub deploys_per_minute: u32,
    /// Requests of any kind in a minute.
    pub requests_per_minute: u32,
    /// Requests that may be under way at once.
    pub concurrent_requests: u32,
    /// Whether its packs may reach the internet, where the driver keeps packs apart.
    pub egress: bool,
}

/// Those that differ from the configured ones, which hold for all others also when they change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnLimits {
    /// Workers of one flare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_size: Option<u32>,
    /// Slots that its running flares may hold together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent_slots: Option<u32>,
    /// MiB per worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
    /// Bytes of a package, as uploaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package_size: Option<u64>,
    /// Flares in a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flares_per_minute: Option<u32>,
    /// How many definitions it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions: Option<u32>,
    /// Bytes of their packages, parameters and variables together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions_size: Option<u64>,
    /// Bytes that results and logs of its flares may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_size: Option<u64>,
    /// Invocations of actions in a minute of the calendar; without it, as many as flares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocations_per_minute: Option<u32>,
    /// Triggers fired in a minute of the calendar; without it, as many as flares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fires_per_minute: Option<u32>,
    /// Deploys and rollbacks in a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploys_per_minute: Option<u32>,
    /// Requests of any kind in a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Requests that may be under way at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent_requests: Option<u32>,
    /// Whether its packs may reach the internet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<bool>,
}

/// What a namespace is to be.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceRequest {
    /// Those that differ from the configured ones, which hold for all others also when they change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<OwnLimits>,
}

/// A namespace.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// What a namespace may use.
    pub limits: Limits,
    /// When it was created.
    pub created: u64,
    /// When its key was revoked.
    pub revoked: Option<u64>,
}

/// A namespace that has just got its credentials.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedNamespace {
    /// Its name.
    pub name: String,
    /// What a namespace may use.
    pub limits: Limits,
    /// When it was created.
    pub created: u64,
    /// When its key was revoked.
    pub revoked: Option<u64>,
    /// The credentials, as `uuid:key`.
    pub auth: String,
}

/// Why a machine gets no flares that fit elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quarantine {
    /// What went wrong last.
    pub reason: String,
    /// When a flare may try it again; in the past, the next one does, or one does now.
    pub until: u64,
}

/// What packages a machine can run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Runtime {
    /// Its architecture.
    pub arch: String,
    /// The version of its C library.
    pub glibc: String,
}

/// Whether a machine is given flares.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drain {
    /// Its id.
    pub id: String,
    /// Whether it is given none, by the administrator or as it is about to stop.
    pub drained: bool,
    /// How many run on it or are reserved.
    pub used_slots: u32,
}

/// A machine that runs packs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invoker {
    /// Its id.
    pub id: String,
    /// How many workers it runs at once.
    pub slots: u32,
    /// How many more it would take.
    pub free_slots: u32,
    /// How many run on it or are reserved.
    pub used_slots: u32,
    /// What part of its processors is busy.
    pub cpu_load: f64,
    /// Whether a machine gets flares. A quarantined one gets none that fit elsewhere, as packs fail to start on
    /// it. One that is drained gets none at all, and is draining as long as flares run on it.
    pub state: InvokerState,
    /// Whether it is given no more flares, by the administrator or as it is about to stop; also of one that is
    /// down.
    pub drained: bool,
    /// Why a machine gets no flares that fit elsewhere.
    pub quarantine: Option<Quarantine>,
    /// How it keeps packs apart.
    pub driver: String,
    /// Idle packs of definitions that ran before.
    pub warm_packs: u32,
    /// Containers that are ready for any definition.
    pub prewarmed_packs: u32,
    /// What packages a machine can run.
    pub runtime: Runtime,
}

/// A parameter or an annotation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyValue {
    /// Its name.
    pub key: String,
    /// Any JSON.
    pub value: Box<RawValue>,
    /// Whether a parameter is in the program's environment, and not among what it is called with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<bool>,
}

/// Where a package is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What runs when an action is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionExec {
    /// The kind of program, as `family:version`, `family:default`, `blackbox` or `sequence`.
    pub kind: String,
    /// Its source, or its zip or executable in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Which of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<bool>,
    /// The function that is called, where that is not `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main: Option<String>,
    /// The image that a `blackbox` runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The actions of a `sequence`, as `/namespace/[package/]name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<String>>,
}

/// What one call of an action may use.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionLimits {
    /// Milliseconds.
    pub timeout: u64,
    /// MiB.
    pub memory: u32,
    /// MiB of log that are kept.
    pub logs: u32,
    /// How many calls a container runs at once.
    pub concurrency: u32,
}

/// What one call of an action may use, as far as it is to be said.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitsRequest {
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
    /// MiB of log that are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<u32>,
    /// How many calls a container runs at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// An action. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// Its namespace, with its package as `namespace/package` if it is in one.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is shared.
    pub publish: bool,
    /// What runs when an action is called.
    pub exec: ActionExec,
    /// What it is called with unless the caller says otherwise.
    pub parameters: Vec<KeyValue>,
    /// What one call of an action may use.
    pub limits: ActionLimits,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
    /// Where a package is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<PackageName>,
    /// When it was last changed.
    pub updated: u64,
}

/// An action in a list. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionSummary {
    /// Its namespace, with its package as `namespace/package` if it is in one.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is shared.
    pub publish: bool,
    /// What a list says of an action's code.
    pub exec: ActionCode,
    /// What one call of an action may use.
    pub limits: ActionLimits,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
    /// When it was last changed.
    pub updated: u64,
}

/// What a list says of an action's code.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionCode {
    /// Whether it is a zip or an executable.
    pub binary: bool,
}

/// An action as it is to be. Unknown fields are passed over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionRequest {
    /// What runs when an action is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<ActionExec>,
    /// In place of those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<KeyValue>>,
    /// Over those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<KeyValue>>,
    /// Names of annotations to remove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub del_annotations: Option<Vec<String>>,
    /// What one call of an action may use, as far as it is to be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsRequest>,
    /// Whether it is to be shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
    /// Its version in place of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A package of actions, or a binding of one. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionPackage {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether others may use it.
    pub publish: bool,
    /// The package that it binds, as `{namespace, name}`; `{}` when it binds none.
    pub binding: Box<RawValue>,
    /// What its actions are called with under their own parameters.
    pub parameters: Vec<KeyValue>,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
    /// Its actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<PackageMember>>,
    /// Those of its actions that feed triggers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feeds: Option<Vec<PackageMember>>,
    /// When it was last changed.
    pub updated: u64,
}

/// An action as its package shows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageMember {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
}

/// A package in a list. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageSummary {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether others may use it.
    pub publish: bool,
    /// The package that it binds, or `false`.
    pub binding: Box<RawValue>,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
    /// When it was last changed.
    pub updated: u64,
}

/// A package as it is to be. Unknown fields are passed over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageRequest {
    /// The package that it is to bind, as `{namespace, name}`; without one, or with `{}`, it is a package.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub binding: Option<Box<RawValue>>,
    /// In place of those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<KeyValue>>,
    /// In place of those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<KeyValue>>,
    /// Whether others may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
    /// Its version in place of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a namespace may ask for of its actions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionLimitsOfNamespace {
    /// How many calls may begin in a minute.
    pub invocations_per_minute: u64,
    /// How many calls may run at once.
    pub concurrent_invocations: u64,
    /// How many triggers may fire in a minute.
    pub fires_per_minute: u64,
    /// The kinds that there are for it; `*` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_kinds: Option<Vec<String>>,
    /// Whether what becomes of calls is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_activations: Option<bool>,
    /// MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_action_memory: Option<u64>,
    /// MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_action_memory: Option<u64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_action_timeout: Option<u64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_action_timeout: Option<u64>,
    /// MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_action_logs: Option<u64>,
    /// MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_action_logs: Option<u64>,
    /// Calls of one container at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_action_concurrency: Option<u64>,
    /// Calls of one container at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_action_concurrency: Option<u64>,
    /// Containers of one action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_action_instances: Option<u64>,
    /// Size of what a call may bring, such as `1 MB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_parameter_size: Option<String>,
}

/// Where a trigger or an action is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionPlace {
    /// Its namespace, with its package as `namespace/package` if it is in one.
    pub path: String,
    /// Its name.
    pub name: String,
}

vocabulary! {
    /// Whether a rule's action is called when its trigger fires.
    RuleStatus {
        Active = "active",
        Inactive = "inactive",
    }
}

/// A trigger. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is shared.
    pub publish: bool,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
    /// What its actions are called with unless the event says otherwise.
    pub parameters: Vec<KeyValue>,
    /// Nothing; OpenWhisk shows it.
    pub limits: BTreeMap<String, Box<RawValue>>,
    /// Its rules, by `namespace/name`, each with `action` and `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<BTreeMap<String, Box<RawValue>>>,
    /// When it was last changed.
    pub updated: u64,
}

/// A trigger in a list. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerSummary {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is shared.
    pub publish: bool,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
    /// When it was last changed.
    pub updated: u64,
}

/// A trigger as it is to be. Unknown fields are passed over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerRequest {
    /// In place of those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<KeyValue>>,
    /// In place of those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<KeyValue>>,
    /// Whether it is to be shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
    /// Its version in place of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A rule. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is shared.
    pub publish: bool,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
    /// Where a trigger or an action is.
    pub trigger: ActionPlace,
    /// Where a trigger or an action is.
    pub action: ActionPlace,
    /// Whether a rule's action is called when its trigger fires.
    pub status: RuleStatus,
    /// When it was last changed.
    pub updated: u64,
}

/// A rule in a list. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleSummary {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is shared.
    pub publish: bool,
    /// What is said of it.
    pub annotations: Vec<KeyValue>,
    /// Where a trigger or an action is.
    pub trigger: ActionPlace,
    /// Where a trigger or an action is.
    pub action: ActionPlace,
    /// When it was last changed.
    pub updated: u64,
}

/// A rule as it is to be. Unknown fields are passed over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleRequest {
    /// Its trigger, as `/namespace/name` or `{path, name}`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub trigger: Option<Box<RawValue>>,
    /// Its action, as `/namespace/[package/]name` or `{path, name}`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub action: Option<Box<RawValue>>,
    /// In place of those that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<KeyValue>>,
    /// Whether it is to be shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
    /// Its version in place of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a rule is to be.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleStatusRequest {
    /// Whether a rule's action is called when its trigger fires.
    pub status: RuleStatus,
}

/// What became of a call or an event. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Activation {
    /// That of the caller.
    pub namespace: String,
    /// The action's or the trigger's.
    pub name: String,
    /// The action's or the trigger's.
    pub version: String,
    /// Never.
    pub publish: bool,
    /// What is said of it: `path`, `kind`, `limits`, `waitTime`, `initTime` where something was started for it,
    /// and more.
    pub annotations: Vec<KeyValue>,
    /// Its id.
    pub activation_id: String,
    /// When it began.
    pub start: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The id of the call that this one is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Who called.
    pub subject: String,
    /// What a call came to.
    pub response: ActivationResult,
    /// Its lines, each with time and stream before it; of a sequence the ids of its parts.
    pub logs: Vec<String>,
}

/// An activation in a list. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivationSummary {
    /// That of the caller.
    pub namespace: String,
    /// The action's or the trigger's.
    pub name: String,
    /// The action's or the trigger's.
    pub version: String,
    /// Never.
    pub publish: bool,
    /// What is said of it: `path`, `kind`, `limits`, `waitTime`, `initTime` where something was started for it,
    /// and more.
    pub annotations: Vec<KeyValue>,
    /// Its id.
    pub activation_id: String,
    /// When it began.
    pub start: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The id of the call that this one is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// 0 success, 1 application error, 2 action developer error, 3 whisk internal error.
    pub status_code: u32,
}

/// What a call came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivationResult {
    /// `success`, `application error`, `action developer error` or `whisk internal error`.
    pub status: String,
    /// Whether it did well.
    pub success: bool,
    /// Bytes of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// Any JSON.
    pub result: Box<RawValue>,
}

/// What a call wrote.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivationLogs {
    /// Its lines, each with time and stream before it.
    pub logs: Vec<String>,
}

/// A call or an event that was taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedActivation {
    /// Where it will be recorded.
    pub activation_id: String,
}
