//! The environment variables that a package's program has of its own, beside the few of the runtime's.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;

use serde::Deserialize;

/// The variable of the runtime's environment in which its driver says what the image is that it is in.
pub(crate) const IMAGE: &str = "BURST_IMAGE";

/// What the program gets to see of the runtime's environment.
pub(crate) const HANDED_ON: [&str; 7] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TZ",
    "RUST_BACKTRACE",
    IMAGE,
];

/// Variables by name. Values may be secret: none is ever shown.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Whether the kernel can pass them on.
    pub(crate) fn can_be_passed(&self) -> bool {
        self.0.iter().all(|(name, value)| {
            !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives them to the program.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(&self.0);
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
