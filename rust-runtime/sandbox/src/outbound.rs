//! Connections to packs on other machines. The pack connects to a Unix socket and writes the index of a peer as four
//! bytes; four bytes in return say whether that peer was reached (0), or why not (an error number). Whatever follows
//! goes to the peer. Numbers instead of addresses avoid a loopback address and a listener for each of hundreds of
//! peers, and the pack cannot name anything else.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::copy::finish;
use crate::end::End;
use crate::relay::{ConnectionLimit, PAUSE, dial, prepare};
use crate::target::Target;
use crate::tunnel::Tunnel;

/// How long a pack may take to write the index.
const ASKED: Duration = Duration::from_secs(3);

/// How long it may take to resolve a peer and connect to it: the pack waits for 3 s.
const REACHED: Duration = Duration::from_millis(2500);

/// Accepts the pack's connections until the end, and relays each to the peer it names.
pub(crate) async fn lead_to(
    peers: Arc<[Target]>,
    (listener, limit): (UnixListener, ConnectionLimit),
    end: End,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = end.told() => break,
            accepted = listener.accept() => match (accepted, limit.take()) {
                (Ok((inner, _)), Some(permit)) => {
                    let (peers, limit, end) = (Arc::clone(&peers), limit.clone(), end.clone());
                    connections.spawn(async move {
                        // A client that has disconnected needs no answer.
                        let _ = lead(inner, (&peers, &limit), &end).await;
                        drop(permit);
                    });
                }
                // A client that is turned away tries again.
                (Ok(_), None) => {}
                (Err(_), _) => sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    finish(connections).await;
}

async fn lead(
    mut inner: UnixStream,
    (peers, limit): (&[Target], &ConnectionLimit),
    end: &End,
) -> io::Result<()> {
    let asked = async {
        limit.turn().await;
        let number = timeout(ASKED, inner.read_u32_le()).await??;
        io::Result::Ok(match peers.get(number as usize) {
            Some(peer) => reach(peer).await,
            None => Err(libc::ENXIO),
        })
    };
    // A client that has no answer yet has sent no data yet.
    let Some(reached) = end.or(asked).await.transpose()? else {
        return Ok(());
    };
    match reached {
        Ok(outer) => {
            inner.write_i32_le(0).await?;
            Tunnel::of(inner, outer).copy(end).await;
            Ok(())
        }
        Err(reason) => inner.write_i32_le(reason).await,
    }
}

async fn reach(peer: &Target) -> Result<TcpStream, i32> {
    let reached = async {
        let addresses = peer.find().await.map_err(|_| libc::EHOSTUNREACH)?;
        let outer = dial(&addresses).await;
        let outer = outer.and_then(|outer| prepare(&outer).map(|()| outer));
        outer.map_err(|reason| match reason.kind() {
            io::ErrorKind::TimedOut => libc::ETIMEDOUT,
            _ => reason.raw_os_error().unwrap_or(libc::EHOSTUNREACH),
        })
    };
    let reached = timeout(REACHED, reached).await;
    reached.unwrap_or(Err(libc::ETIMEDOUT))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::copy::LINGER;
    use std::time::Instant;
    use tokio_util::sync::CancellationToken;

    #[tokio::test]
    async fn a_connection_that_waits_for_its_turn_does_not_delay_the_end() {
        let directory = tempfile::tempdir().unwrap();
        // Now and then a machine is too slow to show it.
        for attempt in 0..10 {
            let path = directory.path().join(attempt.to_string());
            let listener = UnixListener::bind(&path).unwrap();
            let (limit, end) = (
                ConnectionLimit::new(1),
                End::with(&CancellationToken::new()),
            );
            limit.turn().await;
            let leading = lead_to(Arc::new([]), (listener, limit.clone()), end.clone());
            let leading = tokio::spawn(leading);
            let _waiting = UnixStream::connect(&path).await.unwrap();
            while limit.take().is_some() {
                tokio::task::yield_now().await;
            }
            let told = Instant::now();
            end.tell();
            leading.await.unwrap();
            if told.elapsed() < LINGER {
                return;
            }
        }
        panic!("it has waited each time");
    }
}
