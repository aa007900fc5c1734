//! The servers that a pack may reach. It connects to them at their own addresses, which are assigned to its loopback;
//! the shim accepts the connection there, and connects to the server on the pack's behalf. So no program ever has a
//! socket of the machine's network, which it could connect elsewhere.

use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::addresses;
use crate::end::End;
use crate::internet::{Internet, InternetError};
use crate::lines::say;
use crate::network::{Hosts, Namespace, Resolvers};
use crate::peers::{Peers, PeersError};
use crate::relay::{ConnectionLimit, pass_on};
use crate::spec::Listen;
use crate::target::{Found, TargetError, find};

/// What the pack may reach from now on.
#[derive(Debug)]
pub(crate) enum Access {
    /// These servers, each as `HOST:PORT`, and no others.
    Open(Vec<String>),
    /// The internet as well, except for these ranges.
    Internet(Vec<String>),
    /// Packs on other machines may connect to this one.
    Listen(Listen),
    /// The pack may connect to these packs on other machines, each given as `HOST:PORT`.
    Peers(Vec<String>),
    Close,
}

impl Access {
    fn refusal(&self, reason: impl Display) -> String {
        match self {
            Self::Open(_) | Self::Internet(_) => format!("open failed: {reason}"),
            Self::Listen(_) => format!("listen failed: {reason}"),
            Self::Peers(_) => format!("peers failed: {reason}"),
            Self::Close => format!("close failed: {reason}"),
        }
    }
}

/// Why access was not opened or closed.
#[derive(Debug, thiserror::Error)]
enum AccessError {
    #[error(transparent)]
    Close(io::Error),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("the pack's root has no /etc/hosts, where servers get their names")]
    NoHosts,
    #[error("the pack cannot have their addresses: {0}")]
    Addresses(io::Error),
    #[error("the pack cannot have them: {0}")]
    Open(io::Error),
    #[error(transparent)]
    Internet(#[from] InternetError),
    #[error(transparent)]
    Peers(#[from] PeersError),
}

/// How long the last data of a pack that ended well may take to be delivered. The end of one that failed is reported
/// sooner: the invoker should not wait longer to learn how it ended.
const SAID: Duration = Duration::from_millis(1500);
const SAID_BY_LOST: Duration = Duration::from_millis(100);

/// Concurrent connections of a pack.
const CONNECTIONS: u32 = 256;

/// Executes orders one after the other, and answers each on standard output. It has a thread of its own, which starts
/// when something is first opened and ends with this value.
#[derive(Debug)]
pub(crate) enum Servers {
    /// Nothing was ever opened.
    Idle(Option<Box<Relay>>),
    Relaying {
        orders: UnboundedSender<Access>,
        /// Disconnected when the thread ends, which owns the sender.
        ended: mpsc::Receiver<Infallible>,
    },
}

impl Servers {
    /// The servers of a pack, which may have no files of names; none at first.
    pub(crate) fn of(
        namespace: Namespace,
        hosts: Option<Hosts>,
        resolvers: Option<Resolvers>,
        peers: Peers,
    ) -> Self {
        let namespace = Arc::new(namespace);
        Self::Idle(Some(Box::new(Relay {
            internet: Internet::of(Arc::clone(&namespace), resolvers),
            namespace,
            hosts,
            limit: ConnectionLimit::new(CONNECTIONS),
            open: None,
            peers,
            pack: CancellationToken::new(),
        })))
    }

    /// Passes an order to the thread. Never blocks.
    pub(crate) fn tell(&mut self, access: Access) {
        if let Self::Idle(relay) = &mut *self
            && !matches!(access, Access::Close)
        {
            match relay.take().map(|relay| begin(*relay)) {
                Some(Ok(relaying)) => *self = relaying,
                Some(Err(reason)) => eprintln!("burst-runtime: nothing can be relayed: {reason}"),
                None => {}
            }
        }
        let taken = match self {
            Self::Idle(_) => Err(access),
            Self::Relaying { orders, .. } => orders.send(access).map_err(|unsent| unsent.0),
        };
        match taken {
            Ok(()) => {}
            Err(Access::Close) => say("closed"),
            Err(access) => say(&access.refusal("nothing can be relayed")),
        }
    }

    /// Returns when everything that the pack, which has ended, had written is delivered, or when the time for that is
    /// up.
    pub(crate) fn end(self, well: bool) {
        if let Self::Relaying { orders, ended } = self {
            drop(orders);
            // Nothing is ever received: the thread has ended, or is late.
            let _ = ended.recv_timeout(if well { SAID } else { SAID_BY_LOST });
        }
    }
}

fn begin(relay: Relay) -> io::Result<Servers> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (sender, orders) = unbounded_channel();
    let (running, ended) = mpsc::channel();
    thread::Builder::new()
        .name("relay".to_owned())
        .spawn(move || {
            let _running = running;
            runtime.block_on(relay.attend(orders));
        })?;
    Ok(Servers::Relaying {
        orders: sender,
        ended,
    })
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Relay {
    namespace: Arc<Namespace>,
    internet: Internet,
    hosts: Option<Hosts>,
    limit: ConnectionLimit,
    open: Option<Open>,
    peers: Peers,
    /// Cancelled when the pack has ended.
    pack: CancellationToken,
}

/// The open servers, and what was changed for them.
#[derive(Debug)]
struct Open {
    /// Addresses added to the loopback.
    added: Vec<IpAddr>,
    listening: JoinSet<()>,
    end: End,
}

impl Relay {
    async fn attend(mut self, mut orders: UnboundedReceiver<Access>) {
        while let Some(order) = orders.recv().await {
            let done = self.follow(&order).await;
            say(&done.unwrap_or_else(|reason| order.refusal(reason)));
        }
        // What was changed for the servers disappears with the pack.
        self.pack.cancel();
        self.peers.close().await;
        self.limit.all_free().await;
        self.internet.all_free().await;
    }

    /// Executes an order, and returns the answer.
    async fn follow(&mut self, order: &Access) -> Result<String, AccessError> {
        let end = End::with(&self.pack);
        Ok(match order {
            Access::Open(targets) => {
                self.shut().await.map_err(AccessError::Close)?;
                self.open(targets).await?;
                "opened".to_owned()
            }
            Access::Internet(closed) => {
                self.internet.open(closed, end).await?;
                "opened".to_owned()
            }
            Access::Listen(listen) => {
                let endpoint = self.peers.listen(listen, end).await?;
                format!("listening for packs {endpoint}")
            }
            Access::Peers(peers) => {
                let path = self.peers.reach(peers, end).await?;
                format!("peers at {path}")
            }
            Access::Close => {
                self.close().await.map_err(AccessError::Close)?;
                "closed".to_owned()
            }
        })
    }

    /// Opens all of the servers, or none.
    async fn open(&mut self, targets: &[String]) -> Result<(), AccessError> {
        let found = find(targets).await?;
        if self.hosts.is_none() && !found.names.is_empty() {
            return Err(AccessError::NoHosts);
        }
        let (added, listeners) = self
            .namespace
            .within(|| listen(&found))
            .map_err(AccessError::Addresses)?;
        let open = self.open.insert(Open {
            added,
            listening: JoinSet::new(),
            end: End::with(&self.pack),
        });
        let begun = listeners.into_iter().try_for_each(|(listener, server)| {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (limit, end) = (self.limit.clone(), open.end.clone());
            let server = move |_: &TcpStream| Some(Arc::clone(&server));
            open.listening.spawn(pass_on(listener, server, limit, end));
            Ok(())
        });
        let named = begun.and_then(|()| name(self.hosts.as_ref(), &found.names));
        if let Err(reason) = named {
            // A failure to close leaves only things by which nothing can be reached.
            let _ = self.shut().await;
            return Err(AccessError::Open(reason));
        }
        Ok(())
    }

    /// Closes everything, and returns when no connection is left.
    async fn close(&mut self) -> io::Result<()> {
        self.end();
        self.peers.close().await;
        self.shut().await
    }

    /// Like [`close`](Relay::close), but other packs stay reachable.
    async fn shut(&mut self) -> io::Result<()> {
        self.end();
        let shut = self.internet.close().await;
        self.close_servers().await.and(shut)
    }

    /// Announces the end to all connections, so that they use their last moments in parallel.
    fn end(&self) {
        self.internet.end();
        if let Some(open) = &self.open {
            open.end.tell();
        }
    }

    async fn close_servers(&mut self) -> io::Result<()> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        while open.listening.join_next().await.is_some() {}
        // A connection returns its permit only after closing its sockets.
        self.limit.all_free().await;
        let unnamed = name(self.hosts.as_ref(), &[]);
        let removed = self.namespace.within(|| remove(&open.added));
        unnamed.and(removed)
    }
}

