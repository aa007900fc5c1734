//! The commands on streams, each on a single key.

use super::super::keys::{delete, expire};
use super::super::resp::{Reply, Talk};
use super::super::resp_error::RespError;
use crate::pack_id::PackId;
use crate::remote::Frame;

/// Milliseconds a server waits before it says that there is nothing.
const BLOCK: &[u8] = b"1000";
/// Entries that come with one reply; the server copies them all.
const AT_ONCE: &[u8] = b"8";

/// Adds a frame to a stream. One reply.
pub(super) fn add(talk: &mut Talk<'_>, stream: &str, frame: &Frame<'_>) -> Result<(), RespError> {
    let header = frame.seal();
    talk.command(&[
        &[b"XADD"],
        &[stream.as_bytes()],
        &[b"*"],
        &[b"f"],
        &[&header, frame.payload],
    ])
}

/// Asks for the entries behind one, waiting for them.
pub(super) fn read(talk: &mut Talk<'_>, stream: &str, after: &[u8]) -> Result<(), RespError> {
    talk.command(&[
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
    talk: &mut Talk<'_>,
    stream: &str,
    entries: &[Vec<u8>],
) -> Result<(), RespError> {
    let ids: Vec<[&[u8]; 1]> = entries.iter().map(|id| [id.as_slice()]).collect();
    let stream = [stream.as_bytes()];
    let mut arguments: Vec<&[&[u8]]> = vec![&[b"XDEL"], &stream];
    arguments.extend(ids.iter().map(|id| id.as_slice()));
    talk.command(&arguments)
}

/// Notes that a pack has read a chunk for all; `true` when that was the last of so many, which
/// deletes the note. Done twice, because the answer got lost, it is as if it were done once.
pub(super) fn note(
    talk: &mut Talk<'_>,
    readers: &str,
    (pack, all): (PackId, u32),
    expiry: u64,
) -> Result<bool, RespError> {
    let (key, pack) = ([readers.as_bytes()], pack.to_string());
    talk.command(&[&[b"SADD"], &key, &[pack.as_bytes()]])?;
    expire(talk, readers, expiry)?;
    talk.command(&[&[b"SCARD"], &key])?;
    talk.expect(2)?;
    match talk.reply()? {
        Reply::Integer(number) if number >= i64::from(all) => {
            delete(talk, readers)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}
