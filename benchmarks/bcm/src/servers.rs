//! The servers that are measured: the same ones that the library's tests use, each a process.

use burst_bcm::BackendConfig;
use burst_test_servers::{BackendServer, backend};

/// All backends that two packs on different machines may use.
pub fn backends() -> Vec<String> {
    burst_bcm::backends().map(str::to_owned).collect()
}

/// What a backend needs; ends when dropped.
pub struct Server(Option<Box<dyn BackendServer>>);

impl Server {
    /// The server of a backend, started and empty.
    pub fn of(backend: &str) -> Self {
        Self(backend::of(backend).map(|server| (server.measured)()))
    }

    /// A backend on this server.
    pub fn config(&self, backend: &str) -> BackendConfig {
        let config = BackendConfig::new(backend);
        match &self.0 {
            None => config,
            Some(server) => config.with_uri(server.uri()),
        }
    }
}
