//! A connection between packs of two machines: this one's by its Unix socket, the other's by the machine's network.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::copy::{copy_bidirectional, read_now};
use crate::end::End;
use crate::relay::{keep, reset};

/// Of each direction.
const BUFFER: usize = 64 << 10;

/// Of what is said before both know each other.
const WORDS: usize = 1024;

/// How long one side may go on after the other has said all.
const HALF_CLOSED: Duration = Duration::from_secs(2);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Tunnel {
    inner: UnixStream,
    outer: TcpStream,
}

impl Tunnel {
    /// Who is outside is told of an end only where all has been [copied](Tunnel::copy).
    pub(crate) fn of(inner: UnixStream, outer: TcpStream) -> Self {
        reset(&outer);
        Self { inner, outer }
    }

    /// Until the pack has greeted who came, has heard of him, and has answered: it does so to those of its flare alone.
    /// Who has not been answered by the `end` will not be.
    pub(crate) async fn until_answered(&mut self, end: &End) -> io::Result<()> {
        let (mut from_pack, mut to_pack) = self.inner.split();
        let (mut from_outside, mut to_outside) = self.outer.split();
        let (mut said, mut heard) = ([0; WORDS], [0; WORDS]);
        // What comes before the greeting has to wait, or else that would look like an answer.
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
                    // The answer may be there, though this process has not been told yet.
                    let read = match has_heard {
                        true => read_now(from_pack.as_ref(), &mut said)?,
                        false => 0,
                    };
                    return to_outside.write_all(words(&said, read)?).await;
                }
                read = from_outside.read(&mut heard) => {
                    // A pack that does not read keeps nobody waiting at the end.
                    let told = end.or(to_pack.write_all(words(&heard, read?)?));
                    told.await.unwrap_or(Err(ErrorKind::UnexpectedEof.into()))?;
                    has_heard = true;
                }
            }
        }
    }

    /// Until one side has said all, and the other has had time to end as well, or until what the pack has said by the
    /// `end` is copied.
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

/// What was read, unless that is the end.
fn words(buffer: &[u8], read: usize) -> io::Result<&[u8]> {
    match buffer.get(..read) {
        None | Some([]) => Err(ErrorKind::UnexpectedEof.into()),
        Some(words) => Ok(words),
    }
}
