//! Plays steps, one after another.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::control::Control;

/// A step of a script; its outcome is noted.
pub type Step = fn(&mut Player, &Value) -> io::Result<Value>;

/// Steps by name, for each subject.
pub type Steps = &'static [&'static [(&'static str, Step)]];

/// The program, with its inputs.
pub struct Player {
    steps: Steps,
    pub control: Control,
    /// The flare it plays in.
    pub flare: Value,
    /// The outcomes of its steps.
    pub noted: Vec<Value>,
    /// The listener for other packs of its flare, if it has any.
    pub listener: Option<TcpListener>,
    /// The endpoints of all packs of its flare, once it has begun.
    pub endpoints: Vec<String>,
    /// The addresses at which another tenant's flare listens.
    pub neighbour: Vec<String>,
    /// The id of that flare.
    pub neighbour_flare: String,
    /// The addresses at which somebody on the machine listens.
    pub host: Vec<String>,
    /// Processor time between the end of the last flare and the beginning of this one.
    pub idle: Duration,
    used: Option<Duration>,
}

impl Player {
    pub fn new(steps: Steps, control: Control) -> Self {
        Self {
            steps,
            control,
            flare: Value::Null,
            noted: Vec::new(),
            listener: None,
            endpoints: Vec::new(),
            neighbour: Vec::new(),
            neighbour_flare: String::new(),
            host: Vec::new(),
            idle: Duration::ZERO,
            used: None,
        }
    }

    /// Plays a flare's script.
    pub fn run(&mut self, flare: Value) {
        let now = processor_time();
        self.idle = self.used.map_or(Duration::ZERO, |used| now - used);
        self.control.run = flare["run"].clone();
        self.flare = flare;
        self.noted.clear();
        self.listener = None;
        let inputs = &self.flare["inputs"];
        let input = match &inputs["shared"] {
            Value::Null => &inputs["each"][0],
            shared => shared,
        };
        let (steps, neighbour, host) = (
            input["steps"].clone(),
            texts(&input["neighbour"]),
            texts(&input["host"]),
        );
        self.neighbour_flare = word(input, "neighbourFlare").to_owned();
        (self.neighbour, self.host) = (neighbour, host);
        self.play(&steps);
        self.used = Some(processor_time());
    }

    pub fn play(&mut self, steps: &Value) {
        for step in steps.as_array().into_iter().flatten() {
            let name = step["do"].as_str().unwrap_or_default();
            let known = self
                .steps
                .iter()
                .copied()
                .flatten()
                .find(|(known, _)| *known == name)
                .map(|(_, play)| play);
            let result = match known {
                Some(play) => play(self, step),
                None => Err(io::Error::other(format!("no step is called {name}"))),
            };
            let result = result.unwrap_or_else(|error| json!({"refused": kind(&error)}));
            self.noted.push(json!({ name: result }));
        }
    }

    /// Replaces `FLARE` in a text by the flare's id, and `NEIGHBOUR` by that of the neighbour's flare.
    pub fn named(&self, text: &str) -> String {
        let flare = word(&self.flare, "flareId");
        text.replace("FLARE", flare)
            .replace("NEIGHBOUR", &self.neighbour_flare)
    }

    /// The ids of this pack's workers.
    pub fn workers(&self) -> std::ops::Range<u64> {
        let pack = self.flare["pack"].as_u64().unwrap_or_default() as usize;
        let sizes = self.flare["packSizes"].as_array();
        let sizes: Vec<u64> = sizes
            .into_iter()
            .flatten()
            .filter_map(Value::as_u64)
            .collect();
        let first = sizes.iter().take(pack).sum();
        first..first + sizes.get(pack).copied().unwrap_or(1)
    }
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The kind of error of a refused step; kinds that the standard library does not distinguish are given by number.
pub fn kind(error: &io::Error) -> String {
    match (format!("{:?}", error.kind()), error.raw_os_error()) {
        (kind, Some(number)) if kind == "Uncategorized" => format!("errno {number}"),
        (kind, None) if kind == "Other" => error.to_string(),
        (kind, _) => kind,
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// A whole number of a step, or the default if it is missing.
pub fn number(step: &Value, name: &str, default: u64) -> u64 {
    step[name].as_u64().unwrap_or(default)
}

/// A word of a step; empty if it is missing.
pub fn word<'a>(step: &'a Value, name: &str) -> &'a str {
    step[name].as_str().unwrap_or_default()
}

pub fn pause(step: &Value, default: u64) {
    std::thread::sleep(Duration::from_millis(number(step, "millis", default)));
}
