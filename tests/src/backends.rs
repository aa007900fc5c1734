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
    fn start(kind: String, host: &str) -> Self {
        let server = backend::of(&kind).map(|server| (server.at)(host));
        Self { kind, server }
    }

    /// One of each kind, with their servers.
    pub fn all(host: &str) -> Vec<Self> {
        let kinds = kinds().into_iter();
        kinds.map(|kind| Self::start(kind, host)).collect()
    }

    /// What flares name it by.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

/// The settings with all of these for flares that name one.
pub fn offered(backends: &[Backend], settings: Settings) -> Settings {
    (backends.iter()).fold(
        settings,
        |settings, Backend { kind, server }| match server {
            Some(server) => settings.flag("--backend", format!("{kind}={}", server.uri())),
            None => settings.set(&format!("burst.backends.{kind}.kind"), kind),
        },
    )
}
