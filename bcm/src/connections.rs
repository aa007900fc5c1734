//! Connections to other packs that a pack keeps from one flare to the next.

use std::sync::Arc;

use crate::config::{BackendConfig, PackConfig};
use crate::error::Error;
use crate::pack_id::PackId;
use crate::remote::{self, Backend, Inbox};
use crate::topology::Topology;

/// The connections of a pack that has [left](crate::Pack::leave) its flare, for the next flare on
/// the same packs. Dropping this closes them.
///
/// Connections that a server has closed since then, or does not answer on any more, are replaced. A broken
/// connection between packs fails the next flare, because its other end has gone.
#[derive(Debug)]
pub struct Connections {
    between: Between,
    /// Set until the next flare takes it over.
    backend: Option<Arc<dyn Backend>>,
}

/// What must be the same in both flares; their chunk sizes may differ.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Between {
    pack: PackId,
    topology: Topology,
    backend: BackendConfig,
    advertise: String,
}

impl Between {
    fn of(config: &PackConfig) -> Self {
        Self {
            pack: config.pack,
            topology: config.topology.clone(),
            backend: BackendConfig {
                chunk_size: None,
                ..config.backend.clone()
            },
            advertise: config.advertise.clone(),
        }
    }
}

impl Connections {
    pub(crate) fn new(config: &PackConfig, backend: Arc<dyn Backend>) -> Self {
        Self {
            between: Between::of(config),
            backend: Some(backend),
        }
    }

    /// Returns the backend for a flare: over the existing connections if they are between the same
    /// packs, otherwise over new ones. Connections to a server can die while nobody uses them,
    /// which only a request on them reveals; they are replaced by new ones.
    pub(crate) fn open(
        kept: Option<Self>,
        config: &PackConfig,
        inbox: Arc<Inbox>,
    ) -> Result<Arc<dyn Backend>, Error> {
        let mut kept = kept.filter(|kept| kept.between == Between::of(config));
        match kept.as_mut().and_then(|kept| kept.backend.take()) {
            Some(backend) => match backend.renew(config, Arc::clone(&inbox)) {
                Err(Error::Backend { .. }) => {
                    backend.close();
                    remote::open(config, inbox)
                }
                renewed => renewed,
            },
            None => remote::open(config, inbox),
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        if let Some(backend) = &self.backend {
            backend.close();
        }
    }
}
