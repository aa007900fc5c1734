//! Connections of a pack's to a server, each made once more outside.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::copy::{copy_bidirectional, finish};
use crate::end::End;

/// As many connections as may be open may begin within this time, and any more wait: this machine has a limited number
/// of ports for a server, and each is lost for a minute.
const TURN: Duration = Duration::from_secs(4);

/// Of each direction of a connection.
const BUFFER: usize = 32 << 10;

/// What the kernel is asked to keep at most of each direction of each of a connection's two sockets, for which it takes
/// twice as much: this is no pack's memory, so that one that does not read must not have the kernel make it larger.
const KEPT: usize = 128 << 10;

/// How long it may take to connect to a server, by all of its addresses.
const DIALLED: Duration = Duration::from_secs(5);

/// How long nobody is taken in while this process has no descriptors left.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// How many connections of a pack may be open, and may begin within [`TURN`]; any more are reset, or wait.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimit {
    count: u32,
    open: Arc<Semaphore>,
    begun: Arc<Semaphore>,
}

impl ConnectionLimit {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            count,
            open: Arc::new(Semaphore::new(count as usize)),
            begun: Arc::new(Semaphore::new(count as usize)),
        }
    }

    /// Takes a permit, if one is free: the connection counts until that is dropped.
    pub(crate) fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.open).try_acquire_owned().ok()
    }

    /// Waits until no connection is open.
    pub(crate) async fn all_free(&self) {
        // Never closed.
        let _all = self.open.acquire_many(self.count).await;
    }

    /// Waits until another one may begin.
    pub(crate) async fn turn(&self) {
        if let Ok(turn) = Arc::clone(&self.begun).acquire_owned().await {
            tokio::spawn(async move {
                sleep(TURN).await;
                drop(turn);
            });
        }
    }
}

