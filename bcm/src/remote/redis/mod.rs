//! Redis, Valkey or DragonflyDB as a backend: two of them, which share the connection.
//!
//! | idea | where |
//! | --- | --- |
//! | `redis-list`: frames in lists | [`list`] |
//! | `redis-stream`: frames in streams | [`stream`] |
//! | everything they have in common | [`layout`] |
//! | the protocol, and where the server is | [`resp`], [`server`] |
//! | reading a frame | [`value`] |
//! | one flare: threads, writing, leaving | [`session`] |
//! | connections, from one flare to the next | [`connections`] |
//! | writing, and retrying | [`writer`] |
//! | threads that read, and reconnect | [`threads`] |
//! | packs that die, servers that forget | [`heartbeat`], [`presence`] |
//! | what both store: names, expiry, clean-up | [`keys`] |
//! | creating a user for a flare, cleaning up after it | [`platform`] |
//! | the flare's own user | [`account`] |
//!
//! All commands name a single key or channel and are among those DragonflyDB documents.
//!
//! **Broken connections.** Writes are repeated on a new connection, since the inbox drops
//! duplicates. Reads of a stream continue where they stopped; an entry that was being popped from a
//! list may be lost, so that ends the flare. A server that cannot be reached again within
//! [`RECOVERY`] ends it too, and so does one that has lost data.

pub(super) mod list;
pub(super) mod stream;

mod account;
mod connections;
mod heartbeat;
mod keys;
mod layout;
mod platform;
mod presence;
mod resp;
mod resp_error;
mod server;
mod session;
mod threads;
#[cfg(feature = "tls")]
mod tls;
mod value;
mod writer;

use std::time::Duration;

use resp::Client;
use server::Server;

use super::patience::Patience;
use crate::error::Error;

/// How long a server may stay silent while a caller waits.
const SILENCE: Duration = Duration::from_secs(6);
/// The same for a pack whose flare has failed, which the others know or find out.
const SILENCE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long reconnecting is tried after a connection broke: short enough that all packs learn
/// within a second that it failed.
const RECOVERY: Duration = Duration::from_millis(600);
/// The pause between two attempts.
const AGAIN: Duration = Duration::from_millis(20);
/// The largest chunk: half of a server's default limit for one value.
const LARGEST: usize = 256 << 20;
/// The bytes one sender writes before it lets others have its connection.
const BATCH: usize = 8 << 20;

fn connect(server: &Server) -> Result<Client, Error> {
    Client::connect(server, &mut within(server, SILENCE)).map_err(|reason| server.failed(reason))
}

/// Returns an interrupt for a wait, which fails after `limit`.
fn within(server: &Server, limit: Duration) -> impl FnMut() -> Result<(), Error> {
    let mut patience = Patience::of(limit);
    move || match patience.is_over() {
        false => Ok(()),
        true => Err(server.error(format!("the server does not answer within {limit:?}"))),
    }
}

/// Like [`within`], but with at least the time the server may take to recover.
fn within_or_recovery(server: &Server, limit: Duration) -> impl FnMut() -> Result<(), Error> {
    within(server, limit.max(server.recovery()))
}

/// Reads everything a server sends as replies, or as lists of a key and a frame.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_all(
    stream: std::os::unix::net::UnixStream,
    inbox: Option<&crate::remote::inbox::Inbox>,
) {
    let mut client = Client::over(server::Stream::Plain(stream.into()));
    let interrupt: resp::Interrupt<'_> = &mut || Ok(());
    let exchange = &mut client.exchange(interrupt);
    match inbox {
        None => while exchange.reply().is_ok() {},
        Some(inbox) => {
            while exchange.begin(b'*').is_ok()
                && value::skip(exchange).is_ok()
                && value::read(exchange, inbox).is_ok()
            {}
        }
    }
}
