//! Connections of a pack's to a server, each made once more outside.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Connections of a pack at a time. Any more are reset.
pub(crate) const CONNECTIONS: usize = 256;

/// Of each direction of a connection.
const BUFFER: usize = 32 << 10;

/// How long it may take to connect to a server, by all of its addresses.
const DIALLED: Duration = Duration::from_secs(5);

/// How long nobody is taken in while this process has no descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// Takes in connections, for as long as it is polled, and passes each on to the first of the server's addresses that
/// answers.
pub(crate) async fn pass_on(
    listener: TcpListener,
    server: Arc<[SocketAddr]>,
    free: Arc<Semaphore>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match (accepted, Arc::clone(&free).try_acquire_owned()) {
                (Ok((inner, _)), Ok(place)) => {
                    let server = Arc::clone(&server);
                    connections.spawn(async move {
                        // Given back when the sockets are closed.
                        let _place = place;
                        connect(inner, &server).await;
                    });
                }
                (Ok((inner, _)), Err(_)) => reset(&inner),
                (Err(_), _) => sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Until both sides have said all.
async fn connect(mut inner: TcpStream, server: &[SocketAddr]) {
    let outer = timeout(DIALLED, dial(server)).await;
    let Ok(Ok(mut outer)) = outer else {
        return reset(&inner);
    };
    // What fails on one side is no end on the other.
    if prepare(&inner, &outer).is_err()
        || copy_bidirectional_with_sizes(&mut inner, &mut outer, BUFFER, BUFFER)
            .await
            .is_err()
    {
        reset(&inner);
        reset(&outer);
    }
}

async fn dial(server: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut refused = io::ErrorKind::NotFound.into();
    for address in server {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(reason) => refused = reason,
        }
    }
    Err(refused)
}

/// Small messages leave at once, and a server whose machine is gone is noticed in the end, as programs would by
/// themselves.
fn prepare(inner: &TcpStream, outer: &TcpStream) -> io::Result<()> {
    inner.set_nodelay(true)?;
    outer.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(2))
        .with_interval(Duration::from_secs(1))
        .with_retries(3);
    SockRef::from(outer).set_tcp_keepalive(&keepalive)
}

/// Once it is closed.
fn reset(stream: &TcpStream) {
    // Else it ends as if all had been said.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}
