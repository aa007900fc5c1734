//! What the platform does with its own credentials: lets a flare in as a user of its own, and
//! removes what it has left.

use std::time::Instant;

use super::resp::{Client, GoOn, Reply};
use super::resp_error::RespError;
use super::server::Server;
use super::{CONTROL_TIMEOUT, account, connect, keys, within};
use crate::admission::{Admission, Admitted};
use crate::config::BackendConfig;
use crate::error::Error;
use crate::remote::credentials::{self, Credentials, ODD_ID};

/// The same server, as a user made for the flare. Refused where that user would be no bound, and
/// where the server may drop messages.
pub(super) fn admit(
    name: &'static str,
    flare: &Admission<'_>,
    config: &BackendConfig,
) -> Result<Admitted, Error> {
    let server = Server::new(name, config)?;
    let last = match flare.last {
        Some(last) => account::of(&Server::new(name, &last.backend)?),
        None => None,
    };
    let account = last.filter(|account| account.is_for(flare));
    let account = account
        .or_else(|| Credentials::new(flare))
        .ok_or_else(|| server.error(ODD_ID))?;
    let since = Instant::now();
    let go_on: GoOn<'_> = &mut || within(&server, since, 3 * CONTROL_TIMEOUT);
    let mut client = log_in(&server, go_on)?;
    refuse_evicting(&server, &mut client, go_on)?;
    let (flare_id, database) = (flare.flare_id, server.database());
    account::make(&mut client, &account, (flare_id, database), go_on).map_err(
        |reason| match reason {
            RespError::Refused(reason) => server.error(format!(
                "the server lets the platform's user make none for the flare (ACL SETUSER): {reason}"
            )),
            other => server.failed(other),
        },
    )?;
    if let Some(group) = flare.group {
        // A group's user may write after its flare was cleaned up behind, until the next begins.
        keys::note_flare(&mut client, (group, flare_id), credentials::DAYS, go_on)
            .and_then(|()| client.expect(2, go_on))
            .map_err(|reason| server.failed(reason))?;
    }
    let uri = server.uri_for(&account.user, &account.password);
    Ok(config.clone().with_uri(uri).into())
}

/// Deletes a flare's user and every key of the flare, or of all flares of a group, in the order in
/// which nothing can be left.
pub(super) fn clean(
    name: &'static str,
    flare_id: &str,
    config: &BackendConfig,
) -> Result<(), Error> {
    let server = Server::new(name, config)?;
    let mut client = connect(&server)?;
    let since = Instant::now();
    let go_on: GoOn<'_> = &mut || within(&server, since, 30 * CONTROL_TIMEOUT);
    let mut clean = || {
        let removed = match config.shared_credentials {
            true => Ok(()),
            false => account::remove(&mut client, flare_id, go_on),
        };
        let flares = keys::noted_flares(&mut client, flare_id, go_on)?;
        keys::delete_all(&mut client, &flares, go_on)?;
        if server.database() != 0 {
            // Where every connection begins.
            client.command(&[&[b"SELECT"], &[b"0"]], go_on)?;
            client.expect(1, go_on)?;
            keys::delete_all(&mut client, &flares, go_on)?;
        }
        removed
    };
    clean().map_err(|reason| server.failed(reason))
}

/// A connection as the platform's user, once it is known that nobody reads anything without
/// logging in.
fn log_in(server: &Server, go_on: GoOn<'_>) -> Result<Client, Error> {
    let failed = |reason| server.failed(reason);
    let mut client = Client::over(server.open().map_err(RespError::Connect).map_err(failed)?);
    (client.command(&[&[b"GET"], &[b"burst:stranger"]], go_on)).map_err(failed)?;
    if !matches!(client.reply(go_on).map_err(failed)?, Reply::Error(_)) {
        return Err(server.error(
            "the server lets in whoever asks, as its user `default` has no password, so that no \
             flare could be kept from another's messages: set one (requirepass), or \
             shared-credentials = true for this backend if all flares may trust each other",
        ));
    }
    client.log_in(server, go_on).map_err(failed)?;
    Ok(client)
}

/// A server that is short of memory must refuse messages, and not drop those it has taken.
fn refuse_evicting(server: &Server, client: &mut Client, go_on: GoOn<'_>) -> Result<(), Error> {
    let mut info = || {
        client.command(&[&[b"INFO"], &[b"memory"]], go_on)?;
        client.reply(go_on)
    };
    let text = match info().map_err(|reason| server.failed(reason))? {
        Reply::Bulk(text) => text,
        Reply::Error(reason) => {
            return Err(server.error(format!(
                "the server does not let the platform's user see whether it drops messages when \
                 memory is short (INFO memory): {reason}"
            )));
        }
        _ => return Err(server.failed(RespError::Protocol)),
    };
    match policy(&String::from_utf8_lossy(&text)) {
        None | Some("noeviction") => Ok(()),
        Some(policy) => Err(server.error(format!(
            "the server drops messages when memory is short, as its maxmemory-policy is {policy}: \
             set noeviction"
        ))),
    }
}

/// What a server says that it does when memory is short.
fn policy(info: &str) -> Option<&str> {
    let mut lines = info.lines();
    lines.find_map(|line| line.strip_prefix("maxmemory_policy:").map(str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_one_of_many_lines() {
        let info = "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n";
        assert_eq!(policy(info), Some("allkeys-lru"));
        assert_eq!(policy("# Memory\r\n"), None);
    }
}
