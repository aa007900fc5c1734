//! The servers that a pack may reach. It does so at their own addresses, which its loopback is given; what it connects
//! to there is the shim's, which connects to the server in its place. So no program ever has a socket of the
//! machine's network, which it could connect elsewhere.

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

/// What is to be reached from now on.
#[derive(Debug)]
pub(crate) enum Access {
    /// These, each as `HOST:PORT`, and no others.
    Open(Vec<String>),
    /// The internet as well, but for these ranges.
    Internet(Vec<String>),
    /// Packs of other machines come.
    Listen(Listen),
    /// These packs of other machines, each as `HOST:PORT`, are gone to.
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

/// Why something is not reached from now on, or still may be.
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

/// How long what a pack that ended well said last may take to be heard. One that has not is told of sooner: whoever runs
/// it waits no longer for how it ended.
const SAID: Duration = Duration::from_millis(1500);
const SAID_BY_LOST: Duration = Duration::from_millis(100);

/// Connections of a pack at a time.
const CONNECTIONS: u32 = 256;

/// Does what it is told, one order after the other, and answers each on standard output. It has a thread of its own,
/// which begins when something is opened and ends with this.
#[derive(Debug)]
pub(crate) enum Servers {
    /// Nothing has ever been open.
    Idle(Option<Box<Relay>>),
    Relaying {
        orders: UnboundedSender<Access>,
        /// Its sender is the thread's own.
        ended: mpsc::Receiver<Infallible>,
    },
}

impl Servers {
    /// Of a pack, which may have no files of names.
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

    /// Never blocks.
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

    /// Returns when others have heard what the pack, which has ended, has said to them, or have had time to.
    pub(crate) fn end(self, well: bool) {
        if let Self::Relaying { orders, ended } = self {
            drop(orders);
            // It says nothing: it is gone, or late.
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

/// All that the thread has.
#[derive(Debug)]
pub(crate) struct Relay {
    namespace: Arc<Namespace>,
    internet: Internet,
    hosts: Option<Hosts>,
    limit: ConnectionLimit,
    open: Option<Open>,
    peers: Peers,
    /// That it has ended.
    pack: CancellationToken,
}

/// What is open, and what that has changed.
#[derive(Debug)]
struct Open {
    /// To the loopback.
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
        // What was changed for them goes with the pack.
        self.pack.cancel();
        self.peers.close().await;
        self.limit.all_free().await;
        self.internet.all_free().await;
    }

    /// What is then said of it.
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

    /// All of them, or none.
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
            // What is left by that is of no use, and nobody reaches anything by it.
            let _ = self.shut().await;
            return Err(AccessError::Open(reason));
        }
        Ok(())
    }

    /// Returns when no connection is left.
    async fn close(&mut self) -> io::Result<()> {
        self.end();
        self.peers.close().await;
        self.shut().await
    }

    /// As [`close`](Relay::close), but that other packs are still let through.
    async fn shut(&mut self) -> io::Result<()> {
        self.end();
        let shut = self.internet.close().await;
        self.close_servers().await.and(shut)
    }

    /// Tells all of them, so that they take their last moments together.
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
        // A connection whose permit was given back has no sockets any more.
        self.limit.all_free().await;
        let unnamed = name(self.hosts.as_ref(), &[]);
        let removed = self.namespace.within(|| remove(&open.added));
        unnamed.and(removed)
    }
}

fn name(hosts: Option<&Hosts>, names: &[(String, IpAddr)]) -> io::Result<()> {
    hosts.map_or(Ok(()), |hosts| hosts.name(names))
}

/// Sockets on all addresses, and those that the loopback has been given for them; or neither.
type Listening = (Vec<IpAddr>, Vec<(TcpListener, Arc<[SocketAddr]>)>);

fn listen(found: &Found) -> io::Result<Listening> {
    let mut added = Vec::new();
    match bind(found, &mut added) {
        Ok(listeners) => Ok((added, listeners)),
        Err(reason) => {
            // What is left by that is an address with nobody at it.
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

/// All that can be, and why others cannot.
fn remove(added: &[IpAddr]) -> io::Result<()> {
    let removed = added.iter().map(|address| addresses::remove(*address));
    removed.fold(Ok(()), io::Result::and)
}
