//! The servers to measure: the ones that the library's tests use, each a process.

use burst_bcm::BackendConfig;
use burst_test_servers::{BackendServer, backend};

/// Returns all backends that packs on different machines can use.
pub fn backends() -> Vec<String> {
    burst_bcm::backends().map(str::to_owned).collect()
}

/// The server of a backend, if it needs one. Dropping it stops the server.
pub struct Server(Option<Box<dyn BackendServer>>);

impl Server {
    /// Starts an empty server for a backend.
    pub fn of(backend: &str) -> Self {
        Self(backend::of(backend).map(|server| (server.measured)()))
    }

    /// Returns the configuration of a backend on this server.
    pub fn config(&self, backend: &str) -> BackendConfig {
        let config = BackendConfig::new(backend);
        match &self.0 {
            None => config,
            Some(server) => config.with_uri(server.uri()),
        }
    }
}
