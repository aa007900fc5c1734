//! Reads one frame, which is one value on the server, straight to its place.

use super::resp::Exchange;
use super::resp_error::RespError;
use super::threads::End;
use crate::remote::inbox::{Inbox, PayloadTarget};
use crate::wire::{HEADER_SIZE, Header, Kind, WireError};

/// Reads a frame and gives it to the inbox. The header of a frame that announces a stored chunk is
/// returned instead.
pub(super) fn read(exchange: &mut Exchange<'_>, inbox: &Inbox) -> Result<Option<Header>, End> {
    let (header, length) = begin(exchange)?;
    if header.kind == Kind::Stored {
        exchange.skip(length)?;
        return Ok(Some(header));
    }
    receive(exchange, inbox, &header, length)?;
    Ok(None)
}

/// Reads a frame's header and returns it with the number of bytes that follow.
pub(super) fn begin(exchange: &mut Exchange<'_>) -> Result<(Header, usize), End> {
    let length = exchange.begin(b'$')?.unwrap_or(0);
    let mut header = [0; HEADER_SIZE];
    if length < HEADER_SIZE {
        return Err(WireError::Truncated(length).into());
    }
    exchange.bulk(&mut header)?;
    Ok((Header::decode(&header)?, length - HEADER_SIZE))
}

/// Reads the payload that follows a header; `true` if the frame had not arrived before.
pub(super) fn receive(
    exchange: &mut Exchange<'_>,
    inbox: &Inbox,
    header: &Header,
    length: usize,
) -> Result<bool, End> {
    check(header.payload_len()?, length)?;
    if header.pack == inbox.config().pack {
        // This pack's own: a chunk for all, which the others delete, or a frame that wakes this
        // thread.
        exchange.skip(length)?;
        return Ok(false);
    }
    let target = inbox.open(header)?;
    let new = !matches!(target, PayloadTarget::Skip(_));
    match target {
        PayloadTarget::Chunk(mut chunk) => {
            exchange.rest(chunk.bytes())?;
            chunk.verify_and_commit()?;
        }
        PayloadTarget::Notice(length) => {
            let mut payload = vec![0; length];
            exchange.rest(&mut payload)?;
            header.verify(&payload)?;
            inbox.notice(header, &payload);
        }
        PayloadTarget::Skip(length) => exchange.skip(length)?,
    }
    Ok(new)
}

/// Skips a bulk string.
pub(super) fn skip(exchange: &mut Exchange<'_>) -> Result<(), RespError> {
    let length = exchange.begin(b'$')?.unwrap_or(0);
    exchange.skip(length)
}

pub(super) fn check(expected: usize, found: usize) -> Result<(), WireError> {
    if expected == found {
        Ok(())
    } else {
        Err(WireError::Length { expected, found })
    }
}
