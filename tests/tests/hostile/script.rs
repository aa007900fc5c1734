//! What a hostile program does, and what must come of it.

use burst_tests::Neighbour;
use serde_json::{Value, json};

/// MiB of a worker.
const MEMORY: u32 = 128;

/// How the flare of a hostile program must end.
#[derive(Debug, Clone, Copy)]
pub enum Ends {
    /// It succeeds.
    Well,
    /// It fails, and one of these kinds says why.
    Badly(&'static [&'static str]),
    /// At its time-out.
    Late,
    /// In whatever way, as long as it does.
    Somehow,
}

/// What a step of the first worker must have come to.
pub type Noted = (&'static str, fn(&Value) -> bool);

/// Milliseconds that whoever is to end by itself may take, on a machine with much else to do.
const PATIENCE: u64 = 240_000;

/// One attack. Its flare has one worker, 128 MiB and five seconds unless it says otherwise, or [`PATIENCE`] where it is
/// to end by itself.
#[derive(Debug, Clone)]
pub struct Script {
    pub name: &'static str,
    /// What the program plays before it says hello, as part of its package.
    pub before: Option<Value>,
    /// What each worker plays.
    pub steps: Vec<Value>,
    pub ends: Ends,
    pub timeout: u64,
    /// Where it makes sense: a pack that is a process shares the machine with everybody.
    pub isolated: bool,
    /// Where all that a pack has is counted for it: by control groups, and for a user of its own. The sandboxes of an
    /// ordinary user have neither (SECURITY.md).
    pub counted: bool,
    pub noted: Option<Noted>,
    /// Something is left that would use processors.
    pub busy: bool,
    /// What it does to its own process goes with the process.
    pub spoiled: bool,
}

/// A script of one worker that is well-behaved before and after its deeds.
pub fn within(name: &'static str, ends: Ends, deeds: Value) -> Script {
    script(name, ends, honest(deeds))
}

/// A script of one worker that says all by itself.
pub fn script(name: &'static str, ends: Ends, steps: Value) -> Script {
    Script {
        name,
        before: None,
        steps: vec![steps],
        ends,
        timeout: if matches!(ends, Ends::Well | Ends::Badly(_)) {
            PATIENCE
        } else {
            5_000
        },
        isolated: false,
        counted: false,
        noted: None,
        busy: false,
        spoiled: false,
    }
}

/// Beginning, deeds and end.
pub fn honest(deeds: Value) -> Value {
    let mut steps = vec![json!({"do": "begin"})];
    steps.extend(deeds.as_array().into_iter().flatten().cloned());
    steps.push(json!({"do": "end"}));
    json!(steps)
}

impl Script {
    /// With a package of its own, that plays this before it is up.
    pub fn before(mut self, steps: Value) -> Self {
        self.before = Some(steps);
        self
    }

    /// With another worker, in another pack, that plays this.
    pub fn and(mut self, steps: Value) -> Self {
        self.steps.push(steps);
        self
    }

    /// And when its flare has ended, this, a moment later: then the pack is idle, or has been given up.
    pub fn then(mut self, deeds: Value) -> Self {
        let after = deeds.as_array().into_iter().flatten();
        if let Some(steps) = self.steps[0].as_array_mut() {
            steps.push(json!({"do": "sleep", "millis": 50}));
            steps.extend(after.cloned());
        }
        self
    }

    /// And right behind the end of its flare, this.
    pub fn behind(mut self, deeds: Value) -> Self {
        if let Some(steps) = self.steps[0].as_array_mut() {
            steps.extend(deeds.as_array().into_iter().flatten().cloned());
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

    pub fn counted(mut self) -> Self {
        self.counted = true;
        self
    }

    pub fn noted(mut self, step: &'static str, good: fn(&Value) -> bool) -> Self {
        self.noted = Some((step, good));
        self
    }

    pub fn busy(mut self) -> Self {
        self.busy = true;
        self
    }

    pub fn spoiled(mut self) -> Self {
        self.spoiled = true;
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

    /// The request of the flare after it, on the same packs if they are still there.
    pub fn next(&self) -> Value {
        let looks = json!({"steps": honest(json!([{"do": "look"}]))});
        let inputs = vec![looks; self.steps.len()];
        json!({"params": inputs, "granularity": 1, "packing": "homogeneous", "memory": MEMORY,
            "timeout": PATIENCE})
    }
}

/// Whether a step was refused, and not done.
pub fn refused(came: &Value) -> bool {
    came["refused"].is_string()
}

/// Whether nobody let it in: it counted none.
pub fn none(came: &Value) -> bool {
    came == 0 || came[0] == 0 || refused(came)
}
