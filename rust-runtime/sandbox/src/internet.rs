//! Access to the internet, for a pack that may have it. Whatever the pack sends there arrives at sockets that the shim
//! has in the pack's own network ([`transparent`]), if its destination is allowed ([`allowed`]): the shim connects to
//! that address on the program's behalf, as it does to servers.

mod allowed;
mod flows;
mod resolvers;
mod routes;
mod transparent;

use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

use crate::end::End;
use crate::internet::allowed::Allowed;
use crate::internet::flows::Flows;
use crate::network::{Namespace, Resolvers};
use crate::relay::{ConnectionLimit, pass_on};

/// Concurrent TCP connections.
const CONNECTIONS: u32 = 256;

/// Why a pack gets no access to the internet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InternetError {
    #[error(transparent)]
    Close(io::Error),
    #[error("the pack's root has no /etc/resolv.conf, by which names are found")]
    NoResolvers,
    #[error("'{0}' is no range of addresses, such as 10.0.0.0/8")]
    InvalidRange(String),
    #[error("the pack cannot be let out: {0}")]
    Open(io::Error),
}

/// A pack's access to the internet, which is closed or open.
#[derive(Debug)]
pub(crate) struct Internet {
    namespace: Arc<Namespace>,
    /// The pack's file of resolvers.
    resolvers: Option<Resolvers>,
    limit: ConnectionLimit,
    flows: Flows,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    sources: Vec<IpAddr>,
    relaying: JoinSet<()>,
    end: End,
}

impl Internet {
    /// The access of a pack, which may have no file of resolvers; closed at first.
    pub(crate) fn of(namespace: Arc<Namespace>, resolvers: Option<Resolvers>) -> Self {
        Self {
            flows: Flows::of(Arc::clone(&namespace)),
            namespace,
            resolvers,
            limit: ConnectionLimit::new(CONNECTIONS),
            open: None,
        }
    }

    /// Opens everything except these ranges and this machine, until `end`.
    pub(crate) async fn open(&mut self, closed: &[String], end: End) -> Result<(), InternetError> {
        self.close().await.map_err(InternetError::Close)?;
        let Some(file) = &self.resolvers else {
            return Err(InternetError::NoResolvers);
        };
        let closed = (closed.iter())
            .map(|range| {
                range
                    .parse()
                    .map_err(|_| InternetError::InvalidRange(range.clone()))
            })
            .collect::<Result<Vec<IpNet>, _>>()?;
        let resolvers = resolvers::of_machine();
        let sources: Vec<IpAddr> = (transparent::SOURCES.into_iter())
            .filter(|source| source.is_ipv4() || has_ipv6())
            .collect();
        let sockets =
            (self.namespace.within(|| transparent::make(&sources))).map_err(InternetError::Open)?;
        let named = file.name(&resolvers::in_pack(&resolvers));
        let allowed = Arc::new(Allowed::new(closed, resolvers));
        let open = self.open.insert(Open {
            sources: sockets.iter().map(|it| it.source).collect(),
            relaying: JoinSet::new(),
            end,
        });
        let begun = sockets.into_iter().try_for_each(|sockets| {
            let listener = TcpListener::from_std(sockets.tcp)?;
            let socket = UdpSocket::from_std(sockets.udp)?;
            let (tcp, udp) = (Arc::clone(&allowed), Arc::clone(&allowed));
            let target = move |inner: &TcpStream| {
                let target = tcp.target(inner.local_addr().ok()?)?;
                Some(Arc::from([target]))
            };
            let (limit, end) = (self.limit.clone(), open.end.clone());
            open.relaying.spawn(pass_on(listener, target, limit, end));
            let flows = self.flows.clone().pass_on(socket, udp);
            let end = open.end.clone();
            open.relaying.spawn(async move {
                let _ = end.or(flows).await;
            });
            Ok(())
        });
        if let Err(reason) = named.and(begun) {
            // A failure to close leaves only things that lead nowhere.
            let _ = self.close().await;
            return Err(InternetError::Open(reason));
        }
        Ok(())
    }

    /// Announces the end to all connections, which first copy what the pack has written.
    pub(crate) fn end(&self) {
        if let Some(open) = &self.open {
            open.end.tell();
        }
    }

    /// Waits until no TCP connection is left.
    pub(crate) async fn all_free(&self) {
        self.limit.all_free().await;
    }

    /// Closes the access, and returns when no connection is left.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        self.end();
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        while open.relaying.join_next().await.is_some() {}
        // A connection returns its permit only after closing its sockets.
        self.limit.all_free().await;
        self.flows.all_gone().await;
        let unnamed = (self.resolvers.as_ref()).map_or(Ok(()), |file| file.name(&[]));
        let removed = self.namespace.within(|| transparent::remove(&open.sources));
        removed.and(unnamed)
    }
}

/// Whether this machine reaches the internet over IPv6. If it does not, programs must not try IPv6 before IPv4.
fn has_ipv6() -> bool {
    routes::leads_elsewhere(IpAddr::V6(GLOBAL)).unwrap_or(false)
}

/// An address in the global unicast range.
const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 1);
