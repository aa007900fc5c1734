//! Requests to the runtime, and its commands to the program.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use burst_bcm::{BackendConfig, Failure, PackId, Secret, Topology};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::LOG_LIMIT;
use crate::timestamp::Timestamp;

/// The body of `POST /packs`: one pack's part of a flare.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunPack {
    /// The flare.
    pub flare_id: String,
    /// This pack's id.
    pub pack: PackId,
    /// How many workers each pack of the flare has, by pack id.
    pub pack_sizes: Vec<u32>,
    /// The inputs of this pack's workers.
    pub inputs: Inputs,
    /// The backend that carries messages between packs.
    pub backend: BackendConfig,
    /// The secret with which packs of this flare prove their membership.
    pub secret: Secret,
    /// The address at which other packs reach this one.
    pub advertise: String,
    /// The time by which the flare must have ended.
    pub deadline: Timestamp,
    /// The group the flare belongs to: its workers' state and the packs' connections are kept for the next flare that
    /// names the same group.
    #[serde(default)]
    pub group: Option<String>,
    /// Start as soon as ready, without a `start` command (a flare with one pack).
    #[serde(default)]
    pub autostart: bool,
    /// How long the pack may run unless the lease is renewed; without a lease there is no such limit. Milliseconds on
    /// the wire.
    #[serde(default, with = "millis")]
    pub lease: Option<Duration>,
    /// The memory limit of the program in MiB, for all workers of this pack together; none if the pack's container
    /// enforces a limit.
    #[serde(default)]
    pub memory: Option<u64>,
    /// The details of this run for an OpenWhisk function.
    #[serde(default)]
    pub invocation: Invocation,
    /// The spans of its workers in the flare's trace, if it has one.
    #[serde(default)]
    pub trace: Option<WorkerSpans>,
    /// How many bytes each worker may log; [`LOG_LIMIT`] by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_limit: Option<usize>,
}

/// The spans of a pack's workers. Whatever a worker does joins the flare's trace by naming the worker's span as its
/// parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSpans {
    /// The trace id: 32 hexadecimal digits.
    pub id: String,
    /// Whether the trace is sampled, and so exported.
    pub sampled: bool,
    /// The span id of each worker of the pack, in the order of worker ids: 16 hexadecimal digits each.
    pub workers: Vec<String>,
}

impl WorkerSpans {
    /// Returns the trace context of the worker at `index` in its pack, in the format of `traceparent`.
    pub fn traceparent(&self, index: usize) -> Option<String> {
        let sampled = u8::from(self.sampled);
        let span = self.workers.get(index)?;
        Some(format!("00-{}-{span}-0{sampled}", self.id))
    }
}

/// The details of a run for an OpenWhisk function, under the names that OpenWhisk's runtimes use (`activation_id`,
/// `action_name`, …). They may include an API key, so values are never printed.
#[derive(Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Invocation(pub BTreeMap<String, String>);

impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why a pack's part of a flare cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRun {
    /// `packSizes` is invalid.
    #[error(transparent)]
    PackSizes(#[from] burst_bcm::Error),
    /// The pack is not in `packSizes`.
    #[error("pack {pack} is not one of the {packs} in packSizes")]
    NoSuchPack {
        /// The pack's id.
        pack: PackId,
        /// How many packs there are.
        packs: u32,
    },
    /// The number of inputs differs from the number of workers.
    #[error("inputs.each has {inputs} inputs for {workers} workers")]
    Inputs {
        /// How many inputs there are.
        inputs: usize,
        /// How many workers the pack has.
        workers: u32,
    },
}

impl RunPack {
    /// Checks that this request can be run.
    pub fn check(&self) -> Result<(), InvalidRun> {
        let topology = Topology::new(&self.pack_sizes)?;
        let workers = topology.pack_size(self.pack);
        if workers == 0 {
            return Err(InvalidRun::NoSuchPack {
                pack: self.pack,
                packs: topology.num_packs(),
            });
        }
        match &self.inputs {
            Inputs::Each(inputs) if inputs.len() != workers as usize => Err(InvalidRun::Inputs {
                inputs: inputs.len(),
                workers,
            }),
            _ => Ok(()),
        }
    }

