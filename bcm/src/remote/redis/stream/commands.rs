//! The keys of a flare and the commands on them, each on a single key.

use super::super::keys::{delete, expire, prefix};
use super::super::resp::{Client, GoOn, Reply};
use super::super::resp_error::RespError;
use crate::remote::Frame;
use crate::wire::Header;

/// Milliseconds a server waits before it says that there is nothing.
const BLOCK: &[u8] = b"1000";
/// Entries that come with one reply; the server copies them all.
const AT_ONCE: &[u8] = b"8";

/// The names of a flare's keys.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(flare_id: &str) -> Self {
        Self {
            prefix: prefix(flare_id),
        }
    }

    /// Frames for a pack.
    pub(super) fn lane(&self, pack: u32, lane: u32) -> String {
        format!("{}:lane:{pack}:{lane}", self.prefix)
    }

    /// Control frames for a pack.
    pub(super) fn control(&self, pack: u32) -> String {
        format!("{}:control:{pack}", self.prefix)
    }

    /// Chunks for all packs.
    pub(super) fn cast(&self) -> String {
        format!("{}:cast", self.prefix)
    }

    /// The packs that have read a chunk for all.
    pub(super) fn readers(&self, header: &Header) -> String {
        format!(
            "{}:cast:{}:{}:{}:{}",
            self.prefix, header.source, header.context, header.sequence, header.chunk
        )
    }
}

/// Adds a frame to a stream. One reply.
pub(super) fn add(
    client: &mut Client,
    stream: &str,
    frame: &Frame<'_>,
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    let header = frame.seal();
    client.command(
        &[
            &[b"XADD"],
            &[stream.as_bytes()],
            &[b"*"],
            &[b"f"],
            &[&header, frame.payload],
        ],
        go_on,
    )
}

/// Asks for the entries behind one, waiting for them.
pub(super) fn read(
    client: &mut Client,
    stream: &str,
    after: &[u8],
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    client.command(
        &[
            &[b"XREAD"],
            &[b"COUNT"],
            &[AT_ONCE],
            &[b"BLOCK"],
            &[BLOCK],
            &[b"STREAMS"],
            &[stream.as_bytes()],
            &[after],
        ],
        go_on,
    )
}

/// Deletes entries. One reply.
pub(super) fn remove(
    client: &mut Client,
    stream: &str,
    entries: &[Vec<u8>],
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    let ids: Vec<[&[u8]; 1]> = entries.iter().map(|id| [id.as_slice()]).collect();
    let stream = [stream.as_bytes()];
    let mut arguments: Vec<&[&[u8]]> = vec![&[b"XDEL"], &stream];
    arguments.extend(ids.iter().map(|id| id.as_slice()));
    client.command(&arguments, go_on)
}

/// Notes that a pack has read a chunk for all; `true` when that was the last of so many, which
/// deletes the note. Done twice, because the answer got lost, it is as if it were done once.
pub(super) fn note(
    client: &mut Client,
    readers: &str,
    (pack, all): (u32, u32),
    expiry: u64,
    go_on: GoOn<'_>,
) -> Result<bool, RespError> {
    let (key, pack) = ([readers.as_bytes()], pack.to_string());
    client.command(&[&[b"SADD"], &key, &[pack.as_bytes()]], go_on)?;
    expire(client, readers, expiry, go_on)?;
    client.command(&[&[b"SCARD"], &key], go_on)?;
    client.expect(2, go_on)?;
    match client.reply(go_on)? {
        Reply::Integer(number) if number >= i64::from(all) => {
            delete(client, readers, go_on)?;
            Ok(true)
        }
        Reply::Error(reason) => Err(RespError::Refused(reason)),
        _ => Ok(false),
    }
}
