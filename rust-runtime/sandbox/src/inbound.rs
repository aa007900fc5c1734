//! Packs of other machines that come to this one: a port of the machine's network, from which each is led to the pack's
//! own socket. The pack finds out who is of its flare.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use rustix::net::listen;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::carry::finish;
use crate::local_name::LocalPath;
use crate::relay::{PAUSE, Places, bound, prepare};
use crate::strangers::Strangers;
use crate::tunnel::Tunnel;

/// Who has not been answered yet, beside one connection of each pack: all may come at once.
const STRANGERS: usize = 256;

/// How long that may take: as long as packs wait for it.
const ANSWERED: Duration = Duration::from_secs(10);

/// Connections that wait to be taken in. The kernel has a limit of its own.
const BACKLOG: i32 = 4096;

/// How long it may take to find an address of this machine's.
const FOUND: Duration = Duration::from_secs(5);

/// A port at which nobody is taken in yet.
#[derive(Debug)]
pub(crate) struct Port {
    listener: TcpListener,
    number: u16,
}

impl Port {
    /// A free one of the host's, which is often this machine; behind a name or an address translation it is not, and
    /// then one of all addresses.
    pub(crate) async fn of(host: &str) -> io::Result<Self> {
        let listener = match timeout(FOUND, TcpListener::bind((host, 0))).await {
            Ok(Ok(listener)) => listener,
            _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await?,
        };
        // A crowd that waits to be taken in is to leave room for packs.
        listen(&listener, BACKLOG)?;
        // For those that it takes in.
        bound(SockRef::from(&listener))?;
        let number = listener.local_addr()?.port();
        Ok(Self { listener, number })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    /// Leads others to the pack's socket until the end: so many packs, each on its share of the places.
    pub(crate) async fn lead_to(
        self,
        socket: LocalPath,
        (packs, places): (usize, Places),
        end: CancellationToken,
    ) {
        let mut strangers = Strangers::new(STRANGERS + packs);
        let mut known = JoinSet::new();
        loop {
            tokio::select! {
                () = end.cancelled() => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((outer, from)) => {
                        strangers.enter(from.ip(), introduce(outer, socket.clone()));
                    }
                    // Out of descriptors, mostly: strangers have to go first.
                    Err(_) if strangers.evict() => yield_now().await,
                    Err(_) => sleep(PAUSE).await,
                },
                Some(tunnel) = strangers.proved() => {
                    if let Some(place) = places.take() {
                        let end = end.clone();
                        known.spawn(async move {
                            tunnel.carry(&end).await;
                            drop(place);
                        });
                    }
                }
                Some(_) = known.join_next() => {}
            }
        }
        drop(self.listener);
        strangers.leave().await;
        finish(known).await;
    }
}

async fn introduce(outer: TcpStream, socket: LocalPath) -> Option<Tunnel> {
    let inner = UnixStream::connect(socket.to_path()).await.ok()?;
    prepare(&outer).ok()?;
    let mut tunnel = Tunnel { inner, outer };
    let answered = timeout(ANSWERED, tunnel.until_answered()).await;
    answered.ok()?.ok()?;
    Some(tunnel)
}
