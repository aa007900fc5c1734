//! The commands on streams, each on a single key.

use std::time::Duration;

use super::super::keys::{delete, expire};
use super::super::resp::{Exchange, Reply};
use super::super::resp_error::RespError;
use crate::pack_id::PackId;
use crate::remote::Frame;

/// The milliseconds a server waits before it replies that there is nothing.
const BLOCK: &[u8] = b"1000";
/// The most entries in one reply; the server copies them all.
const AT_ONCE: &[u8] = b"8";

/// Adds a frame to a stream. One reply.
pub(super) fn add(
    exchange: &mut Exchange<'_>,
    stream: &str,
    frame: &Frame<'_>,
) -> Result<(), RespError> {
    let header = frame.seal();
    exchange.command(&[
        &[b"XADD"],
        &[stream.as_bytes()],
        &[b"*"],
        &[b"f"],
        &[&header, frame.payload],
    ])
}

/// Requests the entries after one, waiting for them.
pub(super) fn read(
    exchange: &mut Exchange<'_>,
    stream: &str,
    after: &[u8],
) -> Result<(), RespError> {
    exchange.command(&[
        &[b"XREAD"],
        &[b"COUNT"],
        &[AT_ONCE],
        &[b"BLOCK"],
        &[BLOCK],
        &[b"STREAMS"],
        &[stream.as_bytes()],
        &[after],
    ])
}

/// Deletes entries. One reply.
pub(super) fn remove(
    exchange: &mut Exchange<'_>,
    stream: &str,
    entries: &[Vec<u8>],
) -> Result<(), RespError> {
    let ids: Vec<[&[u8]; 1]> = entries.iter().map(|id| [id.as_slice()]).collect();
    let stream = [stream.as_bytes()];
    let mut arguments: Vec<&[&[u8]]> = vec![&[b"XDEL"], &stream];
    arguments.extend(ids.iter().map(|id| id.as_slice()));
    exchange.command(&arguments)
}

/// Records that a pack has read a chunk for all; `true` if that was the last of `all`, which
/// deletes the record. Repeating it, because the reply was lost, has no further effect.
pub(super) fn note(
    exchange: &mut Exchange<'_>,
    readers: &str,
    (pack, all): (PackId, u32),
    expiry: Duration,
) -> Result<bool, RespError> {
    let (key, pack) = ([readers.as_bytes()], pack.to_string());
    exchange.command(&[&[b"SADD"], &key, &[pack.as_bytes()]])?;
    expire(exchange, readers, expiry)?;
    exchange.command(&[&[b"SCARD"], &key])?;
    exchange.expect(2)?;
    match exchange.reply()? {
        Reply::Integer(number) if number >= i64::from(all) => {
            delete(exchange, readers)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}
