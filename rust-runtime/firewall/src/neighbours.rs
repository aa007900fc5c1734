//! Room in the kernel's table of neighbours: whom each network card has looked for on its network.
//!
//! A machine has one such table for all containers, and where it is full nobody finds anybody. By default it has 1024
//! places, which 33 containers take that all talk to each other, or one that looks for all of a large network.

use std::fs;
use std::io;

use crate::netlink::{Attributes, Netlink};

const SET_NEIGHBOUR_TABLE: u16 = 67;
const IPV4: u8 = 2;

const NAME: u16 = 1;
const TABLE: &str = "arp_cache";

/// How many there may be, and beyond how many those are forgotten that were not heard of for five seconds.
const LIMITS: [(&str, u16); 2] = [("gc_thresh3", 4), ("gc_thresh2", 3)];

/// Makes room for so many, unless there is; never takes any away. Only on the machine's own network.
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
    fn enough_is_left_as_it_is_and_another_network_than_the_machines_has_no_say() {
        if !namespace::enter(
            "neighbours::tests::enough_is_left_as_it_is_and_another_network_than_the_machines_has_no_say",
        ) {
            return;
        }
        // Who is not root does not see the limits there.
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
