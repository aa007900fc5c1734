//! A user of the flare's own on the server, who can do nothing but what its packs do, to nothing
//! but the flare's keys and channels.
//!
//! The flares of a group have one user, whose keys and channels become those of the next flare. A connection
//! stays logged in while its user changes.

use super::keys;
use super::resp::{Exchange, Reply};
use super::resp_error::RespError;
use super::server::Server;
use crate::remote::credentials::{self, Credentials};

/// All that the backends say to the server. A connection begins in database 0 and stays there,
/// unless the platform's address names another.
const COMMANDS: [&str; 14] = [
    "blpop", "decr", "del", "expire", "get", "incr", "ping", "rpush", "sadd", "scard", "set",
    "xadd", "xdel", "xread",
];
/// What [presence](super::presence) says.
const OF_CHANNELS: [&str; 4] = ["hello", "publish", "subscribe", "unsubscribe"];

/// The one an address names.
pub(super) fn of(server: &Server) -> Option<Credentials> {
    Some(Credentials {
        user: server.user()?.to_owned(),
        password: server.password()?.to_owned(),
    })
}

/// Makes the user, or finds it made; it reaches this flare's keys and channels and no others any
/// more. Where channels cannot be kept apart, as in Redis 6.0, it has none.
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

/// In this order: DragonflyDB cuts the user's connections when a reset is what it reads last.
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
    // A user that may not see users has not made any.
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
