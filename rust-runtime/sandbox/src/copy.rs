//! Copies data between a connection and its counterpart outside: both directions, and how each ends.
//!
//! An end is passed on as an orderly end only if all data before it has been. So both sides are set to
//! [reset](crate::relay::reset) from the beginning, and are changed back once all data has been copied. A pack's Unix
//! socket cannot be reset: there the pack sees an orderly end in any case.

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
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::end::End;

/// How long the last data of a pack may take to be delivered at the end. Its invoker waits for longer
/// (`answer-timeout`).
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// How often the kernel is asked whether the other side has received everything.
const LOOK: Duration = Duration::from_millis(5);

/// The side whose connection is broken.
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

    /// How long nothing may arrive until it is certain that nothing is left to read.
    const SILENCE: Duration;

    fn halves(&mut self) -> (Self::Reading<'_>, Self::Writing<'_>);

    /// Whether this error counts as an orderly end: no data from there is lost.
    fn is_end(reason: &io::Error) -> bool;
}

impl Inner for UnixStream {
    type Reading<'a> = unix::ReadHalf<'a>;
    type Writing<'a> = unix::WriteHalf<'a>;
    /// Whatever was written can be read immediately.
    const SILENCE: Duration = Duration::ZERO;

    fn halves(&mut self) -> (Self::Reading<'_>, Self::Writing<'_>) {
        self.split()
    }

    /// The pack has not read everything it was sent, or never will.
    fn is_end(reason: &io::Error) -> bool {
        matches!(
            reason.kind(),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
        )
    }
}

impl Inner for TcpStream {
    type Reading<'a> = tcp::ReadHalf<'a>;
    type Writing<'a> = tcp::WriteHalf<'a>;
    /// The pack's kernel may hold more than there is room for here, and sends it once that has been read.
    const SILENCE: Duration = Duration::from_millis(20);

    fn halves(&mut self) -> (Self::Reading<'_>, Self::Writing<'_>) {
        self.split()
    }

    /// It had ended its stream before it was reset.
    fn is_end(reason: &io::Error) -> bool {
        reason.kind() == ErrorKind::BrokenPipe
    }
}

/// The sides that are lost, as a write to them has reported. An error is reported only once: to a reader of the same
/// socket it then looks like an end.
#[derive(Debug, Default)]
struct Lost {
    pack: AtomicBool,
    outside: AtomicBool,
}

/// Copies both directions with buffers of this size until both sides have ended their streams, or one has and the other
/// has had `patience` to end as well, if there is such a limit. At the `end` nothing more is copied to the pack, and
/// its stream counts as ended as soon as there is nothing to read: whoever announces the end abandons connections that
/// go on ([`finish`]). Succeeds if everything that the pack has written was copied; else returns the side that is
/// broken.
pub(crate) async fn copy_bidirectional<S: Inner>(
    inner: &mut S,
    outer: &mut TcpStream,
    (size, patience): (usize, Option<Duration>),
    end: &End,
) -> Result<(), Broken> {
    let copied = {
        let (from_pack, to_pack) = inner.halves();
        let (from_outside, to_outside) = outer.split();
        let lost = Lost::default();
        let mut out = pin!(out::<S>(from_pack, to_outside, (size, &lost), end));
        let mut back = pin!(back::<S>(from_outside, to_pack, (size, &lost), end));
        tokio::select! {
            said = &mut out => match said {
                // The pack's stream has ended, whether or not it receives the rest.
                Ok(()) => match within(patience, back).await {
                    Some(Err(Broken::Outside)) => Err(Broken::Outside),
                    Some(Ok(()) | Err(Broken::Pack)) | None => Ok(()),
                },
                Err(Broken::Outside) => {
                    // What has arrived from outside is still for the pack, except for the end.
                    let _ = timeout(LINGER, back).await;
                    Err(Broken::Outside)
                }
                Err(Broken::Pack) => Err(Broken::Pack),
            },
            heard = &mut back => match heard {
                Ok(()) => within(patience, out).await.unwrap_or(Err(Broken::Outside)),
                // What the pack has written is still for the other side, but it writes no more.
                Err(Broken::Pack) => {
                    let patience = patience.or(Some(LINGER));
                    within(patience, out).await.unwrap_or(Err(Broken::Outside))
                }
                Err(Broken::Outside) => Err(Broken::Outside),
            },
        }
    };
    if !matches!(copied, Err(Broken::Outside)) {
        // A reset would discard data in flight. Otherwise the kernel delivers it by itself, but not beyond the end
        // (`finish`).
        let patience = (!end.is_told()).then_some(LINGER);
        let has_all = within(patience, delivered(outer)).await.is_some();
        if !has_all && end.is_told() {
            return Err(Broken::Outside);
        }
    }
    copied
}

/// Returns when these have copied their pack's last data, or abandons them if that takes too long: nobody reads it, or
/// the pack keeps writing.
pub(crate) async fn finish(connections: JoinSet<()>) {
    finish_by(Instant::now() + LINGER, connections).await;
}

