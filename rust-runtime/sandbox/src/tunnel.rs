//! A connection between packs of two machines: this one's by its Unix socket, the other's by the machine's network.

use std::io;
use std::pin::pin;
use std::time::Duration;

use rustix::io::Errno;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, copy_buf};
use tokio::net::unix::ReadHalf;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::relay::reset;

/// Of each direction.
const BUFFER: usize = 64 << 10;

/// Of what is said before both know each other.
const WORDS: usize = 1024;

/// How long one side may go on after the other has said all, and what a pack has said may take at the end.
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

    /// Until one side has said all, and the other has had time to end as well. At the `end` nothing more is waited for
    /// from the pack: what it has written by then is all that it says.
    pub(crate) async fn carry(mut self, end: &CancellationToken) {
        // Also where it is given up, or this process is killed.
        reset(&self.outer);
        let carried = {
            let (from_pack, to_pack) = self.inner.split();
            let (from_outside, to_outside) = self.outer.split();
            let mut out = pin!(out(from_pack, to_outside, end));
            let mut back = pin!(back(from_outside, to_pack));
            tokio::select! {
                said = &mut out => match said {
                    // Whether or not it ends: the pack has said all.
                    Ok(()) => timeout(LAST_WORDS, other(back, end)).await.unwrap_or(Ok(())),
                    broken => broken,
                },
                said = &mut back => match said {
                    Ok(()) => timeout(LAST_WORDS, out).await.unwrap_or_else(|late| Err(late.into())),
                    broken => broken,
                },
            }
        };
        if carried.is_ok() {
            let _ = SockRef::from(&self.outer).set_linger(None);
        }
    }
}

/// Returns when these have carried what their pack said last, or have been reset where nobody takes it in time.
pub(crate) async fn finish(mut tunnels: JoinSet<()>) {
    let all = async { while tunnels.join_next().await.is_some() {} };
    let _ = timeout(LAST_WORDS, all).await;
    tunnels.shutdown().await;
}

/// What the pack says until it has said all, or what it has said at the `end`.
async fn out(
    mut from: ReadHalf<'_>,
    mut to: impl AsyncWrite + Unpin,
    end: &CancellationToken,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read?,
            () = end.cancelled() => what_is_there(from.as_ref(), &mut buffer)?,
        };
        match buffer.get(..read) {
            None | Some([]) => return to.shutdown().await,
            Some(said) => to.write_all(said).await?,
        }
    }
}

/// Asks the kernel, which may know of more than this process has been told yet.
fn what_is_there(from: &UnixStream, buffer: &mut [u8]) -> io::Result<usize> {
    match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut *buffer)) {
        Err(Errno::WOULDBLOCK) => Ok(0),
        read => Ok(read?),
    }
}

async fn back(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut from = BufReader::with_capacity(BUFFER, from);
    copy_buf(&mut from, &mut to).await?;
    to.shutdown().await
}

/// The other direction, of which nobody hears any more once it is the `end`.
async fn other(
    back: impl Future<Output = io::Result<()>>,
    end: &CancellationToken,
) -> io::Result<()> {
    tokio::select! {
        said = back => said,
        () = end.cancelled() => Ok(()),
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

/// What was read, unless that is the end.
fn words(buffer: &[u8], read: usize) -> io::Result<&[u8]> {
    match buffer.get(..read) {
        None | Some([]) => Err(io::ErrorKind::UnexpectedEof.into()),
        Some(words) => Ok(words),
    }
}
