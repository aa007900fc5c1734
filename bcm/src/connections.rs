//! What a pack keeps of the way to the other packs from one flare to the next.

use std::sync::Arc;

use crate::config::{BackendConfig, PackConfig};
use crate::error::Error;
use crate::pack_id::PackId;
use crate::remote::{self, Backend, Inbox};
use crate::topology::Topology;

/// The connections of a pack that has [left](crate::Pack::leave) its flare, for the next one of
/// the same packs. Dropped, they are closed.
///
/// What a server has closed meanwhile, or does not answer any more, is made again. A broken connection between packs
/// fails the next flare: its other end is gone.
#[derive(Debug)]
pub struct Connections {
    between: Between,
    /// Until it is taken over.
    backend: Option<Arc<dyn Backend>>,
}

/// What has to be the same in both flares; in what chunks they send has not.
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

    /// The backend for a flare: over the connections there are, when they are between the same
    /// packs, or over new ones. Those to a server may have fallen silent while nobody used them,
    /// which only asking tells: new ones replace them.
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
