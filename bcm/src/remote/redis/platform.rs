//! What the platform does with its own credentials: creates a user for each flare, and removes what
//! a flare has left.

use std::time::Duration;

use super::resp::{Client, Exchange, Interrupt, Reply};
use super::resp_error::RespError;
use super::server::Server;
use super::writer::Broken;
use super::{SILENCE, account, keys, within};
use crate::config::BackendConfig;
use crate::credential_request::{CredentialRequest, IssuedBackend};
use crate::error::Error;
use crate::remote::credentials::{self, Credentials, ODD_ID};

/// How long the server may take to delete. Callers of the clean-up wait for 30 s, and connecting
/// takes part of that.
const CLEANING: Duration = Duration::from_secs(20);

/// Returns the same server with a user created for the flare. Fails if that user would not be
/// restricted, or if the server may drop messages.
pub(super) fn issue_credentials(
    name: &'static str,
    flare: &CredentialRequest<'_>,
    config: &BackendConfig,
) -> Result<IssuedBackend, Error> {
    let server = Server::new(name, config)?;
    let last = match flare.last {
        Some(last) => account::of(&Server::new(name, &last.backend)?),
        None => None,
    };
    let account = last.filter(|account| account.is_for(flare));
    let account = account
        .or_else(|| Credentials::new(flare))
        .ok_or_else(|| server.error(ODD_ID))?;
    tried(&server, SILENCE, |interrupt| {
        make_user(&server, &account, flare, interrupt)
    })?;
    let uri = server.uri_for(&account.user, &account.password);
    Ok(config.clone().with_uri(uri).into())
}

/// Deletes a flare's user and every key of the flare, or of all flares of a group, in an order that
/// leaves nothing behind.
pub(super) fn clean(
    name: &'static str,
    flare_id: &str,
    config: &BackendConfig,
) -> Result<(), Error> {
    let server = Server::new(name, config)?;
    tried(&server, CLEANING, |interrupt| {
        let mut client = Client::connect(&server, interrupt)?;
        let exchange = &mut client.exchange(interrupt);
        let removed = match config.shared_credentials {
            true => Ok(()),
            false => account::remove(exchange, flare_id),
        };
        let flares = keys::noted_flares(exchange, flare_id)?;
        keys::delete_all(exchange, &flares)?;
        if server.database() != 0 {
            // The database in which every connection begins.
            exchange.request(&[&[b"SELECT"], &[b"0"]])?;
            keys::delete_all(exchange, &flares)?;
        }
        removed
    })
}

/// Repeats `attempt` until it succeeds. A server that is away may come back within the same time as
/// for packs, and must answer within `limit` in all.
fn tried<T>(
    server: &Server,
    limit: Duration,
    mut attempt: impl FnMut(Interrupt<'_>) -> Result<T, RespError>,
) -> Result<T, Error> {
    let mut broken = Broken::of(server);
    let mut in_time = within(server, limit);
    loop {
        in_time()?;
        match attempt(&mut in_time) {
            Err(reason) if broken.may_try_again(&reason) => {}
            result => return result.map_err(|reason| server.failed(reason)),
        }
    }
}

/// Creates the user, after checking that nobody can read anything without logging in.
fn make_user(
    server: &Server,
    account: &Credentials,
    flare: &CredentialRequest<'_>,
    interrupt: Interrupt<'_>,
) -> Result<(), RespError> {
    let mut client = Client::over(server.open().map_err(RespError::Connect)?);
    let exchange = &mut client.exchange(interrupt);
    let stranger = exchange.try_request(&[&[b"GET"], &[b"burst:stranger"]])?;
    if stranger.is_some() {
        let open = server.error(
            "the server lets in whoever asks, as its user `default` has no password, so that no \
             flare could be kept from another's messages: set one (requirepass), or \
             shared-credentials = true for this backend if all flares may trust each other",
        );
        return Err(open.into());
    }
    exchange.log_in(server)?;
    require_noeviction(server, exchange)?;
    let flare_id = flare.flare_id;
    let made = account::make(exchange, account, (flare_id, server.database()));
    made.map_err(|reason| match reason {
        RespError::Refused(reason) => RespError::from(server.error(format!(
            "the server lets the platform's user make none for the flare (ACL SETUSER): \
             {reason}"
        ))),
        other => other,
    })?;
    match flare.group {
        // A group's user may write after its flare's data was removed, until the next flare begins.
        Some(group) => {
            keys::note_flare(exchange, (group, flare_id), credentials::DAYS)?;
            exchange.expect(2)
        }
        None => Ok(()),
    }
}

/// A server that is short of memory must reject messages, not drop those it has accepted.
fn require_noeviction(server: &Server, exchange: &mut Exchange<'_>) -> Result<(), RespError> {
    let text = match exchange.request(&[&[b"INFO"], &[b"memory"]]) {
        Ok(Reply::Bulk(text)) => text,
        Err(RespError::Refused(reason)) => {
            let hidden = server.error(format!(
                "the server does not let the platform's user see whether it drops messages when \
                 memory is short (INFO memory): {reason}"
            ));
            return Err(hidden.into());
        }
        other => return Err(other.err().unwrap_or(RespError::Protocol)),
    };
    match policy(&String::from_utf8_lossy(&text)) {
        None | Some("noeviction") => Ok(()),
        Some(policy) => Err(RespError::from(server.error(format!(
            "the server drops messages when memory is short, as its maxmemory-policy is {policy}: \
             set noeviction"
        )))),
    }
}

/// The eviction policy that a server reports.
fn policy(info: &str) -> Option<&str> {
    let mut lines = info.lines();
    lines.find_map(|line| line.strip_prefix("maxmemory_policy:").map(str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_found_among_other_lines() {
        let info = "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n";
        assert_eq!(policy(info), Some("allkeys-lru"));
        assert_eq!(policy("# Memory\r\n"), None);
    }
}
