//! What is known about a backend before it is opened: its entry in the list of backends.

use std::sync::Arc;

use serde::Serialize;

use super::Backend;
use super::inbox::Inbox;
use crate::config::{BackendConfig, PackConfig};
use crate::credential_request::{CredentialRequest, IssuedBackend};
use crate::error::Error;

/// How a pack opens a backend. This is kept beside the kind and not in it, so that a program that
/// only issues credentials and cleans up after flares contains no code that carries messages.
pub(super) type Open = fn(&PackConfig, Arc<Inbox>) -> Result<Arc<dyn Backend>, Error>;

pub(super) const MIB: usize = 1 << 20;

/// A kind of backend, under the name that configurations use.
pub(super) struct BackendKind {
    pub(super) name: &'static str,
    /// One of the faster sizes in `benchmarks/results/chunk-size.csv`, and no larger than needed
    /// for that: memory use, and how long one worker's message holds up another's, grow with it.
    pub(super) chunk_size: usize,
    /// Issues credentials of the flare's own.
    pub(super) issue_credentials:
        fn(&CredentialRequest<'_>, &BackendConfig) -> Result<IssuedBackend, Error>,
    /// Deletes what a flare has left.
    pub(super) clean: fn(&str, &BackendConfig) -> Result<(), Error>,
    /// See [`servers`](super::servers).
    pub(super) servers: fn(&BackendConfig) -> Result<Vec<ServerAddress>, Error>,
}

impl BackendKind {
    /// A kind without a server or credentials that stores nothing; kinds that differ override the
    /// field.
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            chunk_size: MIB,
            issue_credentials: |_, config| Ok(config.clone().into()),
            clean: |_, _| Ok(()),
            servers: |_| Ok(Vec::new()),
        }
    }
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerAddress {
    /// A name, or an address as it is written outside URLs.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}

impl ServerAddress {
    /// The server that a URL names.
    #[cfg(any(feature = "management", feature = "s3"))]
    pub(super) fn of_url(url: &str) -> Option<Self> {
        let url = reqwest::Url::parse(url).ok()?;
        Some(Self {
            host: url.host_str()?.trim_matches(['[', ']']).to_owned(),
            port: url.port_or_known_default()?,
        })
    }
}
