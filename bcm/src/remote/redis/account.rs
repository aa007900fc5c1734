//! A user of the flare's own on the server, who can do nothing but what its packs do, to nothing
//! but the flare's keys.
//!
//! The name `burst.<until>.<flare>` says when the user is of no use any more, in seconds since the
//! epoch: users do not expire, so whoever clears up after a flare removes those of others that are
//! over, too. The password comes from the flare's secret, so every pack makes the same user.
//!
//! The flares of a group have one user, called after the group: the first one's, whose keys become
//! those of the next flare. A connection stays logged in while its user changes. When the user's
//! time is up before a flare's is, the flare gets a new one.

use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::keys;
use super::resp::{Client, GoOn, Reply, RespError};
use super::server::Server;
use crate::admission::Admission;

/// All that the backends say to the server.
const COMMANDS: [&str; 15] = [
    "blpop", "decr", "del", "expire", "get", "incr", "ping", "rpush", "sadd", "scard", "select",
    "set", "xadd", "xdel", "xread",
];

/// How long after its first flare a group has the same user.
const LIFE_OF_A_GROUP: Duration = Duration::from_secs(24 * 3600);

/// A user and its password.
pub(super) struct Account {
    pub(super) user: String,
    pub(super) password: String,
}

impl Account {
    /// `None` when an id cannot be part of a name.
    pub(super) fn new(flare: &Admission<'_>) -> Option<Self> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let owner = owner(flare);
        if ![flare.flare_id, owner]
            .iter()
            .all(|id| id.chars().all(plain))
        {
            return None;
        }
        let more = flare.group.map_or(Duration::ZERO, |_| LIFE_OF_A_GROUP);
        let until = keys::gone_at(flare.deadline) + more;
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(flare.secret.as_bytes()).ok()?;
        mac.update(b"burst redis user");
        let tag = mac.finalize().into_bytes();
        Some(Self {
            user: name(until.as_secs(), owner),
            password: tag.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// The one an address names.
    pub(super) fn of(server: &Server) -> Option<Self> {
        Some(Self {
            user: server.user()?.to_owned(),
            password: server.password()?.to_owned(),
        })
    }

    /// Whether it belongs to the flare's group, and for as long as the flare may take.
    pub(super) fn is_for(&self, flare: &Admission<'_>) -> bool {
        let needed = keys::gone_at(flare.deadline).as_secs();
        parts(&self.user)
            .is_some_and(|(until, group)| Some(group) == flare.group && until >= needed)
    }

    /// Makes the user, or finds it made; it reaches this flare's keys and no others any more.
    pub(super) fn make(
        &self,
        client: &mut Client,
        flare_id: &str,
        go_on: GoOn<'_>,
    ) -> Result<(), RespError> {
        let mut rules = vec![
            "ON".to_owned(),
            format!(">{}", self.password),
            "resetkeys".to_owned(),
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

/// Removes the users of a flare or a group, and those of flares that are over.
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

/// Whom a flare's user is called after.
fn owner<'a>(flare: &Admission<'a>) -> &'a str {
    flare.group.unwrap_or(flare.flare_id)
}

fn name(until: u64, owner: &str) -> String {
    format!("burst.{until}.{owner}")
}

/// What a name was made from.
fn parts(user: &str) -> Option<(u64, &str)> {
    let (until, owner) = user.strip_prefix("burst.")?.split_once('.')?;
    Some((until.parse().ok()?, owner))
}

fn is_done_with(user: &str, flare_id: &str, now: u64) -> bool {
    parts(user).is_some_and(|(until, owner)| owner == flare_id || until < now)
}

fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::Secret;

    fn admission<'a>(flare_id: &'a str, secret: &'a Secret) -> Admission<'a> {
        Admission {
            deadline: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1000)),
            ..Admission::new(flare_id, secret)
        }
    }

    #[test]
    fn every_pack_makes_the_same_user() {
        let (secret, another) = ("secret".into(), "another".into());
        let account = || Account::new(&admission("f1", &secret)).unwrap();
        assert_eq!(account().user, account().user);
        assert_eq!(account().password, account().password);
        let other = Account::new(&admission("f1", &another)).unwrap();
        assert_ne!(account().password, other.password);
        assert!(Account::new(&admission("f *", &secret)).is_none());
    }

    #[test]
    fn a_group_has_one_user_as_long_as_it_lives() {
        let secret = "secret".into();
        let flare = |flare_id, hours: u64| Admission {
            group: Some("g1"),
            deadline: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(hours * 3600)),
            ..admission(flare_id, &secret)
        };
        let account = Account::new(&flare("f1", 1)).unwrap();
        assert!(account.is_for(&flare("f2", 2)) && account.is_for(&flare("f3", 25)));
        assert!(!account.is_for(&flare("f4", 26)));
        assert!(!account.is_for(&admission("g1", &secret)));
        let other = Admission {
            group: Some("g2"),
            ..flare("f5", 1)
        };
        assert!(!account.is_for(&other));
        assert!(is_done_with(&account.user, "g1", 0));
        assert!(!is_done_with(&account.user, "f1", 0));
        let wrong = Admission {
            group: Some("g *"),
            ..flare("f6", 1)
        };
        assert!(Account::new(&wrong).is_none());
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
