//! Flares of the work function that records each of its runs. Their expected outputs, and how often each worker ran,
//! are known without asking the platform.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::failing::{LONG, LONG_TIMEOUT};
use crate::{Cluster, account};

/// Name under which it is deployed.
pub const NAME: &str = "counted";

/// More workers than any of these flares has.
const MOST: u64 = 1000;

/// The file in which runs are recorded.
#[derive(Debug, Clone)]
pub struct Runs(PathBuf);

/// Deploys it. Runs are recorded in a file that only packs that are processes can reach.
#[track_caller]
pub fn deploy(cluster: &Cluster) -> Runs {
    cluster.deploy(NAME);
    let file = cluster.scratch().join("runs");
    fs::write(&file, "").unwrap();
    account::give(&file);
    Runs(file)
}

impl Runs {
    /// How often each worker has begun, by its number.
    #[track_caller]
    pub fn read(&self) -> BTreeMap<u64, usize> {
        let text = fs::read_to_string(&self.0).unwrap();
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let n = line.strip_prefix("rust ").expect(line);
            *counts.entry(n.parse().expect(line)).or_default() += 1;
        }
        counts
    }
}

/// A flare to be started, with its expected result.
#[derive(Debug, Clone)]
pub struct Order {
    number: u64,
    size: u32,
    time: Duration,
    until: Option<PathBuf>,
    fails: Option<u32>,
    letters: usize,
    options: Value,
}

impl Order {
    /// The flare with this number, of `size` workers that end immediately. Flares of one test have different numbers.
    pub fn new(number: u64, size: u32) -> Self {
        Self {
            number,
            size,
            time: Duration::ZERO,
            until: None,
            fails: None,
            letters: 0,
            options: json!({"timeout": LONG_TIMEOUT, "memory": 64, "backend": "direct", "packing": "homogeneous"}),
        }
    }

    /// Makes each worker take this long.
    pub fn lasting(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Makes each worker end once this file exists.
    pub fn until(mut self, file: &Path) -> Self {
        self.until = Some(file.to_owned());
        self.lasting(LONG)
    }

    /// Makes this worker fail.
    pub fn fails(mut self, worker: u32) -> Self {
        self.fails = Some(worker);
        self
    }

    /// Makes each worker also put out this many letters.
    pub fn letters(mut self, count: usize) -> Self {
        self.letters = count;
        self
    }

    /// Sets an option of the request.
    pub fn option(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.options[name] = value.into();
        self
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The number of its workers.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The numbers under which its workers are recorded.
    pub fn workers(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.number * MOST;
        first..first + u64::from(self.size)
    }

    /// The worker that fails, with its error message.
    pub fn failure(&self) -> Option<(u32, String)> {
        let worker = self.fails?;
        Some((worker, format!("flare {} was to fail", self.number)))
    }

    /// The body of the request.
    pub fn body(&self, runs: &Runs) -> Value {
        let input = |(worker, n): (u32, u64)| {
            let failure = self.failure().filter(|(who, _)| *who == worker);
            json!({
                "n": n,
                "runs": runs.0,
                "millis": self.time.as_millis() as u64,
                "until": self.until,
                "fail": failure.map(|(_, reason)| reason),
                "letters": self.letters,
            })
        };
        let mut body = self.options.clone();
        body["params"] = (0..).zip(self.workers()).map(input).collect();
        body
    }

    /// The `outputs` of its result, if it succeeds.
    pub fn outputs(&self) -> Value {
        let (sum, letters) = (self.workers().sum::<u64>(), "x".repeat(self.letters));
        let output = |(worker, n): (u32, u64)| json!({"worker": worker, "output": {"n": n, "sum": sum, "letters": letters}});
        (0..).zip(self.workers()).map(output).collect()
    }
}
