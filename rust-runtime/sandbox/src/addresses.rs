//! Addresses of the loopback of the network namespace that the calling thread is in.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};

use crate::kernel_network::{Message, change};

/// The index of the loopback, the first interface of every namespace.
pub(crate) const LOOPBACK: u32 = 1;

/// Adds the address to the loopback, which may have it already.
pub(crate) fn add(address: IpAddr) -> io::Result<()> {
    let flags = NLM_F_CREATE | NLM_F_REPLACE;
    change(Message::NewAddress(of_loopback(address)), flags)
}

pub(crate) fn remove(address: IpAddr) -> io::Result<()> {
    change(Message::DelAddress(of_loopback(address)), 0)
}

fn of_loopback(address: IpAddr) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.index = LOOPBACK;
    (message.header.family, message.header.prefix_len) = match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    // Usable immediately: nobody else can have the address.
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![
        AddressAttribute::Local(address),
        AddressAttribute::Address(address),
    ];
    message
}
