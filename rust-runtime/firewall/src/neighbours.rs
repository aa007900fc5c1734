//! Room in the kernel's neighbour (ARP) table: the hosts that each interface has looked up on its network.
//!
//! A machine has one such table for all containers, and when it is full no further neighbours are found. By default it
//! has 1024 entries, which are taken by 33 containers that all talk to each other, or by one that looks up all of a
//! large network.

use std::fs;
use std::io;

use crate::netlink::{Attributes, Netlink};

const SET_NEIGHBOUR_TABLE: u16 = 67;
const IPV4: u8 = 2;

const NAME: u16 = 1;
const TABLE: &str = "arp_cache";

/// The most entries, and the number beyond which the kernel drops those that were not heard from for five seconds.
const LIMITS: [(&str, u16); 2] = [("gc_thresh3", 4), ("gc_thresh2", 3)];

/// Makes room for so many entries, unless there is enough; never reduces it. Works only in the machine's own network
/// namespace.
pub(crate) fn make_room(wanted: u32) -> io::Result<()> {
    for (limit, attribute) in LIMITS {
        if room(limit)? < wanted {
            let attributes = Attributes::default()
                .text(NAME, TABLE)
                .bytes(attribute, &wanted.to_ne_bytes());
            Netlink::of_routes()?.tell(SET_NEIGHBOUR_TABLE, IPV4, &attributes)?;
        }
    }
    Ok(())
}

fn room(limit: &str) -> io::Result<u32> {
    let text = fs::read_to_string(format!("/proc/sys/net/ipv4/neigh/default/{limit}"))?;
    text.trim().parse().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::namespace;

    #[test]
    fn a_sufficient_limit_stays_and_other_networks_cannot_change_it() {
        if !namespace::enter(
            "neighbours::tests::a_sufficient_limit_stays_and_other_networks_cannot_change_it",
        ) {
            return;
        }
        // There an ordinary user does not see the limits.
        let unseen = room(LIMITS[0].0).is_err();
        assert!(unseen || make_room(0).is_ok());
        let attributes = Attributes::default()
            .text(NAME, TABLE)
            .bytes(4, &1024_u32.to_ne_bytes());
        let line = Netlink::of_routes().unwrap();
        let refused = line.tell(SET_NEIGHBOUR_TABLE, IPV4, &attributes);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::NotFound);
        let unknown = Attributes::default().text(NAME, "nobody's");
        let refused = line.tell(SET_NEIGHBOUR_TABLE, IPV4, &unknown);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
