//! The keys of a flare on the server: all are under its id and have an expiry.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use super::resp::{Exchange, Reply};
use super::resp_error::RespError;
use crate::pack_id::PackId;
use crate::remote::credentials::{GRACE, gone_at};
use crate::wire::Header;

/// The prefix of the names of a flare's keys.
pub(super) fn prefix(flare_id: &str) -> String {
    format!("burst:{flare_id}")
}

/// The names of those keys of a flare that hold messages.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(flare_id: &str) -> Self {
        let prefix = prefix(flare_id);
        Self { prefix }
    }

    /// The list of frames for a pack.
    pub(super) fn pack(&self, pack: PackId) -> String {
        format!("{}:pack:{pack}", self.prefix)
    }

    /// A stream of frames for a pack; `lane` is its number.
    pub(super) fn lane(&self, pack: PackId, lane: u32) -> String {
        format!("{}:lane:{pack}:{lane}", self.prefix)
    }

    /// The list or stream of control frames for a pack.
    pub(super) fn control(&self, pack: PackId) -> String {
        format!("{}:control:{pack}", self.prefix)
    }

    /// The stream of chunks for all packs.
    pub(super) fn cast(&self) -> String {
        format!("{}:cast", self.prefix)
    }

    /// A chunk that several packs read, or the set of packs that have read it.
    pub(super) fn chunk(&self, header: &Header) -> String {
        let Header {
            source,
            context,
            sequence,
            chunk,
            ..
        } = header;
        format!("{}:{source}:{context}:{sequence}:{chunk}", self.cast())
    }
}

/// How long a key written now is kept.
pub(super) fn expiry(deadline: Option<SystemTime>) -> Duration {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    gone_at(deadline).saturating_sub(now).max(GRACE)
}

/// Sets when a key expires. One reply.
pub(super) fn expire(
    exchange: &mut Exchange<'_>,
    key: &str,
    expiry: Duration,
) -> Result<(), RespError> {
    let seconds = expiry.as_secs().to_string();
    exchange.command(&[&[b"EXPIRE"], &[key.as_bytes()], &[seconds.as_bytes()]])
}

/// Deletes a key and waits for the reply.
pub(super) fn delete(exchange: &mut Exchange<'_>, key: &str) -> Result<(), RespError> {
    exchange.request(&[&[b"DEL"], &[key.as_bytes()]]).map(drop)
}

/// Deletes every key of these flares.
pub(super) fn delete_all(
    exchange: &mut Exchange<'_>,
    flares: &HashSet<String>,
) -> Result<(), RespError> {
    let mut names = flares.iter();
    let pattern = match (names.next(), names.next()) {
        (Some(only), None) => format!("burst:{}:*", literally(only)),
        _ => "burst:*".to_owned(),
    };
    let mut cursor = b"0".to_vec();
    loop {
        let found = exchange.request(&[
            &[b"SCAN"],
            &[&cursor],
            &[b"MATCH"],
            &[pattern.as_bytes()],
            &[b"COUNT"],
            &[b"1000"],
        ])?;
        let Ok([Reply::Bulk(next), Reply::Array(keys)]) = <[_; 2]>::try_from(found.array()?) else {
            return Err(RespError::Protocol);
        };
        let mut commands = 0;
        for key in &keys {
            if let Reply::Bulk(key) = key
                && flare_of(key).is_some_and(|flare| flares.contains(flare))
            {
                exchange.command(&[&[b"DEL"], &[key]])?;
                commands += 1;
            }
        }
        exchange.expect(commands)?;
        if next == b"0" {
            return Ok(());
        }
        cursor = next;
    }
}

/// The flare that a key belongs to.
fn flare_of(key: &[u8]) -> Option<&str> {
    let rest = key.strip_prefix(b"burst:")?;
    let end = rest.iter().position(|&byte| byte == b':')?;
    std::str::from_utf8(&rest[..end]).ok()
}

/// The key that records the flares of a group, which none of them can write.
fn flares_of(group: &str) -> String {
    format!("burst.flares.{group}")
}

/// Records that a flare belongs to a group, until the group's data is removed. Two replies.
pub(super) fn note_flare(
    exchange: &mut Exchange<'_>,
    (group, flare_id): (&str, &str),
    expiry: Duration,
) -> Result<(), RespError> {
    let key = flares_of(group);
    exchange.command(&[&[b"SADD"], &[key.as_bytes()], &[flare_id.as_bytes()]])?;
    expire(exchange, &key, expiry)
}

/// Returns the flares that were recorded for a group, and the group's own name; deletes the record.
pub(super) fn noted_flares(
    exchange: &mut Exchange<'_>,
    group: &str,
) -> Result<HashSet<String>, RespError> {
    let key = flares_of(group);
    let members = exchange
        .request(&[&[b"SMEMBERS"], &[key.as_bytes()]])?
        .array()?;
    delete(exchange, &key)?;
    let mut flares = HashSet::from([group.to_owned()]);
    flares.extend(members.into_iter().filter_map(|member| match member {
        Reply::Bulk(flare) => String::from_utf8(flare).ok(),
        _ => None,
    }));
    Ok(flares)
}

/// Escapes a text as a pattern that matches nothing but itself.
fn literally(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flares_name_is_escaped_in_patterns() {
        assert_eq!(literally("a*b[1]-?"), r"a\*b\[1\]\-\?");
    }

    #[test]
    fn a_key_belongs_to_one_flare() {
        assert_eq!(flare_of(b"burst:f1:pack:0"), Some("f1"));
        assert_eq!(flare_of(b"burst:f1"), None);
        assert_eq!(flare_of(flares_of("g").as_bytes()), None);
    }
}
