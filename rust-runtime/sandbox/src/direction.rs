//! One direction of a connection that is made once more outside.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, copy_buf};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long one side may go on after the other has said all, and what a pack has said may take at the end.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the pack says until it has said all, or what it has said at the `end`: so much of it at a time.
pub(crate) async fn out<S: AsFd>(
    mut from: impl AsyncRead + AsRef<S> + Unpin,
    mut to: impl AsyncWrite + Unpin,
    size: usize,
    end: &CancellationToken,
) -> io::Result<()> {
    let mut buffer = vec![0; size];
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
fn what_is_there(from: &impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut *buffer)) {
        Err(Errno::WOULDBLOCK) => Ok(0),
        read => Ok(read?),
    }
}

/// What the pack is told until that is all, or it is the `end`, when nobody hears it any more.
pub(crate) async fn back(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    size: usize,
    end: &CancellationToken,
) -> io::Result<()> {
    let mut from = BufReader::with_capacity(size, from);
    let all = async {
        copy_buf(&mut from, &mut to).await?;
        to.shutdown().await
    };
    end.run_until_cancelled(all).await.unwrap_or(Ok(()))
}

/// Returns when these have carried what their pack said last, or are gone where nobody takes it in time.
pub(crate) async fn finish(mut connections: JoinSet<()>) {
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(LAST_WORDS, all).await;
    connections.shutdown().await;
}
