//! A connection between packs of two machines: this one's by its Unix socket, the other's by the machine's network.

use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, copy_buf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::relay::reset;

/// Of each direction.
const BUFFER: usize = 64 << 10;

/// Of what is said before both know each other.
const WORDS: usize = 1024;

/// How long one side may go on after the other has said all.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Tunnel {
    pub(crate) inner: UnixStream,
    pub(crate) outer: TcpStream,
}

impl Tunnel {
    /// Until the pack has greeted who came, has heard of him, and has answered: it does so to those of its flare alone.
    pub(crate) async fn until_answered(&mut self) -> io::Result<()> {
        let (mut from_pack, mut to_pack) = self.inner.split();
        let (mut from_outside, mut to_outside) = self.outer.split();
        let (mut said, mut heard) = ([0; WORDS], [0; WORDS]);
        // What comes before the greeting has to wait, or else that would look like an answer.
        pass(&mut from_pack, &mut said, &mut to_outside).await?;
        let mut has_heard = false;
        loop {
            tokio::select! {
                read = from_pack.read(&mut said) => {
                    to_outside.write_all(words(&said, read?)?).await?;
                    if has_heard {
                        return Ok(());
                    }
                }
                read = from_outside.read(&mut heard) => {
                    to_pack.write_all(words(&heard, read?)?).await?;
                    has_heard = true;
                }
            }
        }
    }

    /// Until one side has said all, and the other has had time to end as well.
    pub(crate) async fn carry(mut self) {
        let ended = {
            let (from_pack, to_pack) = self.inner.split();
            let (from_outside, to_outside) = self.outer.split();
            let mut out = pin!(all(from_pack, to_outside));
            let mut back = pin!(all(from_outside, to_pack));
            tokio::select! {
                first = &mut out => after(first, back).await,
                first = &mut back => after(first, out).await,
            }
        };
        if ended.is_err() {
            reset(&self.outer);
        }
    }
}

async fn all(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut from = BufReader::with_capacity(BUFFER, from);
    copy_buf(&mut from, &mut to).await?;
    to.shutdown().await
}

/// The other direction, which has a moment left.
async fn after(
    first: io::Result<()>,
    other: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    first?;
    timeout(LAST_WORDS, other).await.unwrap_or(Ok(()))
}

async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut [u8],
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let read = from.read(buffer).await?;
    to.write_all(words(buffer, read)?).await
}

/// What was read, unless that is the end.
fn words(buffer: &[u8], read: usize) -> io::Result<&[u8]> {
    match buffer.get(..read) {
        None | Some([]) => Err(io::ErrorKind::UnexpectedEof.into()),
        Some(words) => Ok(words),
    }
}
