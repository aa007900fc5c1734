//! A user of the flare's own on the server, which can do only what its packs do, and only with the
//! flare's keys and channels.
//!
//! The flares of a group share one user, whose keys and channels change to those of the next flare.
//! A connection stays logged in while its user changes.

use super::keys;
use super::resp::{Exchange, Reply};
use super::resp_error::RespError;
use super::server::Server;
use crate::remote::credentials::{self, Credentials};

/// All commands of the backends. A connection begins in database 0 and stays there, unless the
/// platform's URI names another.
const COMMANDS: [&str; 14] = [
    "blpop", "decr", "del", "expire", "get", "incr", "ping", "rpush", "sadd", "scard", "set",
    "xadd", "xdel", "xread",
];
/// The commands of [presence](super::presence).
const OF_CHANNELS: [&str; 4] = ["hello", "publish", "subscribe", "unsubscribe"];

/// The account that a URI names.
pub(super) fn of(server: &Server) -> Option<Credentials> {
    Some(Credentials {
        user: server.user()?.to_owned(),
        password: server.password()?.to_owned(),
    })
}

/// Creates the user, or changes the existing one, so that it reaches only this flare's keys and
/// channels. If the server cannot restrict channels, as Redis 6.0, the user gets none.
pub(super) fn make(
    exchange: &mut Exchange<'_>,
    account: &Credentials,
    (flare_id, database): (&str, i64),
) -> Result<(), RespError> {
    let mut make = |rules: Vec<String>| {
        let mut arguments: Vec<[&[u8]; 1]> =
            vec![[b"ACL"], [b"SETUSER"], [account.user.as_bytes()]];
        arguments.extend(rules.iter().map(|rule| [rule.as_bytes()]));
        let arguments: Vec<&[&[u8]]> = arguments.iter().map(|argument| &argument[..]).collect();
        exchange.request(&arguments).map(drop)
    };
    let rules = rules(account, flare_id, database);
    match make([&rules[..], &of_channels(flare_id)].concat()) {
        Err(RespError::Refused(_)) => make(rules),
        made => made,
    }
}

fn rules(account: &Credentials, flare_id: &str, database: i64) -> Vec<String> {
    let mut rules = vec![
        "ON".to_owned(),
        format!(">{}", account.password),
        "resetkeys".to_owned(),
        format!("~{}:*", keys::prefix(flare_id)),
    ];
    rules.extend(COMMANDS.map(|command| format!("+{command}")));
    if database != 0 {
        rules.push(format!("+select|{database}"));
    }
    rules
}

/// The order matters: DragonflyDB cuts the user's connections when a reset is the last rule it
/// reads.
fn of_channels(flare_id: &str) -> Vec<String> {
    let mut rules = vec![
        "resetchannels".to_owned(),
        format!("&{}:*", keys::prefix(flare_id)),
    ];
    rules.extend(OF_CHANNELS.map(|command| format!("+{command}")));
    rules
}

/// Removes the users of a flare or a group, and those of flares that are over.
pub(super) fn remove(exchange: &mut Exchange<'_>, flare_id: &str) -> Result<(), RespError> {
    // A user that is not allowed to list users has not created any.
    let Some(users) = exchange.try_request(&[&[b"ACL"], &[b"USERS"]])? else {
        return Ok(());
    };
    let mut removed = 0;
    for user in &users.array()? {
        if let Reply::Bulk(user) = user
            && credentials::is_done_with(&String::from_utf8_lossy(user), flare_id)
        {
            exchange.command(&[&[b"ACL"], &[b"DELUSER"], &[user]])?;
            removed += 1;
        }
    }
    exchange.expect(removed)
}
