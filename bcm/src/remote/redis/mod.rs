//! Redis, Valkey or DragonflyDB as a backend: two of them, which share the connection.
//!
//! | idea | where |
//! | --- | --- |
//! | `redis-list`: frames in lists | [`list`] |
//! | `redis-stream`: frames in streams | [`stream`] |
//! | all that they have in common | [`layout`] |
//! | the protocol, and where the server is | [`resp`], [`server`] |
//! | reading a frame | [`value`] |
//! | one flare: threads, writing, leaving | [`session`] |
//! | connections, from one flare to the next | [`connections`] |
//! | writing, and trying again | [`writer`] |
//! | threads that read, and connect again | [`threads`] |
//! | packs that die, servers that forget | [`heartbeat`], [`presence`] |
//! | what both store: names, expiry, cleaning | [`keys`] |
//! | making a user for a flare, cleaning up after it | [`platform`] |
//! | the flare's own user | [`account`] |
//!
//! All commands name a single key or channel and are among those DragonflyDB documents.
//!
//! **Broken connections.** What is written is written again after a new connection was made,
//! since the inbox drops what comes twice. What is read from a stream is read again from where it
//! stopped; what was being popped from a list may be gone, so that ends the flare. A server that
//! cannot be reached again within [`RECOVERY`] ends it too, and so does one that has forgotten
//! what it was told.

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

/// How long a server may say nothing at all to one who waits.
const SILENCE: Duration = Duration::from_secs(6);
/// The same to a pack whose flare has failed, which the others know or find out.
const SILENCE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a connection that broke is tried to be made again, so that everybody knows within a
/// second when it cannot.
const RECOVERY: Duration = Duration::from_millis(600);
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(20);
/// Largest chunk: half of what a server takes for one value unless told otherwise.
const LARGEST: usize = 256 << 20;
/// Bytes one sender writes before it lets others have its connection.
const BATCH: usize = 8 << 20;

fn connect(server: &Server) -> Result<Client, Error> {
    Client::connect(server, &mut within(server, SILENCE)).map_err(|reason| server.failed(reason))
}

/// What a wait asks that is over after so long.
fn within(server: &Server, limit: Duration) -> impl FnMut() -> Result<(), Error> {
    let mut patience = Patience::of(limit);
    move || match patience.is_over() {
        false => Ok(()),
        true => Err(server.error(format!("the server does not answer within {limit:?}"))),
    }
}

/// As [`within`], but no shorter than the server may take to come back.
fn within_or_recovery(server: &Server, limit: Duration) -> impl FnMut() -> Result<(), Error> {
    within(server, limit.max(server.recovery()))
}

/// Reads all that comes from a server as replies, or as lists of a key and a frame.
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
