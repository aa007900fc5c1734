//! A user of the flare's own on the server, who can do nothing but what its packs do, to nothing
//! but the flare's keys.
//!
//! The name `burst.<until>.<flare>` says when the user is of no use any more, in seconds since the
//! epoch: users do not expire, so whoever clears up after a flare removes those of others that are
//! over, too. The password comes from the flare's secret, so every pack makes the same user.

use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::keys;
use super::resp::{Client, GoOn, Reply, RespError};
use crate::config::Secret;

/// All that the backends say to the server.
const COMMANDS: [&str; 15] = [
    "blpop", "decr", "del", "expire", "get", "incr", "ping", "rpush", "sadd", "scard", "select",
    "set", "xadd", "xdel", "xread",
];

/// A user and its password.
pub(super) struct Account {
    pub(super) user: String,
    pub(super) password: String,
}

impl Account {
    /// `None` when the flare's id cannot be part of a name.
    pub(super) fn new(
        flare_id: &str,
        secret: &Secret,
        deadline: Option<SystemTime>,
    ) -> Option<Self> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if !flare_id.chars().all(plain) {
            return None;
        }
        let until = keys::gone_at(deadline).as_secs();
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret.as_bytes()).ok()?;
        mac.update(b"burst redis user");
        let tag = mac.finalize().into_bytes();
        Some(Self {
            user: name(until, flare_id),
            password: tag.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// Makes the user, or finds it made.
    pub(super) fn make(
        &self,
        client: &mut Client,
        flare_id: &str,
        go_on: GoOn<'_>,
    ) -> Result<(), RespError> {
        let mut rules = vec![
            "ON".to_owned(),
            format!(">{}", self.password),
            format!("~{}:*", keys::prefix(flare_id)),
        ];
        rules.extend(COMMANDS.map(|command| format!("+{command}")));
        let mut arguments: Vec<[&[u8]; 1]> = vec![[b"ACL"], [b"SETUSER"], [self.user.as_bytes()]];
        arguments.extend(rules.iter().map(|rule| [rule.as_bytes()]));
        let arguments: Vec<&[&[u8]]> = arguments.iter().map(|argument| &argument[..]).collect();
        client.command(&arguments, go_on)?;
        client.expect(1, go_on)
    }
}

/// Removes a flare's users, and those of flares that are over.
pub(super) fn remove(
    client: &mut Client,
    flare_id: &str,
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    client.command(&[&[b"ACL"], &[b"USERS"]], go_on)?;
    let users = match client.reply(go_on)? {
        Reply::Array(users) => users,
        // Who may not see users has not made any.
        Reply::Error(_) => return Ok(()),
        _ => return Err(RespError::Protocol),
    };
    let now = now().as_secs();
    let mut removed = 0;
    for user in &users {
        if let Reply::Bulk(user) = user
            && is_done_with(&String::from_utf8_lossy(user), flare_id, now)
        {
            client.command(&[&[b"ACL"], &[b"DELUSER"], &[user]], go_on)?;
            removed += 1;
        }
    }
    client.expect(removed, go_on)
}

fn name(until: u64, flare_id: &str) -> String {
    format!("burst.{until}.{flare_id}")
}

fn is_done_with(user: &str, flare_id: &str, now: u64) -> bool {
    let parts = user
        .strip_prefix("burst.")
        .and_then(|rest| rest.split_once('.'));
    parts.is_some_and(|(until, flare)| {
        flare == flare_id || until.parse::<u64>().is_ok_and(|until| until < now)
    })
}

fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn every_pack_makes_the_same_user() {
        let deadline = Some(SystemTime::now() + Duration::from_secs(60));
        let account = || Account::new("f1", &"secret".into(), deadline).unwrap();
        assert_eq!(account().user, account().user);
        assert_eq!(account().password, account().password);
        let other = Account::new("f1", &"another".into(), deadline).unwrap();
        assert_ne!(account().password, other.password);
        assert!(Account::new("f *", &"secret".into(), deadline).is_none());
    }

    #[test]
    fn users_go_with_their_flare_or_their_time() {
        assert!(is_done_with(&name(2000, "f1"), "f1", 1000));
        assert!(!is_done_with(&name(2000, "f1"), "f2", 1000));
        assert!(is_done_with(&name(999, "f1"), "f2", 1000));
        assert!(!is_done_with("default", "f1", 1000));
        assert!(!is_done_with("burst.", "", 1000));
    }
}
