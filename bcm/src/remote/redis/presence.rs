//! Whether a pack's process is there, as the server knows it.
//!
//! The connection of its [heartbeat](super::heartbeat) listens on a channel of the pack's own,
//! `burst:<flare>:here:<pack>`. Who doubts that the pack lives says something there, and is told
//! how many have heard it. The operating system ends the connections of a process that dies, and
//! keeps those of one that is only slow, however long it waits for a processor.
//!
//! Since RESP3 a connection that listens can be used for everything else. A server that does not
//! speak it, or does not let its user listen, knows of nobody.

use super::keys;
use super::resp::{Exchange, Reply};
use super::resp_error::RespError;
use crate::pack_id::PackId;

/// The name of a pack's channel.
pub(super) fn channel(flare_id: &str, pack: PackId) -> String {
    format!("{}:here:{pack}", keys::prefix(flare_id))
}

/// Listens, where the server allows it.
pub(super) fn begin(exchange: &mut Exchange<'_>, channel: &str) -> Result<(), RespError> {
    if exchange.try_request(&[&[b"HELLO"], &[b"3"]])?.is_none() {
        return Ok(());
    }
    exchange.client.listens = true;
    match exchange.try_request(&[&[b"SUBSCRIBE"], &[channel.as_bytes()]])? {
        None => speak_as_before(exchange, 0),
        Some(_) => Ok(()),
    }
}

/// Makes it a connection like any other again.
pub(super) fn end(exchange: &mut Exchange<'_>, channel: &str) -> Result<(), RespError> {
    if !exchange.client.listens {
        return Ok(());
    }
    exchange.command(&[&[b"UNSUBSCRIBE"], &[channel.as_bytes()]])?;
    speak_as_before(exchange, 1)
}

/// In RESP2, after this many other replies.
fn speak_as_before(exchange: &mut Exchange<'_>, before: usize) -> Result<(), RespError> {
    exchange.command(&[&[b"HELLO"], &[b"2"]])?;
    exchange.expect(before + 1)?;
    exchange.client.listens = false;
    Ok(())
}

/// Whether anybody listens.
pub(super) fn is_listening(exchange: &mut Exchange<'_>, channel: &str) -> Result<bool, RespError> {
    let heard = exchange.try_request(&[&[b"PUBLISH"], &[channel.as_bytes()], &[b"?"]])?;
    Ok(matches!(heard, Some(Reply::Integer(1..))))
}
