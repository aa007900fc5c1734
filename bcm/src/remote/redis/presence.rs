//! Whether a pack's process is alive, as seen by the server.
//!
//! The connection of its [heartbeat](super::heartbeat) subscribes to a channel of the pack's own,
//! `burst:<flare>:here:<pack>`. A pack that doubts whether another one lives publishes something on
//! that one's channel, and learns from the reply how many subscribers there are. The operating
//! system ends the connections of a process that dies, and keeps those of a process that is only
//! slow, however long it waits for a processor.
//!
//! With RESP3 a subscribed connection can be used for everything else. A server that does not speak
//! it, or does not let its user subscribe, knows of no subscribers.

use super::keys;
use super::resp::{Exchange, Reply};
use super::resp_error::RespError;
use crate::pack_id::PackId;

/// The name of a pack's channel.
pub(super) fn channel(flare_id: &str, pack: PackId) -> String {
    format!("{}:here:{pack}", keys::prefix(flare_id))
}

/// Subscribes, if the server allows it.
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

/// Turns it back into an ordinary connection.
pub(super) fn end(exchange: &mut Exchange<'_>, channel: &str) -> Result<(), RespError> {
    if !exchange.client.listens {
        return Ok(());
    }
    exchange.command(&[&[b"UNSUBSCRIBE"], &[channel.as_bytes()]])?;
    speak_as_before(exchange, 1)
}

/// Returns to RESP2, after this many other replies.
fn speak_as_before(exchange: &mut Exchange<'_>, before: usize) -> Result<(), RespError> {
    exchange.command(&[&[b"HELLO"], &[b"2"]])?;
    exchange.expect(before + 1)?;
    exchange.client.listens = false;
    Ok(())
}

/// Whether anybody is subscribed.
pub(super) fn is_listening(exchange: &mut Exchange<'_>, channel: &str) -> Result<bool, RespError> {
    let heard = exchange.try_request(&[&[b"PUBLISH"], &[channel.as_bytes()], &[b"?"]])?;
    Ok(matches!(heard, Some(Reply::Integer(1..))))
}
