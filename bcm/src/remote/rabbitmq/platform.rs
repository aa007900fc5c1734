//! What the platform does with its own credentials: creates a user for each flare, and removes what
//! a flare has left.

#[cfg(feature = "management")]
use std::{iter, time::Duration};

use super::NAME;
#[cfg(feature = "management")]
use super::management::{self, Management};
use super::server::Server;
use crate::config::BackendConfig;
use crate::credential_request::{CredentialRequest, IssuedBackend};
use crate::error::Error;
use crate::remote::kind::ServerAddress;
#[cfg(feature = "management")]
use crate::remote::{credentials, runtime::Runtime};

/// How long creating a user may take.
#[cfg(feature = "management")]
const ISSUING: Duration = Duration::from_secs(15);

/// Returns the same server with a user created for the flare, in a virtual host that belongs to the
/// flare alone.
#[cfg(feature = "management")]
pub(super) fn issue_credentials(
    flare: &CredentialRequest<'_>,
    config: &BackendConfig,
) -> Result<IssuedBackend, Error> {
    if let Some(last) = flare.last
        && Server::new(&last.backend)?.account().is_for(flare)
    {
        return Ok(last.clone());
    }
    let server = Server::new(config)?;
    let account = management::account(flare)?;
    let vhost = management::vhost(credentials::owner(flare));
    let uri = server.uri_for(&account, &vhost);
    let (management, packs) = (Management::of(&server, config)?, flare.packs);
    let runtime = Runtime::start(NAME)?;
    runtime.run_for(ISSUING, async move {
        management.make(&account, &vhost, packs).await
    })?;
    Ok(config.clone().with_uri(uri).into())
}

/// Not possible in this build: only the platform issues credentials.
#[cfg(not(feature = "management"))]
pub(super) fn issue_credentials(
    _: &CredentialRequest<'_>,
    _: &BackendConfig,
) -> Result<IssuedBackend, Error> {
    let reason = crate::invalid::InvalidBackend::NotBuilt {
        feature: "management",
        of: "burst-bcm",
    };
    let backend = NAME;
    Err(crate::invalid::InvalidConfiguration::OfBackend { backend, reason }.into())
}

/// Deletes a flare's user and its virtual host with everything in it. If the flare had none, the
/// server deletes the queues that its packs have not deleted.
#[cfg(feature = "management")]
pub(super) fn clean(flare_id: &str, config: &BackendConfig) -> Result<(), Error> {
    if config.shared_credentials {
        return Ok(());
    }
    let management = Management::of(&Server::new(config)?, config)?;
    let flare_id = flare_id.to_owned();
    let runtime = Runtime::start(NAME)?;
    runtime.run_for(management::CLEANING, async move {
        management.remove(&flare_id).await
    })
}

/// Does nothing in this build: only the platform cleans up.
#[cfg(not(feature = "management"))]
pub(super) fn clean(_: &str, _: &BackendConfig) -> Result<(), Error> {
    Ok(())
}

/// Where packs reach the server, and where the creator of their users reaches its management API.
pub(super) fn servers(config: &BackendConfig) -> Result<Vec<ServerAddress>, Error> {
    let server = Server::new(config)?;
    #[cfg(feature = "management")]
    if !config.shared_credentials {
        let api = ServerAddress::of_url(&management::base(&server));
        return Ok(iter::once(server.address()).chain(api).collect());
    }
    Ok(vec![server.address()])
}
