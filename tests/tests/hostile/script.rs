//! What a hostile program does, and the outcome that it must have.

use burst_tests::Neighbour;
use serde_json::{Value, json};

/// The memory of a worker, in MiB.
const MEMORY: u32 = 128;

/// How the flare of a hostile program must end.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    /// It succeeds.
    Success,
    /// It fails, with one of these kinds of failure.
    Failure(&'static [&'static str]),
    /// It ends at its timeout.
    Timeout,
    /// It ends in any way.
    Anything,
}

/// The name of a step of the first worker, and a check of its outcome.
pub type StepCheck = (&'static str, fn(&Value) -> bool);

/// Milliseconds that a flare may take to end by itself, on a machine with much else to do.
const PATIENCE: u64 = 240_000;

/// One attack. Its flare has one worker, 128 MiB and a timeout of five seconds unless set otherwise, or [`PATIENCE`] if
/// it should end by itself.
#[derive(Debug, Clone)]
pub struct Script {
    pub name: &'static str,
    /// What the program plays before it sends its hello, as part of its package.
    pub before: Option<Value>,
    /// What each worker plays.
    pub steps: Vec<Value>,
    pub expected: Expected,
    pub timeout: u64,
    /// Only for isolated packs: a pack that is a process shares the machine with everybody.
    pub isolated: bool,
    /// Only if all resources of a pack are accounted to it: by control groups, and to a user of its own. The sandboxes
    /// of an ordinary user have neither (SECURITY.md).
    pub accounted: bool,
    pub expected_result: Option<StepCheck>,
    /// Something is left behind that would use processor time.
    pub busy: bool,
    /// Its effects on its own process last until that process ends: its packs are ended before the next flare.
    pub discard_packs: bool,
}

/// A script of one worker that begins and ends properly around these steps.
pub fn in_flare(name: &'static str, expected: Expected, steps: Value) -> Script {
    script(name, expected, begin_and_end(steps))
}

/// A script of one worker that sends all events by itself.
pub fn script(name: &'static str, expected: Expected, steps: Value) -> Script {
    Script {
        name,
        before: None,
        steps: vec![steps],
        expected,
        timeout: if matches!(expected, Expected::Success | Expected::Failure(_)) {
            PATIENCE
        } else {
            5_000
        },
        isolated: false,
        accounted: false,
        expected_result: None,
        busy: false,
        discard_packs: false,
    }
}

/// These steps between a beginning and an end.
pub fn begin_and_end(inner: Value) -> Value {
    let mut steps = vec![json!({"do": "begin"})];
    steps.extend(inner.as_array().into_iter().flatten().cloned());
    steps.push(json!({"do": "end"}));
    json!(steps)
}

impl Script {
    /// Gives it a package of its own, which plays this before it is up.
    pub fn before(mut self, steps: Value) -> Self {
        self.before = Some(steps);
        self
    }

    /// Adds another worker, in another pack, that plays this.
    pub fn and(mut self, steps: Value) -> Self {
        self.steps.push(steps);
        self
    }

    /// Adds steps for a moment after its flare has ended, when the pack is idle or has been given up.
    pub fn after_flare(mut self, added: Value) -> Self {
        let after = added.as_array().into_iter().flatten();
        if let Some(steps) = self.steps[0].as_array_mut() {
            steps.push(json!({"do": "sleep", "millis": 50}));
            steps.extend(after.cloned());
        }
        self
    }

    /// Adds steps immediately after the end of its flare.
    pub fn right_after_flare(mut self, added: Value) -> Self {
        if let Some(steps) = self.steps[0].as_array_mut() {
            steps.extend(added.as_array().into_iter().flatten().cloned());
        }
        self
    }

    pub fn timeout(mut self, millis: u64) -> Self {
        self.timeout = millis;
        self
    }

    pub fn in_containers(mut self) -> Self {
        self.isolated = true;
        self
    }

    pub fn accounted(mut self) -> Self {
        self.accounted = true;
        self
    }

    pub fn expect_result(mut self, step: &'static str, good: fn(&Value) -> bool) -> Self {
        self.expected_result = Some((step, good));
        self
    }

    pub fn busy(mut self) -> Self {
        self.busy = true;
        self
    }

    pub fn discard_packs(mut self) -> Self {
        self.discard_packs = true;
        self
    }

    /// The request of its flare.
    pub fn request(&self, neighbour: &Neighbour<'_>, host: &[String]) -> Value {
        let (addresses, flare) = (neighbour.addresses(), neighbour.flare_id());
        let inputs: Vec<Value> = (self.steps.iter())
            .map(|steps| {
                json!({"steps": steps, "neighbour": addresses, "neighbourFlare": flare, "host": host})
            })
            .collect();
        json!({"params": inputs, "granularity": 1, "packing": "homogeneous", "memory": MEMORY,
            "timeout": self.timeout})
    }

    /// The request of the flare after it, on the same packs if they still exist.
    pub fn next(&self) -> Value {
        let looks = json!({"steps": begin_and_end(json!([{"do": "look"}]))});
        let inputs = vec![looks; self.steps.len()];
        json!({"params": inputs, "granularity": 1, "packing": "homogeneous", "memory": MEMORY,
            "timeout": PATIENCE})
    }
}

/// Returns whether a step was refused, and not done.
pub fn refused(result: &Value) -> bool {
    result["refused"].is_string()
}

/// Returns whether nobody accepted its connections: it counted none.
pub fn none(result: &Value) -> bool {
    result == 0 || result[0] == 0 || refused(result)
}
