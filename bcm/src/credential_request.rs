//! Requests for a flare's own credentials on a backend's server.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::config::{BackendConfig, Secret};

/// The flare that credentials are issued for; its packs share them.
#[derive(Debug, Clone, Copy)]
pub struct CredentialRequest<'a> {
    /// The flare.
    pub flare_id: &'a str,
    /// The secret its packs share.
    pub secret: &'a Secret,
    /// When the flare ends, if it has a deadline.
    pub deadline: Option<SystemTime>,
    /// The number of packs of the flare, if known: limits on the server depend on it.
    pub packs: Option<u32>,
    /// The group it belongs to, if any: the flares of a group run one after the other, on the same packs.
    pub group: Option<&'a str>,
    /// What [`issue_credentials`](crate::issue_credentials) returned for the previous flare of the group.
    pub last: Option<&'a IssuedBackend>,
}

impl<'a> CredentialRequest<'a> {
    /// Requests credentials for a flare without a group or a deadline.
    pub fn new(flare_id: &'a str, secret: &'a Secret) -> Self {
        Self {
            flare_id,
            secret,
            deadline: None,
            packs: None,
            group: None,
            last: None,
        }
    }
}

/// A backend in the form given to a flare's packs. Keep it while they use the backend.
#[derive(Clone)]
pub struct IssuedBackend {
    /// The backend, with credentials of the flare's own.
    pub backend: BackendConfig,
    pub(crate) agent: Option<Arc<dyn Agent>>,
}

/// Does the work for a flare that needs the platform's own credentials, while the flare lasts.
pub(crate) trait Agent: Send + Sync {
    /// Called when the next flare of the same group has begun.
    #[cfg_attr(not(feature = "s3"), allow(dead_code))] // Nothing else has agents.
    fn begin_flare(&self, flare_id: &str);

    /// Called when the flare is over.
    fn end(&self);
}

impl IssuedBackend {
    /// Stops the work done for the flare, once its pack has ended. This can still be the `last` of the next flare
    /// of the same group.
    pub fn end(&self) {
        if let Some(agent) = &self.agent {
            agent.end();
        }
    }
}

impl From<BackendConfig> for IssuedBackend {
    fn from(backend: BackendConfig) -> Self {
        Self {
            backend,
            agent: None,
        }
    }
}

impl fmt::Debug for IssuedBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IssuedBackend").field(&self.backend).finish()
    }
}
