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
use super::{Backend, Open, direct, memory};
use crate::admission::{Admission, Admitted};
use crate::config::{BackendConfig, PackConfig};
use crate::error::Error;
use crate::invalid::InvalidConfiguration;

type Admit = fn(&Admission<'_>, &BackendConfig) -> Result<Admitted, Error>;
type Clean = fn(&str, &BackendConfig) -> Result<(), Error>;

const MIB: usize = 1 << 20;

type Entry = (&'static str, usize, Open, Admit, Clean);

/// Name, chunk size, how a pack opens it, how a flare gets credentials of its own, how its
/// leftovers are deleted.
///
/// The chunk size is among the faster ones of `benchmarks/results/chunk-size.csv`, and no larger
/// than that: memory, and how long one worker's message holds up another's, go with it.
const BACKENDS: &[Entry] = &[
    (direct::NAME, MIB, direct::open, AS_IT_IS, NOTHING),
    (list::NAME, MIB, list::open, list::admit, list::clean),
    (
        stream::NAME,
        MIB,
        stream::open,
        stream::admit,
        stream::clean,
    ),
    #[cfg(feature = "rabbitmq")]
    (
        rabbitmq::NAME,
        MIB,
        rabbitmq::open,
        rabbitmq::admit,
        rabbitmq::clean,
    ),
    #[cfg(feature = "s3")]
    (s3::NAME, 4 * MIB, s3::open, s3::admit, s3::clean),
    (memory::NAME, MIB, memory::open, AS_IT_IS, NOTHING),
    #[cfg(feature = "faults")]
    (
        faults::NAME,
        MIB,
        |config, inbox| faults::open(config, inbox, open),
        AS_IT_IS,
        NOTHING,
    ),
];

/// Backends without a server.
const AS_IT_IS: Admit = |_, config| Ok(config.clone().into());
/// Backends that keep nothing.
const NOTHING: Clean = |_, _| Ok(());

/// Those a program may have been built without.
const OPTIONAL: &[&str] = &["rabbitmq", "s3"];

/// The size of the chunks a backend's messages are cut into when the configuration has none, in
/// bytes; that of `direct` for a name that is no backend's. The sizes come from a measurement,
/// `benchmarks/results/chunk-size.csv`.
pub fn default_chunk_size(kind: &str) -> usize {
    find(kind).map_or(MIB, |&(_, chunk_size, ..)| chunk_size)
}

/// Opens the backend a pack is configured with.
pub(crate) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let (_, _, open, ..) = find(&config.backend.kind)?;
    open(config, inbox)
}

/// The same backend with credentials of the flare's own: those of a user who reads and writes the
/// flare's messages and nothing else. Called by whoever starts a pack, with the platform's own
/// credentials, before the program is told of the backend; every pack's are as good as another's.
/// [`cleanup`](crate::cleanup) of the flare takes them away.
///
/// A group has one user for all its flares, so that its packs stay connected; `cleanup` of the
/// group takes the user away.
///
/// Redis, Valkey and DragonflyDB make a user (`ACL SETUSER`), which the platform's user must be
/// allowed to; RabbitMQ a user and a virtual host, through its management API. S3 makes none: what
/// is given back signs the flare's requests in this process, for as long as it is kept. A backend
/// with [`shared_credentials`](BackendConfig::shared_credentials) is given back as it is.
///
/// # Errors
/// [`Error::InvalidConfiguration`] when there is no such backend; [`Error::Backend`] when its
/// server cannot be reached, refuses, or is one on which credentials of a flare's own would not
/// keep it from others' messages.
pub fn admit(flare: &Admission<'_>, backend: &BackendConfig) -> Result<Admitted, Error> {
    let (.., admit, _) = find(&backend.kind)?;
    match backend.shared_credentials {
        true => Ok(backend.clone().into()),
        false => admit(flare, backend),
    }
}

/// Deletes what a flare left on a backend.
pub(crate) fn clean(flare_id: &str, config: &BackendConfig) -> Result<(), Error> {
    let (.., clean) = find(&config.kind)?;
    clean(flare_id, config)
}

fn find(kind: &str) -> Result<&'static Entry, Error> {
    BACKENDS
        .iter()
        .find(|(name, ..)| *name == kind)
        .ok_or_else(|| {
            let backend = kind.to_owned();
            let reason = match OPTIONAL.contains(&kind) {
                true => InvalidConfiguration::BackendNotBuilt { backend },
                false => InvalidConfiguration::NoSuchBackend {
                    backend,
                    known: BACKENDS.iter().map(|(name, ..)| *name).collect(),
                },
            };
            reason.into()
        })
}
