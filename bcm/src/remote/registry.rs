//! The list of backends: a new one is a file beside this one and a line here.

use std::sync::Arc;

#[cfg(feature = "faults")]
use super::faults;
use super::inbox::Inbox;
#[cfg(feature = "rabbitmq")]
use super::rabbitmq;
use super::redis::{list, stream};
#[cfg(feature = "s3")]
use super::s3;
use super::{Backend, direct, memory};
use crate::config::{BackendConfig, PackConfig};
use crate::error::Error;

type Open = fn(&PackConfig, Arc<Inbox>) -> Result<Arc<dyn Backend>, Error>;
type Clean = fn(&str, &BackendConfig) -> Result<(), Error>;

/// Name, how a pack opens it, how a flare's leftovers are deleted.
const BACKENDS: &[(&str, Open, Clean)] = &[
    (direct::NAME, direct::open, |_, _| Ok(())),
    (list::NAME, list::open, list::clean),
    (stream::NAME, stream::open, stream::clean),
    #[cfg(feature = "rabbitmq")]
    (rabbitmq::NAME, rabbitmq::open, rabbitmq::clean),
    #[cfg(feature = "s3")]
    (s3::NAME, s3::open, s3::clean),
    (memory::NAME, memory::open, |_, _| Ok(())),
    #[cfg(feature = "faults")]
    (faults::NAME, faults::open, |_, _| Ok(())),
];

/// Those a program may have been built without.
const OPTIONAL: &[&str] = &["rabbitmq", "s3"];

/// Opens the backend a pack is configured with.
pub(crate) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let (_, open, _) = find(&config.backend.kind)?;
    open(config, inbox)
}

/// Deletes what a flare left on a backend.
pub(crate) fn clean(flare_id: &str, config: &BackendConfig) -> Result<(), Error> {
    let (_, _, clean) = find(&config.kind)?;
    clean(flare_id, config)
}

fn find(kind: &str) -> Result<&'static (&'static str, Open, Clean), Error> {
    BACKENDS
        .iter()
        .find(|(name, ..)| *name == kind)
        .ok_or_else(|| {
            if OPTIONAL.contains(&kind) {
                return Error::InvalidConfiguration {
                    reason: format!(
                        "this program was built without the backend {kind:?}: build it with the \
                         feature {kind:?} of the crate `burst`"
                    ),
                };
            }
            let names: Vec<&str> = BACKENDS.iter().map(|(name, ..)| *name).collect();
            Error::InvalidConfiguration {
                reason: format!(
                    "there is no backend {kind:?}; there are {}",
                    names.join(", ")
                ),
            }
        })
}
