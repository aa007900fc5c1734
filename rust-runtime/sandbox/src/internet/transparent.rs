//! Transparent sockets in a pack's own network namespace, by which it reaches the internet: routes lead everything back
//! to its loopback, where these sockets take it in, whatever address it was meant for. It is the kernel that speaks TCP
//! with programs; no packet of theirs is ever seen here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

use burst_firewall::{Diversion, Protocol, divert, end_diversion};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Socket, Type};

use crate::addresses;
use crate::internet::routes;

/// Whom packets are from, of either family: an address that means something within a machine alone (RFC 7335), and one
/// of those that everybody may give himself.
pub(crate) const SOURCES: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfdb0, 0x7257, 0, 0, 0, 0, 0, 1)),
];

/// What the kernel calls the rules; nobody else has any in a pack's network.
const TABLE: &str = "burst-internet";

/// Connections that the kernel has made and nobody has taken in yet.
const BACKLOG: i32 = 128;

/// What the kernel is asked to keep at most of a flow's datagrams, for which it takes twice as much.
const KEPT: usize = 64 << 10;

/// The sockets that take in what one family's source sends.
#[derive(Debug)]
pub(crate) struct TransparentSockets {
    pub(crate) source: IpAddr,
    pub(crate) tcp: TcpListener,
    pub(crate) udp: UdpSocket,
}

/// One for each source of a family that the pack has; or none, and nothing else that is left.
pub(crate) fn make(sources: &[IpAddr]) -> io::Result<Vec<TransparentSockets>> {
    let has_v6 = TcpListener::bind("[::1]:0").is_ok();
    let had = sources.iter().filter(|it| it.is_ipv4() || has_v6);
    let had: Vec<_> = had.copied().collect();
    let made = try_to_make(&had);
    if made.is_err() {
        // What is left by that leads nowhere.
        let _ = remove(&had);
    }
    made
}

fn try_to_make(sources: &[IpAddr]) -> io::Result<Vec<TransparentSockets>> {
    let mut all = Vec::new();
    let mut diversions = Vec::new();
    for &source in sources {
        addresses::add(source)?;
        routes::lead_back(source)?;
        let sockets = take_in(source)?;
        for (protocol, at) in [
            (Protocol::Tcp, sockets.tcp.local_addr()?),
            (Protocol::Udp, sockets.udp.local_addr()?),
        ] {
            let port = at.port();
            diversions.push(Diversion {
                source,
                protocol,
                port,
            });
        }
        all.push(sockets);
    }
    divert(TABLE, &diversions).map_err(io::Error::other)?;
    Ok(all)
}

/// All that can be, and why other things cannot.
pub(crate) fn remove(sources: &[IpAddr]) -> io::Result<()> {
    let diverted = end_diversion(TABLE).map_err(io::Error::other);
    let removed = sources
        .iter()
        .flat_map(|source| [routes::lead_nowhere(*source), addresses::remove(*source)]);
    removed.fold(diverted, io::Result::and)
}

fn take_in(source: IpAddr) -> io::Result<TransparentSockets> {
    let anybody: IpAddr = match source {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let any = SocketAddr::new(anybody, 0);
    let tcp = transparent(any, Type::STREAM)?;
    tcp.listen(BACKLOG)?;
    let udp = transparent(any, Type::DGRAM)?;
    // What a datagram was meant for is told with it.
    match source {
        IpAddr::V4(_) => setsockopt(&udp, sockopt::Ipv4OrigDstAddr, &true)?,
        IpAddr::V6(_) => setsockopt(&udp, sockopt::Ipv6OrigDstAddr, &true)?,
    }
    Ok(TransparentSockets {
        source,
        tcp: tcp.into(),
        udp: udp.into(),
    })
}

/// A socket by which a program talks with `meant`, whoever that is: for what else they say to each other.
pub(crate) fn stand_in(meant: SocketAddr, program: SocketAddr) -> io::Result<UdpSocket> {
    let socket = transparent(meant, Type::DGRAM)?;
    socket.connect(&program.into())?;
    Ok(socket.into())
}

/// A socket that may have any address, also one that others have as well.
fn transparent(at: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), kind, None)?;
    socket.set_nonblocking(true)?;
    // For IPv6 as well.
    socket.set_ip_transparent_v4(true)?;
    if at.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if kind == Type::DGRAM {
        socket.set_reuse_address(true)?;
        bound(&socket)?;
    }
    socket.bind(&at.into())?;
    Ok(socket)
}

/// For good, whatever passes.
pub(crate) fn bound(socket: &Socket) -> io::Result<()> {
    socket.set_recv_buffer_size(KEPT)?;
    socket.set_send_buffer_size(KEPT)
}
