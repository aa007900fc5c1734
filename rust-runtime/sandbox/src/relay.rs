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

/// Connections of a pack at a time, of which any more are reset, and that may begin within [`TURN`], for which any more
/// wait: this machine has so many ports for a server, and each is lost for a minute.
const CONNECTIONS: usize = 256;
const TURN: Duration = Duration::from_secs(4);

/// Of each direction of a connection.
const BUFFER: usize = 32 << 10;

/// How long it may take to connect to a server, by all of its addresses.
const DIALLED: Duration = Duration::from_secs(5);

/// How long nobody is taken in while this process has no descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// Places for the connections of a pack.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    open: Arc<Semaphore>,
    begun: Arc<Semaphore>,
}

impl Places {
    pub(crate) fn new() -> Self {
        Self {
            open: Arc::new(Semaphore::new(CONNECTIONS)),
            begun: Arc::new(Semaphore::new(CONNECTIONS)),
        }
    }

    /// Waits until no connection is open.
    pub(crate) async fn all_free(&self) {
        // Never closed.
        let _all = self.open.acquire_many(CONNECTIONS as u32).await;
    }

    /// Waits until another one may begin.
    async fn turn(&self) {
        if let Ok(turn) = Arc::clone(&self.begun).acquire_owned().await {
            tokio::spawn(async move {
                sleep(TURN).await;
                drop(turn);
            });
        }
    }
}

/// Takes in connections, for as long as it is polled, and passes each on to the first of the server's addresses that
/// answers.
pub(crate) async fn pass_on(listener: TcpListener, server: Arc<[SocketAddr]>, places: Places) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match (accepted, Arc::clone(&places.open).try_acquire_owned()) {
                (Ok((inner, _)), Ok(place)) => {
                    let (server, places) = (Arc::clone(&server), places.clone());
                    connections.spawn(async move {
                        // Given back when the sockets are closed.
                        let _place = place;
                        places.turn().await;
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
    let Ok(mut outer) = dial(server).await else {
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
        let share = DIALLED / server.len() as u32;
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(reason)) => refused = reason,
            Err(late) => refused = late.into(),
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