fn name(hosts: Option<&Hosts>, names: &[(String, IpAddr)]) -> io::Result<()> {
    hosts.map_or(Ok(()), |hosts| hosts.name(names))
}

/// The addresses added to the loopback, and listeners on all addresses.
type Listening = (Vec<IpAddr>, Vec<(TcpListener, Arc<[SocketAddr]>)>);

fn listen(found: &Found) -> io::Result<Listening> {
    let mut added = Vec::new();
    match bind(found, &mut added) {
        Ok(listeners) => Ok((added, listeners)),
        Err(reason) => {
            // A failure to remove leaves only an address at which nothing listens.
            let _ = remove(&added);
            Err(reason)
        }
    }
}

fn bind(
    found: &Found,
    added: &mut Vec<IpAddr>,
) -> io::Result<Vec<(TcpListener, Arc<[SocketAddr]>)>> {
    let has_v6 = TcpListener::bind("[::1]:0").is_ok();
    let mut listeners = Vec::new();
    for (address, server) in &found.servers {
        if address.is_ipv6() && !has_v6 {
            match server.iter().any(SocketAddr::is_ipv4) {
                true => continue,
                false => return Err(io::Error::other("this machine has no IPv6")),
            }
        }
        let ip = address.ip();
        if !ip.is_loopback() && !added.contains(&ip) {
            addresses::add(ip)?;
            added.push(ip);
        }
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        listeners.push((listener, Arc::clone(server)));
    }
    Ok(listeners)
}

/// Removes as many as it can; returns the first error.
fn remove(added: &[IpAddr]) -> io::Result<()> {
    let removed = added.iter().map(|address| addresses::remove(*address));
    removed.fold(Ok(()), io::Result::and)
}
