//! Relays connections from a pack to a server: for each, another is made outside.

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

/// The time within which as many connections may begin as may be open; any more wait. This machine has a limited number
/// of ports for a server, and each is unavailable for a minute after use.
const TURN: Duration = Duration::from_secs(4);

/// Bytes of the buffer of each direction of a connection.
const BUFFER: usize = 32 << 10;

/// Bytes that the kernel is asked to buffer at most for each direction of a connection's two sockets; it takes twice as
/// much. That memory is not counted for the pack, so a slow reader must not make the kernel increase it.
const KEPT: usize = 128 << 10;

/// How long connecting to a server may take, over all of its addresses.
const DIALLED: Duration = Duration::from_secs(5);

/// How long no connection is accepted after this process has run out of descriptors.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// Limits how many connections of a pack may be open, and how many may begin within [`TURN`]: any more are reset, or
/// wait.
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

    /// Takes a permit, if one is free: the connection counts until the permit is dropped.
    pub(crate) fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.open).try_acquire_owned().ok()
    }

    /// Waits until no connection is open.
    pub(crate) async fn all_free(&self) {
        // The semaphore is never closed.
        let _all = self.open.acquire_many(self.count).await;
    }

    /// Waits until another connection may begin.
    pub(crate) async fn turn(&self) {
        if let Ok(turn) = Arc::clone(&self.begun).acquire_owned().await {
            tokio::spawn(async move {
                sleep(TURN).await;
                drop(turn);
            });
        }
    }
}

/// Accepts connections until the `end`, and relays each to the first of its server's addresses that answers; one
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
            // Returned after the sockets are closed.
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
    // Connections still in the backlog are relayed as well. But a client that connects again and again would delay the
    // end, so no more of them are accepted than may be open.
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

/// Relays until both sides have ended their streams, or until everything that the pack wrote before the `end` is
/// copied.
async fn connect(
    mut inner: TcpStream,
    (server, limit): (&[SocketAddr], &ConnectionLimit),
    end: &End,
) {
    // A failure on one side, or a timeout, must not look like an orderly end on the other.
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
        // At the end the rest of the server's data is cut off.
        if !end.is_told() {
            keep(&inner);
        }
    }
}

/// Whether the pack has sent anything.
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

/// Fixes the sizes of the socket's buffers: the kernel no longer adjusts them to the traffic.
pub(crate) fn bound(socket: SockRef<'_>) -> io::Result<()> {
    socket.set_recv_buffer_size(KEPT)?;
    socket.set_send_buffer_size(KEPT)
}

/// Makes small messages leave immediately, and lets the loss of the peer's machine be noticed eventually, as programs
/// would do themselves.
pub(crate) fn prepare(outer: &TcpStream) -> io::Result<()> {
    outer.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(2))
        .with_interval(Duration::from_secs(1))
        .with_retries(3);
    SockRef::from(outer).set_tcp_keepalive(&keepalive)
}

/// Makes the connection end with a reset when it is closed, unless [`keep`] takes that back.
pub(crate) fn reset(stream: &TcpStream) {
    // Otherwise it would look like an orderly end.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Lets the connection end in an orderly way, as all data is written: the kernel delivers what is in flight.
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
    async fn the_kernels_buffers_do_not_grow_for_fast_readers() {
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

    /// A listener for connections made by the test.
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
        // Everything that was sent to the server has arrived.
        server.set_nonblocking(true).unwrap();
        let mut heard = String::new();
        let (mut stream, _) = server.accept().unwrap();
        stream.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "hello");
        // No connection is made for a client that has sent nothing.
        let other = server.accept().map_err(|reason| reason.kind());
        assert_eq!(other.unwrap_err(), ErrorKind::WouldBlock);
        let told = silent.read(&mut [0]).map_err(|reason| reason.kind());
        assert_eq!(told, Err(ErrorKind::ConnectionReset));
    }

    #[tokio::test]
    async fn repeated_connections_do_not_keep_a_relay_from_ending() {
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
        // Less than is sent.
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
