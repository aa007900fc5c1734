//! What a flare stores on the server: everything under its id, all of it with an expiry.

use std::collections::HashSet;
use std::time::SystemTime;

use super::resp::{Client, GoOn, Reply};
use super::resp_error::RespError;
use crate::remote::credentials::{GRACE, gone_at};

/// What the names of a flare's keys begin with.
pub(super) fn prefix(flare_id: &str) -> String {
    format!("burst:{flare_id}")
}

/// How many seconds a key written now may stay.
pub(super) fn expiry(deadline: Option<SystemTime>) -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    gone_at(deadline).saturating_sub(now).max(GRACE).as_secs()
}

/// Sets when a key goes. One reply.
pub(super) fn expire(
    client: &mut Client,
    key: &str,
    seconds: u64,
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    let seconds = seconds.to_string();
    client.command(
        &[&[b"EXPIRE"], &[key.as_bytes()], &[seconds.as_bytes()]],
        go_on,
    )
}

/// Deletes a key and waits for it.
pub(super) fn delete(client: &mut Client, key: &str, go_on: GoOn<'_>) -> Result<(), RespError> {
    client.command(&[&[b"DEL"], &[key.as_bytes()]], go_on)?;
    client.expect(1, go_on)
}

/// Deletes every key of these flares.
pub(super) fn delete_all(
    client: &mut Client,
    flares: &HashSet<String>,
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    let mut names = flares.iter();
    let pattern = match (names.next(), names.next()) {
        (Some(only), None) => format!("burst:{}:*", literally(only)),
        _ => "burst:*".to_owned(),
    };
    let mut cursor = b"0".to_vec();
    loop {
        client.command(
            &[
                &[b"SCAN"],
                &[&cursor],
                &[b"MATCH"],
                &[pattern.as_bytes()],
                &[b"COUNT"],
                &[b"1000"],
            ],
            go_on,
        )?;
        let (next, keys) = match client.reply(go_on)? {
            Reply::Array(parts) => match <[Reply; 2]>::try_from(parts) {
                Ok([Reply::Bulk(next), Reply::Array(keys)]) => (next, keys),
                _ => return Err(RespError::Protocol),
            },
            Reply::Error(reason) => return Err(RespError::Refused(reason)),
            _ => return Err(RespError::Protocol),
        };
        let mut commands = 0;
        for key in &keys {
            if let Reply::Bulk(key) = key
                && flare_of(key).is_some_and(|flare| flares.contains(flare))
            {
                client.command(&[&[b"DEL"], &[key]], go_on)?;
                commands += 1;
            }
        }
        client.expect(commands, go_on)?;
        if next == b"0" {
            return Ok(());
        }
        cursor = next;
    }
}

/// Whose a key is.
fn flare_of(key: &[u8]) -> Option<&str> {
    let rest = key.strip_prefix(b"burst:")?;
    let end = rest.iter().position(|&byte| byte == b':')?;
    std::str::from_utf8(&rest[..end]).ok()
}

/// Where the flares of a group are noted: where none of them can write.
fn flares_of(group: &str) -> String {
    format!("burst.flares.{group}")
}

/// Notes that a flare is of a group, until the group is cleaned up behind. Two replies.
pub(super) fn note_flare(
    client: &mut Client,
    (group, flare_id): (&str, &str),
    seconds: u64,
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    let key = flares_of(group);
    client.command(
        &[&[b"SADD"], &[key.as_bytes()], &[flare_id.as_bytes()]],
        go_on,
    )?;
    expire(client, &key, seconds, go_on)
}

/// The flares that were noted for a group, and its own name; forgets them.
pub(super) fn noted_flares(
    client: &mut Client,
    group: &str,
    go_on: GoOn<'_>,
) -> Result<HashSet<String>, RespError> {
    let key = flares_of(group);
    client.command(&[&[b"SMEMBERS"], &[key.as_bytes()]], go_on)?;
    let members = match client.reply(go_on)? {
        Reply::Array(members) => members,
        Reply::Error(reason) => return Err(RespError::Refused(reason)),
        _ => return Err(RespError::Protocol),
    };
    delete(client, &key, go_on)?;
    let mut flares = HashSet::from([group.to_owned()]);
    flares.extend(members.into_iter().filter_map(|member| match member {
        Reply::Bulk(flare) => String::from_utf8(flare).ok(),
        _ => None,
    }));
    Ok(flares)
}

/// A text as a pattern that matches nothing but itself.
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
    fn a_flares_name_is_no_pattern() {
        assert_eq!(literally("a*b[1]-?"), r"a\*b\[1\]\-\?");
    }

    #[test]
    fn a_key_is_one_flares() {
        assert_eq!(flare_of(b"burst:f1:pack:0"), Some("f1"));
        assert_eq!(flare_of(b"burst:f1"), None);
        assert_eq!(flare_of(flares_of("g").as_bytes()), None);
    }
}
