//! A connection between packs on two machines: this machine's pack by its Unix socket, the other by the machine's
//! network.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::copy::{copy_bidirectional, read_now};
use crate::end::End;
use crate::relay::{keep, reset};

/// Bytes of the buffer of each direction.
const BUFFER: usize = 64 << 10;

/// Bytes of a read before both packs know each other.
const WORDS: usize = 1024;

/// How long one side may go on after the other has ended its stream.
const HALF_CLOSED: Duration = Duration::from_secs(2);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Tunnel {
    inner: UnixStream,
    outer: TcpStream,
}

impl Tunnel {
    /// Joins two connections. The peer outside sees an orderly end only if all data has been [copied](Tunnel::copy);
    /// otherwise a reset.
    pub(crate) fn of(inner: UnixStream, outer: TcpStream) -> Self {
        reset(&outer);
        Self { inner, outer }
    }

    /// Relays until the pack has greeted the peer, has heard from it, and has answered, which it does only for packs of
    /// its flare. A peer that has not been answered by the `end` never will be.
    pub(crate) async fn until_answered(&mut self, end: &End) -> io::Result<()> {
        let (mut from_pack, mut to_pack) = self.inner.split();
        let (mut from_outside, mut to_outside) = self.outer.split();
        let (mut said, mut heard) = ([0; WORDS], [0; WORDS]);
        // Data that arrives before the greeting has to wait; otherwise the greeting would look like an answer to it.
        let greeted = end.or(pass(&mut from_pack, &mut said, &mut to_outside));
        greeted
            .await
            .unwrap_or(Err(ErrorKind::UnexpectedEof.into()))?;
        let mut has_heard = false;
        loop {
            tokio::select! {
                read = from_pack.read(&mut said) => {
                    to_outside.write_all(words(&said, read?)?).await?;
                    if has_heard {
                        return Ok(());
                    }
                }
                () = end.told() => {
                    // The answer may have arrived without this process having been notified yet.
                    let read = match has_heard {
                        true => read_now(from_pack.as_ref(), &mut said)?,
                        false => 0,
                    };
                    return to_outside.write_all(words(&said, read)?).await;
                }
                read = from_outside.read(&mut heard) => {
                    // A pack that does not read must not delay the end.
                    let told = end.or(to_pack.write_all(words(&heard, read?)?));
                    told.await.unwrap_or(Err(ErrorKind::UnexpectedEof.into()))?;
                    has_heard = true;
                }
            }
        }
    }

    /// Copies until one side has ended its stream and the other has had time to end as well, or until everything that
    /// the pack wrote before the `end` is copied.
    pub(crate) async fn copy(mut self, end: &End) {
        let patience = (BUFFER, Some(HALF_CLOSED));
        let copied = copy_bidirectional(&mut self.inner, &mut self.outer, patience, end).await;
        if copied.is_ok() {
            keep(&self.outer);
        }
    }
}

async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut [u8],
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let read = from.read(buffer).await?;
    to.write_all(words(buffer, read)?).await
}

/// The bytes that were read; an error at the end of the stream.
fn words(buffer: &[u8], read: usize) -> io::Result<&[u8]> {
    match buffer.get(..read) {
        None | Some([]) => Err(ErrorKind::UnexpectedEof.into()),
        Some(words) => Ok(words),
    }
}
