//! Reads one frame, which is one value on the server, straight to where it belongs.

use super::resp::{Client, GoOn};
use super::resp_error::RespError;
use super::threads::End;
use crate::remote::inbox::{Inbox, Incoming};
use crate::wire::{HEADER_SIZE, Header, Kind, WireError};

/// Reads a frame and gives it to the inbox. One that says where a chunk is stored is given back
/// instead.
pub(super) fn read(
    client: &mut Client,
    inbox: &Inbox,
    go_on: GoOn<'_>,
) -> Result<Option<Header>, End> {
    let (header, length) = begin(client, go_on)?;
    if header.kind == Kind::Stored {
        client.skip(length, go_on)?;
        client.end_bulk(go_on)?;
        return Ok(Some(header));
    }
    receive(client, inbox, &header, length, go_on)?;
    Ok(None)
}

/// Reads a frame's header and gives the number of bytes that follow.
pub(super) fn begin(client: &mut Client, go_on: GoOn<'_>) -> Result<(Header, usize), End> {
    let length = client.begin(b'$', go_on)?.unwrap_or(0);
    let mut header = [0; HEADER_SIZE];
    if length < HEADER_SIZE {
        return Err(WireError::Truncated(length).into());
    }
    client.bulk(&mut header, go_on)?;
    Ok((Header::decode(&header)?, length - HEADER_SIZE))
}

/// Reads what follows a header; `true` when it had not been here before.
pub(super) fn receive(
    client: &mut Client,
    inbox: &Inbox,
    header: &Header,
    length: usize,
    go_on: GoOn<'_>,
) -> Result<bool, End> {
    check(header.payload_len()?, length)?;
    if header.pack == inbox.config().pack {
        // Its own: a chunk for all, which the others delete, or what wakes this thread.
        client.skip(length, go_on)?;
        client.end_bulk(go_on)?;
        return Ok(false);
    }
    let incoming = inbox.open(header)?;
    let new = !matches!(incoming, Incoming::Skip(_));
    match incoming {
        Incoming::Chunk(mut chunk) => {
            client.bulk(chunk.bytes(), go_on)?;
            client.end_bulk(go_on)?;
            chunk.verify_and_commit()?;
        }
        Incoming::Notice(length) => {
            let mut payload = vec![0; length];
            client.bulk(&mut payload, go_on)?;
            client.end_bulk(go_on)?;
            header.verify(&payload)?;
            inbox.notice(header, &payload);
        }
        Incoming::Skip(length) => {
            client.skip(length, go_on)?;
            client.end_bulk(go_on)?;
        }
    }
    Ok(new)
}

/// Drops a bulk string.
pub(super) fn skip(client: &mut Client, go_on: GoOn<'_>) -> Result<(), RespError> {
    let length = client.begin(b'$', go_on)?.unwrap_or(0);
    client.skip(length, go_on)?;
    client.end_bulk(go_on)
}

pub(super) fn check(expected: usize, found: usize) -> Result<(), WireError> {
    if expected == found {
        Ok(())
    } else {
        Err(WireError::Length { expected, found })
    }
}
