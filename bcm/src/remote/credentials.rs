//! The name and password of the user that a server creates for a flare.
//!
//! The name `burst.<until>.<flare>` contains the time after which the user is not needed any more,
//! in seconds since the epoch. Users do not expire, so cleaning up after a flare also removes the
//! users of other flares whose time is over. The password is derived from the flare's secret, so
//! packs usually create the same user. However, each pack learns only how much time the flare has
//! left and computes the end by its own clock; if these ends fall into different seconds, the users
//! differ. So packs must not find each other by a user's name.
//!
//! The flares of a group share one user, named after the group and created for its first flare. If
//! its time ends before a flare's does, the flare gets a new one.

use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::credential_request::CredentialRequest;

/// How long the data a flare leaves behind is kept after its deadline.
pub(super) const GRACE: Duration = Duration::from_secs(60);
/// How long a flare without a deadline may go without sending anything.
const NO_DEADLINE: Duration = Duration::from_secs(3600);
/// How long a group keeps the same user after its first flare.
const LIFE_OF_A_GROUP: Duration = Duration::from_secs(24 * 3600);

/// Longer than any group lives.
pub(super) const DAYS: Duration = Duration::from_secs(7 * 24 * 3600);

/// The error message for ids that cannot be part of a name.
pub(super) const ODD_ID: &str =
    "the ids of flares and groups may have letters, digits, hyphens and underscores";

/// See the module's documentation. Neither part contains characters that are special in a URI.
pub(super) struct Credentials {
    pub(super) user: String,
    pub(super) password: String,
}

impl Credentials {
    /// Returns `None` if an id cannot be part of a name.
    pub(super) fn new(flare: &CredentialRequest<'_>) -> Option<Self> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let owner = owner(flare);
        if ![flare.flare_id, owner]
            .iter()
            .all(|id| id.chars().all(plain))
        {
            return None;
        }
        let more = flare.group.map_or(Duration::ZERO, |_| LIFE_OF_A_GROUP);
        let until = gone_at(flare.deadline) + more;
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(flare.secret.as_bytes()).ok()?;
        mac.update(b"burst user");
        let tag = mac.finalize().into_bytes();
        Some(Self {
            user: name(until.as_secs(), owner),
            password: tag.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// Whether this user belongs to the flare's group and lasts for as long as the flare can.
    pub(super) fn is_for(&self, flare: &CredentialRequest<'_>) -> bool {
        let needed = gone_at(flare.deadline).as_secs();
        parts(&self.user)
            .is_some_and(|(until, group)| Some(group) == flare.group && until >= needed)
    }
}

/// Whether a user belongs to this flare or group, or to one that is over.
pub(super) fn is_done_with(user: &str, flare_id: &str) -> bool {
    owner_of(user) == Some(flare_id) || is_over(user)
}

/// Whether the user of a flare or group has outlived its time.
pub(super) fn is_over(user: &str) -> bool {
    is_over_at(user, now().as_secs())
}

/// The flare or group that a user was created for, if it was created for one.
pub(super) fn owner_of(user: &str) -> Option<&str> {
    parts(user).map(|(_, owner)| owner)
}

/// The time since the epoch after which nothing of a flare that has stopped working is left.
pub(super) fn gone_at(deadline: Option<SystemTime>) -> Duration {
    let end = deadline.unwrap_or_else(|| SystemTime::now() + NO_DEADLINE);
    let end = end.duration_since(SystemTime::UNIX_EPOCH);
    end.unwrap_or_default() + GRACE
}

/// The flare or group that a flare's user is named after.
pub(super) fn owner<'a>(flare: &CredentialRequest<'a>) -> &'a str {
    flare.group.unwrap_or(flare.flare_id)
}

fn name(until: u64, owner: &str) -> String {
    format!("burst.{until}.{owner}")
}

/// The parts of a name: its time and its owner.
fn parts(user: &str) -> Option<(u64, &str)> {
    let (until, owner) = user.strip_prefix("burst.")?.split_once('.')?;
    Some((until.parse().ok()?, owner))
}

fn is_over_at(user: &str, now: u64) -> bool {
    parts(user).is_some_and(|(until, _)| until < now)
}

fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::Secret;

    fn request<'a>(flare_id: &'a str, secret: &'a Secret) -> CredentialRequest<'a> {
        CredentialRequest {
            deadline: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1000)),
            ..CredentialRequest::new(flare_id, secret)
        }
    }

    #[test]
    fn packs_derive_the_same_user() {
        let (secret, another) = ("secret".into(), "another".into());
        let credentials = || Credentials::new(&request("f1", &secret)).unwrap();
        assert_eq!(credentials().user, credentials().user);
        assert_eq!(credentials().password, credentials().password);
        let other = Credentials::new(&request("f1", &another)).unwrap();
        assert_ne!(credentials().password, other.password);
        assert!(Credentials::new(&request("f *", &secret)).is_none());
    }

    #[test]
    fn a_group_has_one_user_as_long_as_it_lives() {
        let secret = "secret".into();
        let flare = |flare_id, hours: u64| CredentialRequest {
            group: Some("g1"),
            deadline: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(hours * 3600)),
            ..request(flare_id, &secret)
        };
        let credentials = Credentials::new(&flare("f1", 1)).unwrap();
        assert!(credentials.is_for(&flare("f2", 2)) && credentials.is_for(&flare("f3", 25)));
        assert!(!credentials.is_for(&flare("f4", 26)));
        assert!(!credentials.is_for(&request("g1", &secret)));
        let other = CredentialRequest {
            group: Some("g2"),
            ..flare("f5", 1)
        };
        assert!(!credentials.is_for(&other));
        assert_eq!(owner_of(&credentials.user), Some("g1"));
        let wrong = CredentialRequest {
            group: Some("g *"),
            ..flare("f6", 1)
        };
        assert!(Credentials::new(&wrong).is_none());
    }

    #[test]
    fn users_end_with_their_flare_or_at_their_deadline() {
        assert!(is_done_with(&name(u64::MAX, "f1"), "f1"));
        assert!(!is_done_with(&name(u64::MAX, "f1"), "f2"));
        assert!(is_done_with(&name(999, "f1"), "f2"));
        assert!(is_over_at(&name(999, "f1"), 1000));
        assert!(!is_over_at(&name(1000, "f1"), 1000));
        assert!(!is_done_with("default", "f1"));
        assert!(!is_done_with("burst.", ""));
    }
}
