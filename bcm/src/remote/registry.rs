//! The list of backends: a new one is a folder beside this file, its `mod` line in `mod.rs`, and a line in
//! [`each_backend`].

use std::sync::Arc;

use super::Backend;
#[cfg(feature = "faults")]
use super::faults;
use super::inbox::Inbox;
use super::kind::{BackendKind, MIB, Open, ServerAddress};
use super::memory;
use crate::config::{BackendConfig, PackConfig};
use crate::credential_request::{CredentialRequest, IssuedBackend};
use crate::error::Error;
use crate::invalid::InvalidConfiguration;

/// Calls a macro with the given tokens and with all backends that can connect machines. For each:
/// its name, with `_` for `-`; its module; and, for backends a program can be built without, its
/// feature, which has the backend's name.
#[doc(hidden)]
#[macro_export]
macro_rules! each_backend {
    ($($callback:ident)::+ $(, $given:tt)?) => {
        $($callback)::+! {
            $($given)?
            direct: direct;
            redis_list: redis::list;
            redis_stream: redis::stream;
            rabbitmq: rabbitmq if "rabbitmq";
            s3: s3 if "s3";
        }
    };
}

macro_rules! list {
    ($($name:ident: $($module:ident)::+ $(if $feature:tt)?;)*) => {
        /// Backends between machines.
        const BACKENDS: &[&BackendKind] =
            &[$($(#[cfg(feature = $feature)])? &super::$($module)::+::KIND,)*];
        /// The functions that open them.
        const OPEN: &[(&str, Open)] = &[
            $($(#[cfg(feature = $feature)])?
            (super::$($module)::+::KIND.name, super::$($module)::+::open),)*
        ];
        /// Backends that a program can be built without.
        const OPTIONAL: &[&str] = &[$($($feature,)?)*];
    };
}
each_backend!(list);

/// Backends inside one process.
const FOR_TESTS: &[&BackendKind] = &[
    &memory::KIND,
    #[cfg(feature = "faults")]
    &BackendKind::new(faults::NAME),
];
const OPEN_FOR_TESTS: &[(&str, Open)] = &[
    (memory::KIND.name, memory::open),
    #[cfg(feature = "faults")]
    (faults::NAME, |config, inbox| {
        faults::open(config, inbox, open)
    }),
];

/// The kinds of backends between machines that this program was built with.
pub fn backends() -> impl Iterator<Item = &'static str> {
    BACKENDS.iter().map(|kind| kind.name)
}

/// The chunk size for a backend's messages if the configuration sets none, in bytes; for an unknown
/// name, that of `direct`. The sizes come from a measurement, `benchmarks/results/chunk-size.csv`.
pub fn default_chunk_size(kind: &str) -> usize {
    find(kind).map_or(MIB, |kind| kind.chunk_size)
}

/// Opens the backend a pack is configured with.
pub(crate) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let kind = find(&config.backend.kind)?;
    let mut all = OPEN.iter().chain(OPEN_FOR_TESTS);
    match all.find(|(name, _)| *name == kind.name) {
        Some((_, open)) => open(config, inbox),
        None => Err(unknown(kind.name)),
    }
}

/// Returns the same backend with credentials of the flare's own: a user that can read and write the
/// flare's messages and nothing else. Whoever starts a pack calls this with the platform's own
/// credentials before passing the backend to the program; the credentials issued for one pack are
/// as good as another's. [`cleanup`](crate::cleanup) of the flare revokes them.
///
/// A group has one user for all its flares, so that its packs stay connected; `cleanup` of the
/// group removes the user.
///
/// On Redis, Valkey and DragonflyDB this creates a user (`ACL SETUSER`), which the platform's user
/// must be allowed to do; on RabbitMQ a user and a virtual host, through its management API. On S3
/// it creates none: the returned value signs the flare's requests in this process for as long as it
/// is kept. A backend with [`shared_credentials`](BackendConfig::shared_credentials) is returned
/// unchanged.
///
/// # Errors
/// [`Error::InvalidConfiguration`] if there is no such backend; [`Error::Backend`] if its server
/// cannot be reached, refuses, or is one on which a flare's own credentials would not keep it away
/// from others' messages.
pub fn issue_credentials(
    flare: &CredentialRequest<'_>,
    backend: &BackendConfig,
) -> Result<IssuedBackend, Error> {
    let kind = find(&backend.kind)?;
    match backend.shared_credentials {
        true => Ok(backend.clone().into()),
        false => (kind.issue_credentials)(flare, backend),
    }
}

/// Where packs, and the caller that [creates their users](issue_credentials), reach a backend's
/// servers, as far as the configuration shows: nowhere for backends without a server, with one
/// behind a Unix socket of this machine, or with one whose addresses change all the time, such as
/// Amazon's S3.
///
/// ```
/// use burst_bcm::{BackendConfig, servers};
///
/// let backend = BackendConfig::new("redis-list").with_uri("redis://:password@10.0.0.5");
/// let servers = servers(&backend)?;
/// assert_eq!((servers[0].host.as_str(), servers[0].port), ("10.0.0.5", 6379));
/// # Ok::<(), burst_bcm::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidConfiguration`] if there is no such backend, or its address is not valid.
pub fn servers(backend: &BackendConfig) -> Result<Vec<ServerAddress>, Error> {
    (find(&backend.kind)?.servers)(backend)
}

/// Deletes what a flare has left on a backend.
pub(crate) fn clean(flare_id: &str, config: &BackendConfig) -> Result<(), Error> {
    (find(&config.kind)?.clean)(flare_id, config)
}

fn find(name: &str) -> Result<&'static BackendKind, Error> {
    let mut kinds = BACKENDS.iter().chain(FOR_TESTS);
    let found = kinds.find(|kind| kind.name == name);
    found.copied().ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Error {
    let backend = name.to_owned();
    let reason = match OPTIONAL.contains(&name) {
        true => InvalidConfiguration::BackendNotBuilt { backend },
        false => InvalidConfiguration::NoSuchBackend {
            backend,
            known: (BACKENDS.iter().chain(FOR_TESTS))
                .map(|kind| kind.name)
                .collect(),
        },
    };
    reason.into()
}

#[cfg(all(test, feature = "management", feature = "s3"))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn addresses_of_servers_are_read_from_uris_with_any_password() {
        let own = "s3://key:secret@bucket/prefix?region=x&endpoint=http%3A%2F%2F10.0.0.5%3A9000";
        let named = "s3://key:secret@bucket?endpoint=https://store.local";
        let api = "amqp://a:b@h/%2f?management=http://10.2.2.2:8080";
        type Address = (&'static str, u16);
        let cases: &[(&str, &str, &[Address])] = &[
            ("direct", "tcp:", &[]),
            ("redis-list", "redis://10.0.0.5", &[("10.0.0.5", 6379)]),
            ("redis-list", "rediss://u:p%2f@h:7000/1", &[("h", 7000)]),
            ("redis-stream", "redis://[::1]", &[("::1", 6379)]),
            ("redis-stream", "unix:///run/redis", &[]),
            (
                "rabbitmq",
                "amqp://a:b@c@h/%2f",
                &[("h", 5672), ("h", 15672)],
            ),
            (
                "rabbitmq",
                "amqps://h?heartbeat=5",
                &[("h", 5671), ("h", 15671)],
            ),
            ("rabbitmq", api, &[("h", 5672), ("10.2.2.2", 8080)]),
            ("s3", own, &[("10.0.0.5", 9000)]),
            ("s3", named, &[("store.local", 443)]),
            // Amazon's S3 has no stable address.
            ("s3", "s3://key:secret@bucket/prefix?region=x", &[]),
        ];
        for (kind, uri, expected) in cases {
            let found = servers(&BackendConfig::new(*kind).with_uri(*uri)).unwrap();
            let found = found.iter().map(|server| (&*server.host, server.port));
            assert_eq!(found.collect::<Vec<_>>(), *expected, "{uri}");
        }
    }

    #[test]
    fn the_management_api_is_not_listed_with_shared_credentials() {
        let shared = BackendConfig::new("rabbitmq").with_uri("amqp://10.1.1.1");
        let found = servers(&shared.with_shared_credentials()).unwrap();
        assert_eq!(found.len(), 1);
    }
}
