//! The keys of a flare and the commands on them, each on a single key.

use super::super::keys::{delete, expire, prefix};
use super::super::resp::{Client, GoOn, Reply};
use super::super::resp_error::RespError;
use crate::remote::Frame;
use crate::wire::Header;

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
    pub(super) fn pack(&self, pack: u32) -> String {
        format!("{}:pack:{pack}", self.prefix)
    }

    /// Control frames for a pack.
    pub(super) fn control(&self, pack: u32) -> String {
        format!("{}:control:{pack}", self.prefix)
    }

    /// A chunk many packs read.
    pub(super) fn cast(&self, header: &Header) -> String {
        format!(
            "{}:cast:{}:{}:{}:{}",
            self.prefix, header.source, header.context, header.sequence, header.chunk
        )
    }

    /// How many packs have not read it yet.
    pub(super) fn left(cast: &str) -> String {
        format!("{cast}:left")
    }
}

/// Appends a frame to a list. Two replies.
pub(super) fn push(
    client: &mut Client,
    list: &str,
    frame: &Frame<'_>,
    expiry: u64,
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    let header = frame.seal();
    client.command(
        &[&[b"RPUSH"], &[list.as_bytes()], &[&header, frame.payload]],
        go_on,
    )?;
    // An emptied list is gone, its expiry with it, so each push sets it anew.
    expire(client, list, expiry, go_on)
}

/// Stores a chunk for many readers. Two replies.
pub(super) fn store(
    client: &mut Client,
    key: &str,
    frame: &Frame<'_>,
    readers: usize,
    expiry: u64,
    go_on: GoOn<'_>,
) -> Result<(), RespError> {
    let (expiry, readers) = (expiry.to_string(), readers.to_string());
    let (left, expiry) = (Keys::left(key), [expiry.as_bytes()]);
    client.command(
        &[
            &[b"SET"],
            &[left.as_bytes()],
            &[readers.as_bytes()],
            &[b"EX"],
            &expiry,
        ],
        go_on,
    )?;
    client.command(
        &[
            &[b"SET"],
            &[key.as_bytes()],
            &[frame.payload],
            &[b"EX"],
            &expiry,
        ],
        go_on,
    )
}

/// Says that a stored chunk was read; the last reader deletes it.
pub(super) fn release(client: &mut Client, key: &str, go_on: GoOn<'_>) -> Result<(), RespError> {
    let left = Keys::left(key);
    client.command(&[&[b"DECR"], &[left.as_bytes()]], go_on)?;
    match client.reply(go_on)? {
        Reply::Integer(readers) if readers <= 0 => {
            delete(client, &left, go_on)?;
            delete(client, key, go_on)
        }
        Reply::Error(reason) => Err(RespError::Refused(reason)),
        _ => Ok(()),
    }
}
