//! The configuration of a pack.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::pack_id::PackId;
use crate::topology::Topology;

/// How long one operation may wait by default.
pub const DEFAULT_OPERATION_TIMEOUT: Duration = Duration::from_secs(300);
/// How many bytes a pack may hold, by default, that have arrived and have not been received yet.
pub const DEFAULT_MAX_BYTES_IN_FLIGHT: usize = 256 << 20;
/// The largest single message between packs by default, in bytes.
pub const DEFAULT_MAX_MESSAGE: usize = 4 << 30;

/// The backend that carries messages between packs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendConfig {
    /// One of [`backends`](crate::backends), or `memory` inside one process.
    pub kind: String,
    /// The address of the backend's server, if it has one. Can contain a password, so it is never
    /// printed.
    #[serde(default)]
    pub uri: Option<String>,
    /// PEM certificates of the authorities that a server's TLS certificate is checked against. If
    /// there are none, the authorities that the machine trusts.
    #[serde(default)]
    pub ca: Option<String>,
    /// Messages larger than this many bytes are split into chunks of this size. Defaults to the
    /// backend's [`default_chunk_size`](crate::default_chunk_size).
    #[serde(default)]
    pub chunk_size: Option<usize>,
    /// Gives flares this address with its credentials, instead of credentials of their own: each
    /// flare can then do whatever the platform can on the server, including to messages of others.
    #[serde(default)]
    pub shared_credentials: bool,
    /// How long to keep trying to restore a broken connection, for tests that are not about that
    /// time.
    #[doc(hidden)]
    #[serde(skip)]
    pub recovery: Option<Duration>,
}

impl BackendConfig {
    /// The backend of this name, without a server.
    pub fn new(kind: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            uri: None,
            ca: None,
            chunk_size: None,
            shared_credentials: false,
            recovery: None,
        }
    }

    /// The same backend with its server's address.
    #[must_use]
    pub fn with_uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// The same backend with the authorities that its server's certificate is checked against.
    #[must_use]
    pub fn with_ca(mut self, pem: impl Into<String>) -> Self {
        self.ca = Some(pem.into());
        self
    }

    /// The same backend, for flares that trust each other with the platform's credentials.
    #[must_use]
    pub fn with_shared_credentials(mut self) -> Self {
        self.shared_credentials = true;
        self
    }

    /// The same backend with another chunk size.
    #[must_use]
    pub fn with_chunk_size(mut self, bytes: usize) -> Self {
        self.chunk_size = Some(bytes);
        self
    }
}

impl Default for BackendConfig {
    fn default() -> Self {
        Self::new("direct")
    }
}

impl fmt::Debug for BackendConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendConfig")
            .field("kind", &self.kind)
            .field("uri", &self.uri.as_ref().map(|_| "[hidden]"))
            .field("chunk_size", &self.chunk_size)
            .finish()
    }
}

/// The flare's own secret. Never printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret from its text; all packs of a flare must be given the same one.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

impl From<&str> for Secret {
    fn from(secret: &str) -> Self {
        Self(secret.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([hidden])")
    }
}

/// Everything a pack needs to join its flare.
///
/// ```
/// use burst_bcm::{PackConfig, PackId, Topology};
///
/// let mut config = PackConfig::new("f1", PackId(0), Topology::new(&[4, 4])?);
/// config.backend.kind = "direct".into();
/// config.secret = "0123456789abcdef".into();
/// # Ok::<(), burst_bcm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PackConfig {
    /// The flare's id; everything the backend stores is stored under it.
    pub flare_id: String,
    /// Which pack this is.
    pub pack: PackId,
    /// All packs of the flare.
    pub topology: Topology,
    /// The backend that carries messages between packs; unused if there is only one pack.
    pub backend: BackendConfig,
    /// The flare's own secret, by which packs recognise each other.
    pub secret: Secret,
    /// The host name or address at which other packs reach this one, or `unix:` and the path of `listener`. Default
    /// `127.0.0.1`.
    pub advertise: String,
    /// A Unix socket that is already listening, for a pack in a sandbox, which has no network. One flare after
    /// another can use it. Default none.
    pub listener: Option<Arc<OwnedFd>>,
    /// When the flare ends; no operation waits longer.
    pub deadline: Option<SystemTime>,
    /// How long one operation may wait. Default [`DEFAULT_OPERATION_TIMEOUT`].
    pub operation_timeout: Duration,
    /// How many bytes from other packs may be held before they are received; beyond that, senders
    /// wait. Default [`DEFAULT_MAX_BYTES_IN_FLIGHT`].
    pub max_bytes_in_flight: usize,
    /// The largest message accepted from another pack, in bytes. Default [`DEFAULT_MAX_MESSAGE`].
    pub max_message: usize,
}

impl PackConfig {
    /// A configuration with defaults for everything else.
    pub fn new(flare_id: impl Into<String>, pack: PackId, topology: Topology) -> Self {
        Self {
            flare_id: flare_id.into(),
            pack,
            topology,
            backend: BackendConfig::default(),
            secret: Secret::default(),
            advertise: "127.0.0.1".to_owned(),
            listener: None,
            deadline: None,
            operation_timeout: DEFAULT_OPERATION_TIMEOUT,
            max_bytes_in_flight: DEFAULT_MAX_BYTES_IN_FLIGHT,
            max_message: DEFAULT_MAX_MESSAGE,
        }
    }
}
