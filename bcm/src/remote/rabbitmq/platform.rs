//! What the platform does with its own credentials: makes a user for each flare, and removes
//! what a flare has left.

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

/// How long making a user may take.
#[cfg(feature = "management")]
const ISSUING: Duration = Duration::from_secs(15);

/// The same server, as a user made for the flare, in a virtual host that is the flare's alone.
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

/// The platform's own part.
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

/// Deletes a flare's user and virtual host with all that is there. Where it had none, the server
/// deletes what its packs have not.
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

/// The platform's own part.
#[cfg(not(feature = "management"))]
pub(super) fn clean(_: &str, _: &BackendConfig) -> Result<(), Error> {
    Ok(())
}

/// Where packs reach the server, and whoever makes their users its management API.
pub(super) fn servers(config: &BackendConfig) -> Result<Vec<ServerAddress>, Error> {
    let server = Server::new(config)?;
    #[cfg(feature = "management")]
    if !config.shared_credentials {
        let api = ServerAddress::of_url(&management::base(&server));
        return Ok(iter::once(server.address()).chain(api).collect());
    }
    Ok(vec![server.address()])
}
