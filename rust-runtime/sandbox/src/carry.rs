//! What is said on a connection that is made once more outside: both directions, and how each ends.
//!
//! An end goes on as an end only where all before it has. So both sides are [reset](crate::relay::reset) from the
//! beginning, and whoever has carried all takes that back.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream, tcp, unix};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// What a pack has said may take so long at the end. Its invoker waits for longer (`answer-timeout`).
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);

/// How often the kernel is asked whether the other side has it.
const LOOK: Duration = Duration::from_millis(5);

/// Which side's connection does not work any more.
#[derive(Debug)]
pub(crate) enum Broken {
    Pack,
    Outside,
}

/// The pack's side of a connection.
pub(crate) trait Inner: AsFd {
    type Reading<'a>: AsyncRead + AsRef<Self> + Unpin
    where
        Self: 'a;
    type Writing<'a>: AsyncWrite + Unpin
    where
        Self: 'a;

    fn halves(&mut self) -> (Self::Reading<'_>, Self::Writing<'_>);

    /// Whether that is an end like any other: nothing of what the pack has said is lost.
    fn is_end(reason: &io::Error) -> bool;
}

impl Inner for UnixStream {
    type Reading<'a> = unix::ReadHalf<'a>;
    type Writing<'a> = unix::WriteHalf<'a>;

    fn halves(&mut self) -> (Self::Reading<'_>, Self::Writing<'_>) {
        self.split()
    }

    /// It has not read all that it was told.
    fn is_end(reason: &io::Error) -> bool {
        reason.kind() == ErrorKind::ConnectionReset
    }
}

impl Inner for TcpStream {
    type Reading<'a> = tcp::ReadHalf<'a>;
    type Writing<'a> = tcp::WriteHalf<'a>;

    fn halves(&mut self) -> (Self::Reading<'_>, Self::Writing<'_>) {
        self.split()
    }

    fn is_end(_: &io::Error) -> bool {
        false
    }
}

/// Carries what both sides say, by buffers of this size, until both have said all, or one has and the other has had so
/// long to end as well, if it is not to wait for ever. At the `end` what the pack has written by then is all that it
/// says, and it hears no more. Whether all that the pack has said was carried.
pub(crate) async fn carry<S: Inner>(
    inner: &mut S,
    outer: &mut TcpStream,
    (size, patience): (usize, Option<Duration>),
    end: &CancellationToken,
) -> Result<(), Broken> {
    {
        let (from_pack, to_pack) = inner.halves();
        let (from_outside, to_outside) = outer.split();
        let mut out = pin!(out::<S>(from_pack, to_outside, size, end));
        let broken = AtomicBool::new(false);
        let mut back = pin!(back(from_outside, to_pack, (size, &broken), end));
        tokio::select! {
            said = &mut out => match said {
                // The pack has said all, whether or not it hears the other.
                Ok(()) => match within(patience, back).await {
                    Some(Err(Broken::Outside)) => return Err(Broken::Outside),
                    Some(Ok(()) | Err(Broken::Pack)) | None => {}
                },
                Err(Broken::Outside) => {
                    // What has come from there is for the pack all the same, but for the end.
                    broken.store(true, Ordering::Relaxed);
                    let _ = timeout(LAST_WORDS, back).await;
                    return Err(Broken::Outside);
                }
                Err(Broken::Pack) => return Err(Broken::Pack),
            },
            heard = &mut back => match heard {
                Ok(()) | Err(Broken::Pack) => {
                    within(patience, out).await.unwrap_or(Err(Broken::Outside))?;
                }
                Err(broken) => return Err(broken),
            },
        }
    }
    // Else the kernel goes on by itself.
    let _ = timeout(LAST_WORDS, delivered(outer)).await;
    Ok(())
}

/// Returns when these have carried what their pack said last, or are gone where nobody takes it in time.
pub(crate) async fn finish(mut connections: JoinSet<()>) {
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(LAST_WORDS, all).await;
    connections.shutdown().await;
}

async fn within<F: Future>(patience: Option<Duration>, future: F) -> Option<F::Output> {
    match patience {
        Some(patience) => timeout(patience, future).await.ok(),
        None => Some(future.await),
    }
}

/// What the pack says until it has said all, or what it has said at the `end`.
async fn out<S: Inner>(
    mut from: S::Reading<'_>,
    mut to: impl AsyncWrite + Unpin,
    size: usize,
    end: &CancellationToken,
) -> Result<(), Broken> {
    let mut buffer = vec![0; size];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            () = end.cancelled() => what_is_there::<S>(from.as_ref(), &mut buffer),
        };
        let read = match read {
            Err(reason) if S::is_end(&reason) => 0,
            read => read.map_err(|_| Broken::Pack)?,
        };
        let written = match buffer.get(..read) {
            None | Some([]) => return to.shutdown().await.map_err(|_| Broken::Outside),
            Some(said) => to.write_all(said).await,
        };
        written.map_err(|_| Broken::Outside)?;
    }
}

/// Asks the kernel, which may know of more than this process has been told yet.
fn what_is_there<S: Inner>(from: &S, buffer: &mut [u8]) -> io::Result<usize> {
    if let read @ (Ok(1..) | Err(_)) = read_now(from, buffer) {
        return read;
    }
    // By TCP the pack's kernel may hold back what is little until it hears that what was before has come.
    let _ = SockRef::from(from).set_tcp_quickack(true);
    read_now(from, buffer)
}

/// 0 for nothing yet, as for nothing more.
pub(crate) fn read_now(from: &impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut *buffer)) {
        Err(Errno::WOULDBLOCK) => Ok(0),
        read => Ok(read?),
    }
}

/// What the pack is told until that is all, or until the `end`. That of a connection that is known to be `broken` is none.
async fn back(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    (size, broken): (usize, &AtomicBool),
    end: &CancellationToken,
) -> Result<(), Broken> {
    let all = async {
        let mut buffer = vec![0; size];
        loop {
            let read = from.read(&mut buffer).await;
            let written = match buffer.get(..read.map_err(|_| Broken::Outside)?) {
                None | Some([]) if broken.load(Ordering::Relaxed) => return Err(Broken::Outside),
                None | Some([]) => return to.shutdown().await.map_err(|_| Broken::Pack),
                Some(said) => to.write_all(said).await,
            };
            written.map_err(|_| Broken::Pack)?;
        }
    };
    end.run_until_cancelled(all).await.unwrap_or(Ok(()))
}

/// Returns when the other side has all that was written to it, or says no more. What it says meanwhile nobody hears; left
/// unread, it would make the kernel drop what is on its way there.
async fn delivered(stream: &mut TcpStream) {
    let mut unheard = [0; 4096];
    while on_its_way(stream) > 0 {
        tokio::select! {
            read = stream.read(&mut unheard) => if !matches!(read, Ok(1..)) {
                return;
            },
            () = sleep(LOOK) => {}
        }
    }
}

/// Bytes that the other side has not acknowledged.
fn on_its_way(stream: &TcpStream) -> libc::c_int {
    let mut bytes = 0;
    // SAFETY: it writes a number there.
    match unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) } {
        0 => bytes,
        _ => 0,
    }
}
