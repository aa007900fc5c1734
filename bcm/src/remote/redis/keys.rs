//! What a flare stores on the server: everything under its id, all of it with an expiry.

use std::time::{Duration, SystemTime};

use super::resp::{Client, GoOn, Reply, RespError};

/// How long what a flare leaves is kept after its deadline.
const GRACE: Duration = Duration::from_secs(60);
/// How long a flare without a deadline may go without sending anything.
const NO_DEADLINE: Duration = Duration::from_secs(3600);

/// What the names of a flare's keys begin with.
pub(super) fn prefix(flare_id: &str) -> String {
    format!("burst:{flare_id}")
}

/// When nothing of a flare that does nothing any more is left, since the epoch.
pub(super) fn gone_at(deadline: Option<SystemTime>) -> Duration {
    let end = deadline.unwrap_or_else(|| SystemTime::now() + NO_DEADLINE);
    let end = end.duration_since(SystemTime::UNIX_EPOCH);
    end.unwrap_or_default() + GRACE
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

/// Deletes every key of a flare.
pub(super) fn delete_all(
    client: &mut Client,
    flare_id: &str,
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    let pattern = format!("burst:{}:*", literally(flare_id));
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
            if let Reply::Bulk(key) = key {
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
}
