//! Requests to the kernel about the network namespace of the calling thread, each with its answer.

use std::io;

use netlink_packet_core::{
    DecodeError, Emitable, NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable, Parseable,
};
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::route::RouteMessage;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// Messages about addresses and routes. The library's own type for all messages would add the code for each of them,
/// half a megabyte.
#[derive(Debug)]
pub(crate) enum Message {
    NewAddress(AddressMessage),
    DelAddress(AddressMessage),
    NewRoute(RouteMessage),
    DelRoute(RouteMessage),
    GetRoute(RouteMessage),
}

impl Message {
    fn body(&self) -> &dyn Emitable {
        match self {
            Self::NewAddress(address) | Self::DelAddress(address) => address,
            Self::NewRoute(route) | Self::DelRoute(route) | Self::GetRoute(route) => route,
        }
    }
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        match self {
            Self::NewAddress(_) => libc::RTM_NEWADDR,
            Self::DelAddress(_) => libc::RTM_DELADDR,
            Self::NewRoute(_) => libc::RTM_NEWROUTE,
            Self::DelRoute(_) => libc::RTM_DELROUTE,
            Self::GetRoute(_) => libc::RTM_GETROUTE,
        }
    }

    fn buffer_len(&self) -> usize {
        self.body().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        self.body().emit(buffer);
    }
}

impl NetlinkDeserializable for Message {
    type Error = DecodeError;

    /// Accepts routes only: the kernel answers these requests with nothing else.
    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        match header.message_type {
            libc::RTM_NEWROUTE => Ok(Self::NewRoute(RouteMessage::parse(payload)?)),
            other => Err(format!("a message of the type {other}, which nobody asked for").into()),
        }
    }
}

/// Has the kernel make a change.
pub(crate) fn change(message: Message, flags: u16) -> io::Result<()> {
    match ask(message, NLM_F_ACK | flags)? {
        NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
        other => Err(refusal(other)),
    }
}

/// Asks the kernel for one item.
pub(crate) fn get(message: Message) -> io::Result<Message> {
    match ask(message, 0)? {
        NetlinkPayload::InnerMessage(answer) => Ok(answer),
        other => Err(refusal(other)),
    }
}

fn refusal(answer: NetlinkPayload<Message>) -> io::Error {
    match answer {
        NetlinkPayload::Error(error) if error.code.is_some() => error.to_io(),
        _ => io::ErrorKind::InvalidData.into(),
    }
}

fn ask(message: Message, flags: u16) -> io::Result<NetlinkPayload<Message>> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);

    let kernel = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // NETLINK_ROUTE is 0, the default.
        None,
    )?;
    send(&kernel, &bytes, SendFlags::empty())?;
    // When `send` returns, the kernel has handled the message and queued its answer.
    let mut answer = vec![0; 4096];
    let (read, _) = recv(&kernel, &mut answer[..], RecvFlags::DONTWAIT)?;
    let answer =
        NetlinkMessage::<Message>::deserialize(&answer[..read]).map_err(io::Error::other)?;
    Ok(answer.payload)
}
