//! Routes of the network namespace that the calling thread is in.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};

use crate::addresses::LOOPBACK;
use crate::kernel_network::{Message, change, get};

/// Adds a route that leads everything without another route back to the loopback, with `source` as its source address
/// unless a program chooses another.
pub(crate) fn add_loopback_route(source: IpAddr) -> io::Result<()> {
    let flags = NLM_F_CREATE | NLM_F_EXCL;
    change(Message::NewRoute(loopback_route(source)), flags)
}

/// Removes the route of [`add_loopback_route`].
pub(crate) fn remove_loopback_route(source: IpAddr) -> io::Result<()> {
    change(Message::DelRoute(loopback_route(source)), 0)
}

/// Whether the address belongs to a single host elsewhere: it is neither this machine's own nor a multicast or
/// broadcast address; nor, with IPv6, in this machine's own network, whose hosts have global addresses as well.
pub(crate) fn leads_elsewhere(address: IpAddr) -> io::Result<bool> {
    let mut asked = of(address);
    asked.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
    asked.attributes = vec![RouteAttribute::Destination(plain(address))];
    match get(Message::GetRoute(asked))? {
        Message::NewRoute(found) => {
            let by_gateway = |it: &RouteAttribute| {
                matches!(it, RouteAttribute::Gateway(_) | RouteAttribute::Via(_))
            };
            let away = address.is_ipv4() || found.attributes.iter().any(by_gateway);
            Ok(found.header.kind == RouteType::Unicast && away)
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn loopback_route(source: IpAddr) -> RouteMessage {
    let mut route = of(source);
    route.header.table = RouteHeader::RT_TABLE_MAIN;
    route.header.protocol = RouteProtocol::Static;
    route.header.scope = RouteScope::Host;
    route.header.kind = RouteType::Local;
    route.attributes = vec![
        RouteAttribute::Oif(LOOPBACK),
        RouteAttribute::PrefSource(plain(source)),
    ];
    route
}

fn of(address: IpAddr) -> RouteMessage {
    let mut route = RouteMessage::default();
    route.header.address_family = match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    route
}

fn plain(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}