/// Accepts connections until the `end`, and passes each on to the first of its server's addresses that answers; one
/// without a server is reset.
pub(crate) async fn pass_on(
    listener: TcpListener,
    server: impl Fn(&TcpStream) -> Option<Arc<[SocketAddr]>>,
    limit: ConnectionLimit,
    end: End,
) {
    let mut connections = JoinSet::new();
    let take_in = |inner: TcpStream, connections: &mut JoinSet<()>| {
        let (Some(permit), Some(server)) = (limit.take(), server(&inner)) else {
            return reset(&inner);
        };
        let (limit, end) = (limit.clone(), end.clone());
        connections.spawn(async move {
            // Given back when the sockets are closed.
            let _permit = permit;
            connect(inner, (&server, &limit), &end).await;
        });
    };
    loop {
        tokio::select! {
            () = end.told() => break,
            accepted = listener.accept() => match accepted {
                Ok((inner, _)) => take_in(inner, &mut connections),
                Err(_) => sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    // Connections still in the backlog count as well. But a client that connects again and again would keep it from
    // ending, so there are no more of them than may be open.
    for _ in 0..limit.count {
        let Ok((inner, _)) = SockRef::from(&listener).accept() else {
            break;
        };
        let inner = inner.set_nonblocking(true).map(|()| inner.into());
        if let Ok(inner) = inner.and_then(TcpStream::from_std) {
            take_in(inner, &mut connections);
        }
    }
    drop(listener);
    finish(connections).await;
}

/// Until both sides have said all, or until what the pack has said by the `end` is copied.
async fn connect(
    mut inner: TcpStream,
    (server, limit): (&[SocketAddr], &ConnectionLimit),
    end: &End,
) {
    // What fails on one side, or is given up, is no end on the other.
    reset(&inner);
    if bound(SockRef::from(&inner)).is_err() {
        return;
    }
    let mut dialled = pin!(async {
        limit.turn().await;
        dial(server).await
    });
    let dialled = tokio::select! {
        biased;
        () = end.told() => match has_spoken(&inner) {
            true => dialled.await,
            false => return,
        },
        dialled = &mut dialled => dialled,
    };
    let Ok(mut outer) = dialled else {
        return;
    };
    reset(&outer);
    if inner
        .set_nodelay(true)
        .and_then(|()| prepare(&outer))
        .is_err()
    {
        return;
    }
    if copy_bidirectional(&mut inner, &mut outer, (BUFFER, None), end)
        .await
        .is_ok()
    {
        keep(&outer);
        // At the end what the server would have said is cut.
        if !end.is_told() {
            keep(&inner);
        }
    }
}

/// Whether there is anything to pass on.
fn has_spoken(inner: &TcpStream) -> bool {
    let mut word = [MaybeUninit::uninit()];
    SockRef::from(inner).peek(&mut word).is_ok_and(|it| it > 0)
}

pub(crate) async fn dial(server: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut refused = io::ErrorKind::NotFound.into();
    for address in server {
        let share = DIALLED / server.len() as u32;
        match timeout(share, dial_one(*address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(reason)) => refused = reason,
            Err(late) => refused = late.into(),
        }
    }
    Err(refused)
}

async fn dial_one(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    bound(SockRef::from(&socket))?;
    socket.connect(address).await
}

/// For good, whatever passes.
pub(crate) fn bound(socket: SockRef<'_>) -> io::Result<()> {
    socket.set_recv_buffer_size(KEPT)?;
    socket.set_send_buffer_size(KEPT)
}

/// Small messages leave at once, and who is gone with its machine is noticed in the end, as programs would by themselves.
pub(crate) fn prepare(outer: &TcpStream) -> io::Result<()> {
    outer.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(2))
        .with_interval(Duration::from_secs(1))
        .with_retries(3);
    SockRef::from(outer).set_tcp_keepalive(&keepalive)
}

/// Once it is closed, unless it is [kept](keep).
pub(crate) fn reset(stream: &TcpStream) {
    // Else it ends as if all had been said.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// All has been said: the kernel sees to what is on its way.
pub(crate) fn keep(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(None);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_util::sync::CancellationToken;

    #[tokio::test]
    async fn the_kernel_keeps_no_more_however_fast_one_reads() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let sent = 64 << 20;
        let writing = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            stream.write_all(&vec![1; sent]).unwrap();
        });
        let mut outer = dial(&[address]).await.unwrap();
        prepare(&outer).unwrap();
        let mut read = vec![0; BUFFER];
        while outer.read(&mut read).await.unwrap() > 0 {}
        writing.join().unwrap();
        let socket = SockRef::from(&outer);
        assert!(socket.recv_buffer_size().unwrap() <= 2 * KEPT);
        assert!(socket.send_buffer_size().unwrap() <= 2 * KEPT);
    }

    /// Of connections that are made from here.
    fn listener() -> (TcpListener, SocketAddr) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        (TcpListener::from_std(listener).unwrap(), address)
    }

    fn ended() -> End {
        let end = End::with(&CancellationToken::new());
        end.tell();
        end
    }

    #[tokio::test]
    async fn a_connection_with_data_by_the_end_is_passed_on() {
        let (listener, address) = listener();
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let servers = Arc::from([server.local_addr().unwrap()]);
        let connect = || std::net::TcpStream::connect(address).unwrap();
        let (mut speaks, mut silent) = (connect(), connect());
        speaks.write_all(b"hello").unwrap();
        speaks.shutdown(std::net::Shutdown::Write).unwrap();
        let find = move |_: &TcpStream| Some(Arc::clone(&servers));
        pass_on(listener, find, ConnectionLimit::new(2), ended()).await;
        // All that it has been told is there.
        server.set_nonblocking(true).unwrap();
        let mut heard = String::new();
        let (mut stream, _) = server.accept().unwrap();
        stream.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "hello");
        // Nobody is connected for who has said nothing.
        let other = server.accept().map_err(|reason| reason.kind());
        assert_eq!(other.unwrap_err(), ErrorKind::WouldBlock);
        let told = silent.read(&mut [0]).map_err(|reason| reason.kind());
        assert_eq!(told, Err(ErrorKind::ConnectionReset));
    }

    #[tokio::test]
    async fn repeated_connections_do_not_keep_it_from_ending() {
        let (listener, address) = listener();
        let come = move || drop(std::net::TcpStream::connect(address).unwrap());
        come();
        let came = AtomicUsize::new(0);
        let server = |_: &TcpStream| {
            assert!(came.fetch_add(1, Ordering::Relaxed) < 100);
            come();
            None
        };
        pass_on(listener, server, ConnectionLimit::new(4), ended()).await;
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_gets_a_reset_and_no_end() {
        let server = TcpSocket::new_v4().unwrap();
        // Less than what is said.
        server.set_recv_buffer_size(4 << 10).unwrap();
        server.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let server = server.listen(1).unwrap();
        let servers = Arc::from([server.local_addr().unwrap()]);
        let (listener, address) = listener();
        let mut client = std::net::TcpStream::connect(address).unwrap();
        let find = move |_: &TcpStream| Some(Arc::clone(&servers));
        let end = End::with(&CancellationToken::new());
        let passing = tokio::spawn(pass_on(
            listener,
            find,
            ConnectionLimit::new(1),
            end.clone(),
        ));
        let (mut stream, _) = server.accept().await.unwrap();
        stream.shutdown().await.unwrap();
        client.write_all(&[1; KEPT / 2]).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        end.tell();
        passing.await.unwrap();
        let heard = stream.read_to_end(&mut Vec::new()).await;
        assert_eq!(heard.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}
