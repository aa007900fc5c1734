//! Every backend there is, each with its server.

use std::process::Command;

use burst_test_servers::{BackendServer, backend};
use serde::Deserialize;

use crate::{Settings, built};

/// The kinds of backends, as the built runtime says.
#[track_caller]
pub fn kinds() -> Vec<String> {
    #[derive(Deserialize)]
    struct Description {
        backends: Vec<String>,
    }
    let mut describe = Command::new(built::dist("bin/burst-runtime"));
    let output = describe.arg("describe").output().unwrap();
    let description: Description = serde_json::from_slice(&output.stdout).unwrap();
    description.backends
}

/// One of a kind, with its server at one of this machine's addresses, if it has any.
pub struct Backend {
    kind: String,
    /// Runs until it is dropped.
    pub server: Option<Box<dyn BackendServer>>,
}

impl Backend {
    /// Starts its server.
    pub fn start(kind: String, host: &str) -> Self {
        let server = backend::of(&kind).map(|server| (server.at)(host));
        Self { kind, server }
    }

    /// The settings with this as the backend of flares that name none.
    pub fn chosen(&self, settings: Settings) -> Settings {
        let kind = &self.kind;
        match &self.server {
            Some(server) => settings.backend(kind, &server.uri()),
            None => settings
                .set(&format!("burst.backends.{kind}.kind"), kind)
                .flag("--default-backend", kind),
        }
    }
}
