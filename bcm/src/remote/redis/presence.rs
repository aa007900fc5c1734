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
use super::resp::{Client, GoOn, Reply};
use super::resp_error::RespError;

/// The name of a pack's channel.
pub(super) fn channel(flare_id: &str, pack: u32) -> String {
    format!("{}:here:{pack}", keys::prefix(flare_id))
}

/// Listens, where the server allows it.
pub(super) fn begin(client: &mut Client, channel: &str, go_on: GoOn<'_>) -> Result<(), RespError> {
    client.command(&[&[b"HELLO"], &[b"3"]], go_on)?;
    if let Reply::Error(_) = client.reply(go_on)? {
        return Ok(());
    }
    client.listens = true;
    client.command(&[&[b"SUBSCRIBE"], &[channel.as_bytes()]], go_on)?;
    match client.reply(go_on)? {
        Reply::Error(_) => speak_as_before(client, 0, go_on),
        _ => Ok(()),
    }
}

/// Makes it a connection like any other again.
pub(super) fn end(client: &mut Client, channel: &str, go_on: GoOn<'_>) -> Result<(), RespError> {
    if !client.listens {
        return Ok(());
    }
    client.command(&[&[b"UNSUBSCRIBE"], &[channel.as_bytes()]], go_on)?;
    speak_as_before(client, 1, go_on)
}

/// In RESP2, after so many other replies.
fn speak_as_before(client: &mut Client, before: usize, go_on: GoOn<'_>) -> Result<(), RespError> {
    client.command(&[&[b"HELLO"], &[b"2"]], go_on)?;
    client.expect(before + 1, go_on)?;
    client.listens = false;
    Ok(())
}

/// Whether anybody listens.
pub(super) fn ask(client: &mut Client, channel: &str, go_on: GoOn<'_>) -> Result<bool, RespError> {
    client.command(&[&[b"PUBLISH"], &[channel.as_bytes()], &[b"?"]], go_on)?;
    Ok(matches!(client.reply(go_on)?, Reply::Integer(1..)))
}