    /// Returns how many workers this pack has.
    pub fn pack_size(&self) -> u32 {
        self.pack_sizes
            .get(self.pack.0 as usize)
            .copied()
            .unwrap_or(0)
    }

    /// Returns how many bytes each of its workers may log.
    pub fn log_limit(&self) -> usize {
        self.log_limit.unwrap_or(LOG_LIMIT)
    }

    /// Returns the id of this pack's first worker.
    pub fn first_worker(&self) -> u32 {
        self.pack_sizes.iter().take(self.pack.0 as usize).sum()
    }

    /// Returns the ids of this pack's workers.
    pub fn workers(&self) -> Range<u32> {
        let first = self.first_worker();
        first..first.saturating_add(self.pack_size())
    }
}

/// Durations as whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        time.map(millis).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let millis = Option::<u64>::deserialize(deserializer)?;
        Ok(millis.map(Duration::from_millis))
    }
}

/// The inputs of a pack's workers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inputs {
    /// The same input for all.
    Shared(Box<RawValue>),
    /// One input for each worker of this pack, in the order of their ids.
    Each(Vec<Box<RawValue>>),
}

impl Inputs {
    /// Returns the input of the worker at `index` within its pack.
    pub fn of(&self, index: usize) -> Option<&RawValue> {
        match self {
            Self::Shared(input) => Some(input),
            Self::Each(inputs) => inputs.get(index).map(AsRef::as_ref),
        }
    }
}

/// The first frame to an interpreter's launcher, which sends its hello after handling it.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "command", rename = "init")]
pub struct Init<'a> {
    /// The directory of the package, which becomes the working directory.
    pub directory: &'a Path,
    /// The function's name.
    pub main: &'a str,
    /// Whether to install the package's dependencies beside it; if so, no other pack uses the directory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub installs: bool,
    /// Why dependencies cannot be installed, if so, to explain why the function cannot be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<&'a str>,
}

/// One frame from the runtime to the program.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "command", rename_all = "lowercase")]
pub enum Command {
    /// Join the flare and report ready.
    Run {
        /// The run number that every event of this run must carry, so that it is not mistaken for an event of another
        /// run.
        run: u64,
        /// The flare.
        #[serde(flatten)]
        pack: Box<RunPack>,
    },
    /// All packs are ready: start the workers.
    Start {
        /// The endpoint of every pack, by pack id.
        endpoints: Vec<String>,
    },
    /// Fail all blocked and future operations with this error.
    Abort {
        /// The reason.
        error: Failure,
    },
}

