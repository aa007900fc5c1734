//! All kinds of backends, each with its server.

use std::process::Command;

use burst_test_servers::{BackendServer, backend};
use serde::Deserialize;

use crate::{Settings, built};

/// The kinds of backends that the built runtime reports.
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

/// A backend of one kind, with its server, if it has one, at one of this machine's addresses.
pub struct Backend {
    kind: String,
    /// The server, which runs until it is dropped.
    pub server: Option<Box<dyn BackendServer>>,
}

impl Backend {
    /// Starts its server.
    fn start(kind: String, host: &str) -> Self {
        let server = backend::of(&kind).map(|server| (server.at)(host));
        Self { kind, server }
    }

    /// One backend of each kind, with their servers.
    pub fn all(host: &str) -> Vec<Self> {
        let kinds = kinds().into_iter();
        kinds.map(|kind| Self::start(kind, host)).collect()
    }

    /// The name by which flares select it.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

/// The settings with all of these backends, for flares that select one by name.
pub fn offered(backends: &[Backend], settings: Settings) -> Settings {
    (backends.iter()).fold(
        settings,
        |settings, Backend { kind, server }| match server {
            Some(server) => settings.flag("--backend", format!("{kind}={}", server.uri())),
            None => settings.set(&format!("burst.backends.{kind}.kind"), kind),
        },
    )
}
