//! A continuous stream of invocations of actions, directly, in a sequence and by a trigger, while faults occur: each
//! accepted one must end in one record, and no action may run twice for one call.

mod ledger;
mod stream;

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

pub use self::ledger::Ledger;
pub use self::stream::{Accepted, Pace, Sent, Stream};
use crate::{Api, account, built};

/// The counterpart of `tests/programs/counted`.
const PYTHON: &str = "
import os, time

def main(args):
    runs = os.open(args['runs'], os.O_WRONLY | os.O_APPEND)
    os.write(runs, f\"python {args['n']}\\n\".encode())
    os.close(runs)
    time.sleep(args['millis'] / 1000)
    return {'n': args['n']}
";

/// How many milliseconds an action takes.
const MILLIS: u64 = 50;

/// The things that can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Callee {
    /// The action in Python.
    Python,
    /// The action in Rust.
    Rust,
    /// A sequence of both.
    Sequence,
    /// A trigger that fires both.
    Fire,
}

impl Callee {
    /// The path below the namespace.
    pub fn path(self) -> &'static str {
        match self {
            Self::Python => "actions/python",
            Self::Rust => "actions/rust",
            Self::Sequence => "actions/both",
            Self::Fire => "triggers/bell",
        }
    }

    /// The name in its own record.
    pub fn name(self) -> &'static str {
        self.path().split_once('/').unwrap().1
    }

    /// Returns whether a call of it can run this action.
    pub fn runs(self, action: Self) -> bool {
        self == action || matches!(self, Self::Sequence | Self::Fire)
    }
}

/// Stores the actions, the sequence, the trigger and the rules. Runs are recorded in the returned file, which only
/// packs that are processes can reach.
#[track_caller]
pub fn deploy(api: &Api, directory: &Path) -> PathBuf {
    let runs = directory.join("runs");
    fs::write(&runs, "").unwrap();
    account::give(&runs);
    let program = fs::read(built::program("counted")).unwrap();
    let rust = json!({"kind": "rust", "code": STANDARD.encode(program)});
    let python = json!({"kind": "python:default", "code": PYTHON});
    let parameters = json!([{"key": "runs", "value": runs}, {"key": "millis", "value": MILLIS}]);
    let limits = json!({"memory": 128, "timeout": 60_000});
    for (callee, exec) in [(Callee::Python, python), (Callee::Rust, rust)] {
        let body = json!({"exec": exec, "parameters": parameters, "limits": limits});
        api.put_action(callee.name(), &body);
    }
    let components = json!(["/_/python", "/_/rust"]);
    let exec = json!({"kind": "sequence", "components": components});
    api.put_action(Callee::Sequence.name(), &json!({ "exec": exec }));
    api.put_trigger(Callee::Fire.name());
    for action in [Callee::Python.name(), Callee::Rust.name()] {
        api.put_rule(&format!("on-{action}"), Callee::Fire.name(), action);
    }
    runs
}
