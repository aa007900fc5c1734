//! Transparent sockets in a pack's own network namespace, by which it reaches the internet: routes lead everything back
//! to its loopback, where these sockets accept it, whatever address it was sent to. The kernel itself speaks TCP with
//! programs; packets are never handled here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

use burst_firewall::{Diversion, Protocol, divert, end_diversion};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Socket, Type};

use crate::addresses;
use crate::internet::routes;

/// The source addresses of packets, one per family: an address that is meaningful only within one machine (RFC 7335),
/// and one from a range that anybody may use.
pub(crate) const SOURCES: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfdb0, 0x7257, 0, 0, 0, 0, 0, 1)),
];

/// The name of the rules in the kernel; nothing else has any in a pack's network.
const TABLE: &str = "burst-internet";

/// Connections that the kernel has established and that are not accepted yet.
const BACKLOG: i32 = 128;

/// Bytes that the kernel is asked to buffer at most of a flow's datagrams; it takes twice as much.
const KEPT: usize = 64 << 10;

/// The sockets that accept what one family's source sends.
#[derive(Debug)]
pub(crate) struct TransparentSockets {
    pub(crate) source: IpAddr,
    pub(crate) tcp: TcpListener,
    pub(crate) udp: UdpSocket,
}

/// Makes the sockets of each source whose family the pack has. On failure nothing is left behind.
pub(crate) fn make(sources: &[IpAddr]) -> io::Result<Vec<TransparentSockets>> {
    let has_v6 = TcpListener::bind("[::1]:0").is_ok();
    let had = sources.iter().filter(|it| it.is_ipv4() || has_v6);
    let had: Vec<_> = had.copied().collect();
    let made = try_to_make(&had);
    if made.is_err() {
        // A failure to remove leaves only things that lead nowhere.
        let _ = remove(&had);
    }
    made
}

fn try_to_make(sources: &[IpAddr]) -> io::Result<Vec<TransparentSockets>> {
    let mut all = Vec::new();
    let mut diversions = Vec::new();
    for &source in sources {
        addresses::add(source)?;
        routes::add_loopback_route(source)?;
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

/// Removes as much as it can; returns the first error.
pub(crate) fn remove(sources: &[IpAddr]) -> io::Result<()> {
    let diverted = end_diversion(TABLE).map_err(io::Error::other);
    let removed = sources.iter().flat_map(|source| {
        [
            routes::remove_loopback_route(*source),
            addresses::remove(*source),
        ]
    });
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
    // Each datagram then comes with its original destination.
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

/// Makes a socket for the further datagrams of one flow: it has the address `meant` and is connected to the program.
pub(crate) fn flow_socket(meant: SocketAddr, program: SocketAddr) -> io::Result<UdpSocket> {
    let socket = transparent(meant, Type::DGRAM)?;
    socket.connect(&program.into())?;
    Ok(socket.into())
}

/// Makes a socket that can have any address, also one that others have as well.
fn transparent(at: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), kind, None)?;
    socket.set_nonblocking(true)?;
    // Works for IPv6 as well.
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

/// Fixes the sizes of the socket's buffers: the kernel no longer adjusts them to the traffic.
pub(crate) fn bound(socket: &Socket) -> io::Result<()> {
    socket.set_recv_buffer_size(KEPT)?;
    socket.set_send_buffer_size(KEPT)
}
