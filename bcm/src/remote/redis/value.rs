//! Reads one frame, which is one value on the server, straight to where it belongs.

use super::resp::Talk;
use super::resp_error::RespError;
use super::threads::End;
use crate::remote::inbox::{Inbox, PayloadTarget};
use crate::wire::{HEADER_SIZE, Header, Kind, WireError};

/// Reads a frame and gives it to the inbox. One that says where a chunk is stored is given back
/// instead.
pub(super) fn read(talk: &mut Talk<'_>, inbox: &Inbox) -> Result<Option<Header>, End> {
    let (header, length) = begin(talk)?;
    if header.kind == Kind::Stored {
        talk.skip(length)?;
        return Ok(Some(header));
    }
    receive(talk, inbox, &header, length)?;
    Ok(None)
}

/// Reads a frame's header and gives the number of bytes that follow.
pub(super) fn begin(talk: &mut Talk<'_>) -> Result<(Header, usize), End> {
    let length = talk.begin(b'$')?.unwrap_or(0);
    let mut header = [0; HEADER_SIZE];
    if length < HEADER_SIZE {
        return Err(WireError::Truncated(length).into());
    }
    talk.bulk(&mut header)?;
    Ok((Header::decode(&header)?, length - HEADER_SIZE))
}

/// Reads what follows a header; `true` when it had not been here before.
pub(super) fn receive(
    talk: &mut Talk<'_>,
    inbox: &Inbox,
    header: &Header,
    length: usize,
) -> Result<bool, End> {
    check(header.payload_len()?, length)?;
    if header.pack == inbox.config().pack {
        // Its own: a chunk for all, which the others delete, or what wakes this thread.
        talk.skip(length)?;
        return Ok(false);
    }
    let target = inbox.open(header)?;
    let new = !matches!(target, PayloadTarget::Skip(_));
    match target {
        PayloadTarget::Chunk(mut chunk) => {
            talk.rest(chunk.bytes())?;
            chunk.verify_and_commit()?;
        }
        PayloadTarget::Notice(length) => {
            let mut payload = vec![0; length];
            talk.rest(&mut payload)?;
            header.verify(&payload)?;
            inbox.notice(header, &payload);
        }
        PayloadTarget::Skip(length) => talk.skip(length)?,
    }
    Ok(new)
}

/// Drops a bulk string.
pub(super) fn skip(talk: &mut Talk<'_>) -> Result<(), RespError> {
    let length = talk.begin(b'$')?.unwrap_or(0);
    talk.skip(length)
}

pub(super) fn check(expected: usize, found: usize) -> Result<(), WireError> {
    if expected == found {
        Ok(())
    } else {
        Err(WireError::Length { expected, found })
    }
}
