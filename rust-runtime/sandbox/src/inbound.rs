//! Connections from packs on other machines: a port on the machine's network, from which each is forwarded to the
//! pack's own socket. The pack itself finds out which of them are of its flare.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use rustix::net::listen;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::copy::{LINGER, finish_by};
use crate::end::End;
use crate::local_name::LocalPath;
use crate::pending_peers::PendingPeers;
use crate::relay::{ConnectionLimit, PAUSE, bound, prepare};
use crate::tunnel::Tunnel;

/// Connections that are not answered yet, besides one for each pack: all packs may connect at the same time.
const PENDING: usize = 256;

/// How long an answer may take: as long as packs wait for it.
const ANSWERED: Duration = Duration::from_secs(10);

/// Connections that wait to be accepted. The kernel has a limit of its own.
const BACKLOG: i32 = 4096;

/// How long resolving the host may take.
const FOUND: Duration = Duration::from_secs(5);

/// A port on which no connection is accepted yet.
#[derive(Debug)]
pub(crate) struct Port {
    listener: TcpListener,
    number: u16,
}

impl Port {
    /// Binds a free port of the host, which is usually this machine. Behind another name or an address translation it
    /// is not; then the port is bound on all addresses.
    pub(crate) async fn of(host: &str) -> io::Result<Self> {
        let listener = match timeout(FOUND, TcpListener::bind((host, 0))).await {
            Ok(Ok(listener)) => listener,
            _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await?,
        };
        // A crowd that waits to be accepted must leave room for packs.
        listen(&listener, BACKLOG)?;
        // Inherited by the connections that it accepts.
        bound(SockRef::from(&listener))?;
        let number = listener.local_addr()?.port();
        Ok(Self { listener, number })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    /// Forwards connections to the pack's socket until the end: for this many packs, within the limit.
    pub(crate) async fn lead_to(
        self,
        socket: LocalPath,
        (packs, limit): (usize, ConnectionLimit),
        end: End,
    ) {
        let mut pending = PendingPeers::new(PENDING + packs);
        let mut known = JoinSet::new();
        let lead = |tunnel: Tunnel, known: &mut JoinSet<()>| {
            if let Some(permit) = limit.take() {
                let end = end.clone();
                known.spawn(async move {
                    tunnel.copy(&end).await;
                    drop(permit);
                });
            }
        };
        loop {
            tokio::select! {
                () = end.told() => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((outer, from)) => {
                        let introduced = introduce(outer, socket.clone(), end.clone());
                        pending.add(from.ip(), introduced);
                    }
                    // Usually out of descriptors: connections that are not answered go first.
                    Err(_) if pending.evict() => yield_now().await,
                    Err(_) => sleep(PAUSE).await,
                },
                Some(tunnel) = pending.answered() => lead(tunnel, &mut known),
                Some(_) = known.join_next() => {}
            }
        }
        drop(self.listener);
        let deadline = Instant::now() + LINGER;
        // Connections that are answered before the deadline continue.
        let last = async {
            while let Some(tunnel) = pending.answered().await {
                lead(tunnel, &mut known);
            }
        };
        let _ = timeout_at(deadline, last).await;
        pending.close().await;
        finish_by(deadline, known).await;
    }
}

async fn introduce(outer: TcpStream, socket: LocalPath, end: End) -> Option<Tunnel> {
    prepare(&outer).ok()?;
    let inner = UnixStream::connect(socket.to_path()).await.ok()?;
    let mut tunnel = Tunnel::of(inner, outer);
    let answered = timeout(ANSWERED, tunnel.until_answered(&end)).await;
    answered.ok()?.ok()?;
    Some(tunnel)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::local_name::LocalName;
    use std::io::{Read, Write};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;
    use tokio::task::JoinHandle;
    use tokio_util::sync::CancellationToken;

    /// A pack and a peer that has connected to it and is not answered yet.
    struct Introduction {
        pack: std::os::unix::net::UnixStream,
        peer: std::net::TcpStream,
        leading: JoinHandle<()>,
        end: End,
    }

    async fn meet(limit: u32) -> Introduction {
        let directory = tempfile::tempdir().unwrap();
        let name = LocalName::random(directory.path()).unwrap();
        let listener = UnixListener::bind(name.path().to_path()).unwrap();
        let port = Port::of("127.0.0.1").await.unwrap();
        let address = (Ipv4Addr::LOCALHOST, port.number());
        let end = End::with(&CancellationToken::new());
        let room = (1, ConnectionLimit::new(limit));
        let leading = tokio::spawn(port.lead_to(name.path().clone(), room, end.clone()));
        let mut peer = TcpStream::connect(address).await.unwrap();
        let (mut pack, _) = listener.accept().await.unwrap();
        let mut word = [0; 4];
        pack.write_all(b"who?").await.unwrap();
        peer.read_exact(&mut word).await.unwrap();
        peer.write_all(b"me, ").await.unwrap();
        pack.read_exact(&mut word).await.unwrap();
        Introduction {
            pack: pack.into_std().unwrap(),
            peer: peer.into_std().unwrap(),
            leading,
            end,
        }
    }

    impl Introduction {
        /// Returns what the peer receives from a pack that answers, sends some more, and ends at the same time as
        /// everything else.
        async fn part(mut self) -> std::io::Result<String> {
            self.pack.write_all(b"welcome").unwrap();
            self.pack.write_all(b", and goodbye").unwrap();
            drop(self.pack);
            self.end.tell();
            self.leading.await.unwrap();
            self.peer.set_nonblocking(false).unwrap();
            let mut heard = String::new();
            self.peer.read_to_string(&mut heard).map(|_| heard)
        }
    }

    #[tokio::test]
    async fn a_peer_that_was_answered_by_the_end_gets_all_data() {
        let heard = meet(1).await.part().await;
        assert_eq!(heard.unwrap(), "welcome, and goodbye");
    }

    #[tokio::test]
    async fn a_peer_beyond_the_limit_gets_a_reset() {
        let heard = meet(0).await.part().await.map_err(|reason| reason.kind());
        assert_eq!(heard, Err(std::io::ErrorKind::ConnectionReset));
    }
}
