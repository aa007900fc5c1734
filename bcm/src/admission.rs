//! Who is let in by a backend's server.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::config::{BackendConfig, Secret};

/// A flare whose packs are to be let in.
#[derive(Debug, Clone, Copy)]
pub struct Admission<'a> {
    /// The flare.
    pub flare_id: &'a str,
    /// What its packs share.
    pub secret: &'a Secret,
    /// When it ends.
    pub deadline: Option<SystemTime>,
    /// How many packs it has, where that is known: what it may take of a server goes by it.
    pub packs: Option<u32>,
    /// The group it is of, if any: flares of a group run one after the other, on the same packs.
    pub group: Option<&'a str>,
    /// What [`admit`](crate::admit) has given for the last flare of the group.
    pub last: Option<&'a Admitted>,
}

impl<'a> Admission<'a> {
    /// A flare of no group, which never ends.
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

/// What a flare's packs are told of a backend. To be kept for as long as they need it.
#[derive(Clone)]
pub struct Admitted {
    /// The backend, with credentials of the flare's own.
    pub backend: BackendConfig,
    pub(crate) agent: Option<Arc<dyn Agent>>,
}

/// Does for a flare what needs the platform's own credentials, while the flare lasts.
pub(crate) trait Agent: Send + Sync {
    /// The next flare of the same group has begun.
    #[cfg_attr(not(feature = "s3"), allow(dead_code))] // Nothing else has agents.
    fn turn_to(&self, flare_id: &str);

    /// The flare is over.
    fn end(&self);
}

impl Admitted {
    /// The pack has ended: nothing is done for its flare any more. A next flare of the same group
    /// may still be let in by this.
    pub fn end(&self) {
        if let Some(agent) = &self.agent {
            agent.end();
        }
    }
}

impl From<BackendConfig> for Admitted {
    fn from(backend: BackendConfig) -> Self {
        Self {
            backend,
            agent: None,
        }
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Admitted").field(&self.backend).finish()
    }
}
