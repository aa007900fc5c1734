//! The internet, for a pack that may reach it. What the pack sends there comes back to sockets of the shim's in
//! the pack's own network ([`transparent`]), whose other end is each time an address that is allowed ([`allowed`]): the
//! shim connects to that in the program's place, as it does to servers.

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

/// By TCP, at a time.
const CONNECTIONS: u32 = 256;

/// Why a pack is not let out.
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

/// The way there, which is closed or open.
#[derive(Debug)]
pub(crate) struct Internet {
    namespace: Arc<Namespace>,
    /// Where the pack finds those who know names.
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
    /// Of a pack, which may have no file of resolvers.
    pub(crate) fn of(namespace: Arc<Namespace>, resolvers: Option<Resolvers>) -> Self {
        Self {
            flows: Flows::of(Arc::clone(&namespace)),
            namespace,
            resolvers,
            limit: ConnectionLimit::new(CONNECTIONS),
            open: None,
        }
    }

    /// Everything but these ranges and this machine, from now on until the end; or says why not.
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
            // What is left by that leads nowhere.
            let _ = self.close().await;
            return Err(InternetError::Open(reason));
        }
        Ok(())
    }

    /// Tells all connections to end once they have copied what the pack has said.
    pub(crate) fn end(&self) {
        if let Some(open) = &self.open {
            open.end.tell();
        }
    }

    /// Returns when none is left by TCP.
    pub(crate) async fn all_free(&self) {
        self.limit.all_free().await;
    }

    /// Returns when no connection is left.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        self.end();
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        while open.relaying.join_next().await.is_some() {}
        // A connection whose permit was given back has no sockets any more.
        self.limit.all_free().await;
        self.flows.all_gone().await;
        let unnamed = (self.resolvers.as_ref()).map_or(Ok(()), |file| file.name(&[]));
        let removed = self.namespace.within(|| transparent::remove(&open.sources));
        removed.and(unnamed)
    }
}

/// Whether this machine has a way to the internet by it: else programs would try it before IPv4.
fn has_ipv6() -> bool {
    routes::leads_elsewhere(IpAddr::V6(GLOBAL)).unwrap_or(false)
}

/// One of those that are the whole world's.
const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 1);