pub(crate) async fn finish_by(deadline: Instant, mut connections: JoinSet<()>) {
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout_at(deadline, all).await;
    connections.shutdown().await;
}

async fn within<F: Future>(patience: Option<Duration>, future: F) -> Option<F::Output> {
    match patience {
        Some(patience) => timeout(patience, future).await.ok(),
        None => Some(future.await),
    }
}

/// Copies from the pack until its stream ends, or until it has nothing to read after the `end`.
async fn out<S: Inner>(
    mut from: S::Reading<'_>,
    mut to: impl AsyncWrite + Unpin,
    (size, lost): (usize, &Lost),
    end: &End,
) -> Result<(), Broken> {
    let mut buffer = vec![0; size];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            () = end.told() => drain::<S>(&mut from, &mut buffer, end).await,
        };
        let read = match read {
            Err(reason) if S::is_end(&reason) => 0,
            read => read.map_err(|_| Broken::Pack)?,
        };
        let written = match buffer.get(..read) {
            None | Some([]) if lost.pack.load(Ordering::Relaxed) => return Err(Broken::Pack),
            None | Some([]) => return to.shutdown().await.map_err(|_| Broken::Outside),
            Some(said) => to.write_all(said).await,
        };
        if let Err(reason) = written {
            let is_lost = !TcpStream::is_end(&reason);
            lost.outside.store(is_lost, Ordering::Relaxed);
            return Err(Broken::Outside);
        }
    }
}

/// Reads what is there, or arrives immediately. If the pack has ended, so will its streams, and that is waited for.
async fn drain<S: Inner>(
    from: &mut S::Reading<'_>,
    buffer: &mut [u8],
    end: &End,
) -> io::Result<usize> {
    // With TCP, the pack's kernel may hold back small segments until the previous ones are acknowledged.
    let _ = SockRef::from(from.as_ref()).set_tcp_quickack(true);
    let patience = (!end.is_of_pack()).then_some(S::SILENCE);
    match within(patience, from.read(buffer)).await {
        Some(read) => read,
        // The kernel may have more than this process has been notified of.
        None => read_now(from.as_ref(), buffer),
    }
}

/// Reads without blocking. Returns 0 if nothing has arrived yet, and at the end of the stream.
pub(crate) fn read_now(from: &impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut *buffer)) {
        Err(Errno::WOULDBLOCK) => Ok(0),
        read => Ok(read?),
    }
}

/// Copies to the pack until the stream from outside ends, or until the `end`.
async fn back<S: Inner>(
    mut from: impl AsyncRead + Unpin,
    mut to: S::Writing<'_>,
    (size, lost): (usize, &Lost),
    end: &End,
) -> Result<(), Broken> {
    let all = async {
        let mut buffer = vec![0; size];
        loop {
            let read = from.read(&mut buffer).await;
            let written = match buffer.get(..read.map_err(|_| Broken::Outside)?) {
                None | Some([]) if lost.outside.load(Ordering::Relaxed) => {
                    return Err(Broken::Outside);
                }
                None | Some([]) => return to.shutdown().await.map_err(|_| Broken::Pack),
                Some(said) => to.write_all(said).await,
            };
            if let Err(reason) = written {
                lost.pack.store(!S::is_end(&reason), Ordering::Relaxed);
                return Err(Broken::Pack);
            }
        }
    };
    end.or(all).await.unwrap_or(Ok(()))
}

/// Returns when the other side has acknowledged all that was written to it, or has broken off. What it sends meanwhile
/// is discarded; left unread, it would make the kernel drop the data in flight.
async fn delivered(stream: &mut TcpStream) {
    let mut unheard = [0; 4096];
    let mut has_ended = false;
    while on_its_way(stream) > 0 && matches!(stream.take_error(), Ok(None)) {
        tokio::select! {
            read = stream.read(&mut unheard), if !has_ended => match read {
                Ok(read) => has_ended = read == 0,
                Err(_) => return,
            },
            () = sleep(LOOK) => {}
        }
    }
}

