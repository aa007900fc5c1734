//! Addresses of the loopback of the network namespace that the calling thread is in.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::{RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// The number of the loopback, the first card of every namespace.
const LOOPBACK: u32 = 1;

/// Makes it one of the loopback's, which it may be already.
pub(crate) fn add(address: IpAddr) -> io::Result<()> {
    let flags = NLM_F_CREATE | NLM_F_REPLACE;
    ask(RouteNetlinkMessage::NewAddress(of_loopback(address)), flags)
}

pub(crate) fn remove(address: IpAddr) -> io::Result<()> {
    ask(RouteNetlinkMessage::DelAddress(of_loopback(address)), 0)
}

fn of_loopback(address: IpAddr) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.index = LOOPBACK;
    (message.header.family, message.header.prefix_len) = match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    // It is used at once: nobody else can have it.
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![
        AddressAttribute::Local(address),
        AddressAttribute::Address(address),
    ];
    message
}

fn ask(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);

    let kernel = socket_with(
        rustix::net::AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // NETLINK_ROUTE, which has no number.
        None,
    )?;
    send(&kernel, &bytes, SendFlags::empty())?;
    // The kernel has done it, and has answered, when it has taken the message.
    let mut answer = vec![0; 4096];
    let (read, _) = recv(&kernel, &mut answer[..], RecvFlags::DONTWAIT)?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..read])
        .map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        NetlinkPayload::Error(_) => Ok(()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
