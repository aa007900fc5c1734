//! The commands on chunks that several packs read, each on a single key.

use std::time::Duration;

use super::super::keys::delete;
use super::super::resp::{Exchange, Reply};
use super::super::resp_error::RespError;
use crate::remote::Frame;

/// The key that counts how many packs have not read a chunk yet.
fn left(chunk: &str) -> String {
    format!("{chunk}:left")
}

/// Stores a chunk for several readers. Two replies.
pub(super) fn store(
    exchange: &mut Exchange<'_>,
    key: &str,
    frame: &Frame<'_>,
    readers: usize,
    expiry: Duration,
) -> Result<(), RespError> {
    let (expiry, readers) = (expiry.as_secs().to_string(), readers.to_string());
    let (left, expiry) = (left(key), [expiry.as_bytes()]);
    exchange.command(&[
        &[b"SET"],
        &[left.as_bytes()],
        &[readers.as_bytes()],
        &[b"EX"],
        &expiry,
    ])?;
    exchange.command(&[
        &[b"SET"],
        &[key.as_bytes()],
        &[frame.payload],
        &[b"EX"],
        &expiry,
    ])
}

/// Records that a stored chunk was read; the last reader deletes it.
pub(super) fn release(exchange: &mut Exchange<'_>, key: &str) -> Result<(), RespError> {
    let left = left(key);
    match exchange.request(&[&[b"DECR"], &[left.as_bytes()]])? {
        Reply::Integer(readers) if readers <= 0 => {
            delete(exchange, &left)?;
            delete(exchange, key)
        }
        _ => Ok(()),
    }
}