/// Bytes that the other side has not acknowledged.
fn on_its_way(stream: &TcpStream) -> libc::c_int {
    let mut bytes = 0;
    // SAFETY: writes an integer to a valid place.
    match unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) } {
        0 => bytes,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::relay::{keep, reset};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;
    use tokio_util::sync::CancellationToken;

    /// Of two tasks that are ready, which runs first is chance.
    const ATTEMPTS: usize = 16;

    /// A connection from a pack to a server, of which nothing has been copied yet.
    struct Connection {
        pack: TcpStream,
        inner: TcpStream,
        outer: TcpStream,
        server: TcpStream,
        ended: CancellationToken,
        end: End,
    }

    /// What one side receives, and how that ends.
    type Received = (String, Result<(), ErrorKind>);

    impl Connection {
        async fn new() -> Self {
            let ((pack, inner), (outer, server)) = (pair().await, pair().await);
            let ended = CancellationToken::new();
            Self {
                pack,
                inner,
                outer,
                server,
                end: End::with(&ended),
                ended,
            }
        }

        /// Starts copying; returns the pack, the server, and the task between them.
        fn begin(self) -> (TcpStream, TcpStream, JoinHandle<()>) {
            let Self {
                mut inner,
                mut outer,
                end,
                ..
            } = self;
            let copying = tokio::spawn(async move {
                reset(&inner);
                reset(&outer);
                let copied =
                    copy_bidirectional(&mut inner, &mut outer, (1 << 10, None), &end).await;
                if copied.is_ok() {
                    keep(&inner);
                    keep(&outer);
                }
            });
            (self.pack, self.server, copying)
        }
    }

    /// Makes a connection; returns both ends.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connected = TcpStream::connect(listener.local_addr().unwrap()).await;
        (connected.unwrap(), listener.accept().await.unwrap().0)
    }

    /// Writes until the kernel takes no more.
    async fn fill(stream: &TcpStream) {
        stream.writable().await.unwrap();
        while stream.try_write(&[0; 64 << 10]).is_ok() {}
    }

    async fn say(stream: &mut TcpStream, word: &str) {
        stream.write_all(word.as_bytes()).await.unwrap();
    }

    async fn hear(stream: &mut TcpStream, word: &str) {
        let mut heard = vec![0; word.len()];
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(heard, word.as_bytes());
    }

    async fn hear_all(mut stream: TcpStream) -> Received {
        let mut heard = Vec::new();
        let end = stream.read_to_end(&mut heard).await;
        let heard = String::from_utf8(heard).unwrap();
        (heard, end.map(|_| ()).map_err(|reason| reason.kind()))
    }

    /// Returns what a server receives from a program that dies with its answer unread, either within its request or
    /// after that.
    async fn received_from_a_dying_program(has_ended: bool) -> Received {
        let mut connection = Connection::new().await;
        // Nothing more can be written to it.
        fill(&connection.inner).await;
        say(&mut connection.server, "answer").await;
        say(&mut connection.pack, "request").await;
        let (mut pack, mut server, copying) = connection.begin();
        hear(&mut server, "request").await;
        say(&mut pack, " and more").await;
        if has_ended {
            pack.shutdown().await.unwrap();
        }
        drop(pack);
        let heard = hear_all(server).await;
        copying.await.unwrap();
        heard
    }

    #[tokio::test]
    async fn a_program_that_dies_with_its_answer_unread_causes_a_reset() {
        for _ in 0..ATTEMPTS {
            let reset = Err(ErrorKind::ConnectionReset);
            let heard = received_from_a_dying_program(false).await;
            assert_eq!(heard, (" and more".to_owned(), reset));
        }
    }

    #[tokio::test]
    async fn a_program_that_has_ended_its_request_may_die_with_the_answer_unread() {
        for _ in 0..ATTEMPTS {
            let heard = received_from_a_dying_program(true).await;
            assert_eq!(heard, (" and more".to_owned(), Ok(())));
        }
    }

    #[tokio::test]
    async fn a_server_that_breaks_off_is_read_before_the_reset() {
        for _ in 0..ATTEMPTS {
            let mut connection = Connection::new().await;
            fill(&connection.outer).await;
            say(&mut connection.pack, "request").await;
            say(&mut connection.server, "answer").await;
            let (mut pack, mut server, copying) = connection.begin();
            hear(&mut pack, "answer").await;
            say(&mut server, " and some").await;
            drop(server);
            let reset = Err(ErrorKind::ConnectionReset);
            assert_eq!(hear_all(pack).await, (" and some".to_owned(), reset));
            copying.await.unwrap();
        }
    }

    #[tokio::test]
    async fn data_in_the_packs_kernel_is_delivered_at_the_end() {
        let mut heard = Vec::new();
        // Now and then a machine is so slow that nothing seems to be left.
        for _ in 0..ATTEMPTS {
            let mut connection = Connection::new().await;
            connection.end.tell();
            say(&mut connection.pack, "some").await;
            let (mut pack, mut server, copying) = connection.begin();
            hear(&mut server, "some").await;
            say(&mut pack, " and all").await;
            heard.push(hear_all(server).await);
            copying.await.unwrap();
        }
        assert!(
            heard.contains(&(" and all".to_owned(), Ok(()))),
            "{heard:?}"
        );
    }

    #[tokio::test]
    async fn all_data_of_a_pack_that_has_ended_is_delivered() {
        let (mut heard, all) = (Vec::new(), [(" and all".to_owned(), Ok(()))]);
        // Now and then a machine is so slow that the time runs out.
        for _ in 0..ATTEMPTS {
            let mut connection = Connection::new().await;
            connection.ended.cancel();
            say(&mut connection.pack, "some").await;
            let (mut pack, mut server, copying) = connection.begin();
            hear(&mut server, "some").await;
            // Longer than a pack that has not ended is waited for.
            sleep(2 * TcpStream::SILENCE).await;
            say(&mut pack, " and all").await;
            drop(pack);
            heard.push(hear_all(server).await);
            copying.await.unwrap();
            if heard.ends_with(&all) {
                break;
            }
        }
        assert!(heard.ends_with(&all), "{heard:?}");
    }
}