impl Command {
    /// Parses one frame.
    pub fn parse(frame: &[u8]) -> Result<Self, serde_json::Error> {
        // Raw inputs cannot pass through serde's tagged enums, so the tag is read separately.
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Name {
            Run,
            Start,
            Abort,
        }
        #[derive(Deserialize)]
        struct Tag {
            command: Name,
            #[serde(default)]
            run: u64,
        }
        #[derive(Deserialize)]
        struct Start {
            endpoints: Vec<String>,
        }
        #[derive(Deserialize)]
        struct Abort {
            error: Failure,
        }
        let Tag { command, run } = serde_json::from_slice(frame)?;
        Ok(match command {
            Name::Run => Self::Run {
                run,
                pack: serde_json::from_slice(frame)?,
            },
            Name::Start => {
                let Start { endpoints } = serde_json::from_slice(frame)?;
                Self::Start { endpoints }
            }
            Name::Abort => {
                let Abort { error } = serde_json::from_slice(frame)?;
                Self::Abort { error }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn run_pack(change: impl FnOnce(&mut serde_json::Value)) -> RunPack {
        let mut body = serde_json::json!({
            "flareId": "f1", "pack": 1, "packSizes": [3, 2], "inputs": {"each": [1, 2]},
            "backend": {"kind": "direct", "uri": "redis://:hunter2@host", "chunkSize": 1},
            "secret": "hunter2", "advertise": "127.0.0.1", "deadline": 5, "lease": 1500,
            "invocation": {"api_key": "hunter2"}
        });
        change(&mut body);
        serde_json::from_str(&body.to_string()).unwrap()
    }

    #[test]
    fn a_run_command_is_read_back() {
        let run = run_pack(|_| ());
        let command = Command::Run {
            run: u64::MAX,
            pack: Box::new(run),
        };
        let frame = serde_json::to_vec(&command).unwrap();
        let Command::Run {
            run: number,
            pack: run,
        } = Command::parse(&frame).unwrap()
        else {
            unreachable!()
        };
        assert_eq!(number, u64::MAX);
        assert_eq!(
            (run.pack_size(), run.first_worker(), run.autostart),
            (2, 3, false)
        );
        assert_eq!(run.workers(), 3..5);
        assert_eq!(run.lease, Some(Duration::from_millis(1500)));
        assert_eq!(run.deadline, Timestamp::from_micros(5));
        assert_eq!(run.inputs.of(1).unwrap().get(), "2");
        assert_eq!(run.check(), Ok(()));
        assert_eq!(run.trace, None);
        assert_eq!(run.log_limit(), LOG_LIMIT);
    }

    #[test]
    fn a_log_limit_is_passed_on_where_there_is_one() {
        for limit in [None, Some(0), Some(10 << 20)] {
            let run = run_pack(|body| {
                if let Some(limit) = limit {
                    body["logLimit"] = limit.into();
                }
            });
            assert_eq!(run.log_limit(), limit.unwrap_or(LOG_LIMIT));
            let frame = serde_json::to_value(&run).unwrap();
            assert_eq!(frame.get("logLimit"), limit.map(Into::into).as_ref());
        }
    }

    #[test]
    fn workers_have_places_in_a_trace() {
        let spans = serde_json::json!({"id": "4b".repeat(16), "sampled": true, "workers": ["0".repeat(15) + "1"]});
        let run = run_pack(|body| body["trace"] = spans);
        let trace = run.trace.unwrap();
        let expected = format!("00-{}-0000000000000001-01", "4b".repeat(16));
        assert_eq!(trace.traceparent(0), Some(expected));
        assert_eq!(trace.traceparent(1), None);
    }

    #[test]
    fn invalid_requests_are_refused_with_the_reason() {
        let outside = run_pack(|body| body["pack"] = 2.into());
        let refusal = |run: RunPack| run.check().unwrap_err().to_string();
        assert!(refusal(outside).contains("pack 2"));
        let empty = run_pack(|body| body["packSizes"][0] = 0.into());
        assert!(refusal(empty).contains("at least one worker"));
        let few = run_pack(|body| body["inputs"]["each"] = serde_json::json!([1]));
        assert!(refusal(few).contains("1 inputs for 2 workers"));
    }

    #[test]
    fn secrets_and_addresses_never_show_when_printed() {
        let shown = format!("{:?}", run_pack(|_| ()));
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn an_interpreter_receives_its_function() {
        let init = |installs, lacks| {
            let init = Init {
                directory: Path::new("/package"),
                main: "main",
                installs,
                lacks,
            };
            serde_json::to_string(&init).unwrap()
        };
        let told = r#"{"command":"init","directory":"/package","main":"main"}"#;
        assert_eq!(init(false, None), told);
        let told = told.trim_end_matches('}');
        assert_eq!(init(true, None), format!(r#"{told},"installs":true}}"#));
        assert_eq!(init(false, Some("no")), format!(r#"{told},"lacks":"no"}}"#));
    }

    #[test]
    fn an_unknown_command_is_refused() {
        assert!(Command::parse(br#"{"command":"dance"}"#).is_err());
    }
}
