//! Packs of other machines that a pack goes to: a Unix socket on which it says the number of one, in four bytes, and is
//! told in four more whether that one is reached (0), or why not (an error's number). Whatever follows is for that one.
//! Numbers in place of addresses need no loopback with a listener for each of hundreds, and let nobody else be named.

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

/// How long a pack may take to say which one.
const ASKED: Duration = Duration::from_secs(3);

/// How long it may take to find one and to connect to it: the pack waits for 3 s.
const REACHED: Duration = Duration::from_millis(2500);

/// Takes in what the pack connects until the end.
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
                        // A client that has gone again needs no answer.
                        let _ = lead(inner, (&peers, &limit), &end).await;
                        drop(permit);
                    });
                }
                // Whoever is turned away comes again.
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
    // Who has not been told that it is connected has said nothing yet.
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
        // Now and then a machine is too slow to tell.
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
