//! The environment variables of a package's own, in addition to the few that its program inherits from the runtime.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;

use serde::Deserialize;

/// The variable of the runtime's environment in which its driver describes the image that the runtime is in.
pub(crate) const IMAGE: &str = "BURST_IMAGE";

/// The variables that the program inherits from the runtime.
pub(crate) const HANDED_ON: [&str; 7] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TZ",
    "RUST_BACKTRACE",
    IMAGE,
];

/// Variables by name. Values may be secret and are never printed.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Returns whether the kernel can pass them on.
    pub(crate) fn can_be_passed(&self) -> bool {
        self.0.iter().all(|(name, value)| {
            !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds them to the environment of a command.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(&self.0);
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
