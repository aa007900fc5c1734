//! What the kernel is asked of the network namespace that the calling thread is in: a request, and its answer.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// Has it change something.
pub(crate) fn change(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    match ask(message, NLM_F_ACK | flags)? {
        NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
        other => Err(refusal(other)),
    }
}

/// Asks it for one thing.
pub(crate) fn get(message: RouteNetlinkMessage) -> io::Result<RouteNetlinkMessage> {
    match ask(message, 0)? {
        NetlinkPayload::InnerMessage(answer) => Ok(answer),
        other => Err(refusal(other)),
    }
}

fn refusal(answer: NetlinkPayload<RouteNetlinkMessage>) -> io::Error {
    match answer {
        NetlinkPayload::Error(error) if error.code.is_some() => error.to_io(),
        _ => io::ErrorKind::InvalidData.into(),
    }
}

fn ask(
    message: RouteNetlinkMessage,
    flags: u16,
) -> io::Result<NetlinkPayload<RouteNetlinkMessage>> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);

    let kernel = socket_with(
        AddressFamily::NETLINK,
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
    Ok(answer.payload)
}
