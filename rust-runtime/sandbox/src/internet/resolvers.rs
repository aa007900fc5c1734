//! The resolvers of programs: those that this machine uses, each at an address by which only packs know it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The file that lists a machine's resolvers.
const FILE: &str = "/etc/resolv.conf";

const PORT: u16 = 53;

/// The resolvers' addresses in packs, as many as a C library uses. They are meaningful only within one machine (RFC
/// 7335).
const IN_PACK: [Ipv4Addr; 3] = [
    Ipv4Addr::new(192, 0, 0, 2),
    Ipv4Addr::new(192, 0, 0, 3),
    Ipv4Addr::new(192, 0, 0, 4),
];

/// Returns the machine's resolvers; none if it lists none.
pub(crate) fn of_machine() -> Vec<SocketAddr> {
    named_in(&fs::read_to_string(FILE).unwrap_or_default())
}

fn named_in(file: &str) -> Vec<SocketAddr> {
    let named = file.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let address = words.next().filter(|word| *word == "nameserver");
        address.and(words.next())?.parse::<IpAddr>().ok()
    });
    let all = named.map(|address| SocketAddr::new(address, PORT));
    all.take(IN_PACK.len()).collect()
}

/// Returns their addresses in the pack, in order.
pub(crate) fn in_pack(resolvers: &[SocketAddr]) -> Vec<IpAddr> {
    let known = IN_PACK.into_iter().zip(resolvers);
    known.map(|(address, _)| address.into()).collect()
}

/// Returns the resolver that the pack knows by this address, if any.
pub(crate) fn by_address(resolvers: &[SocketAddr], meant: SocketAddr) -> Option<SocketAddr> {
    let mut known = IN_PACK.into_iter().zip(resolvers);
    let (_, resolver) =
        known.find(|(address, _)| IpAddr::from(*address) == meant.ip() && meant.port() == PORT)?;
    Some(*resolver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolvers_are_read_as_a_c_library_does() {
        let file = "# nameserver 9.9.9.9\nsearch example.org\nnameserver 127.0.0.53\n nameserver\t::1 # own\n\
                    nameserver fe80::1%eth0\nnameserver 10.0.0.2\nnameserver 10.0.0.3\noptions edns0\n";
        let found: Vec<String> = named_in(file).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["127.0.0.53:53", "[::1]:53", "10.0.0.2:53"]);
        assert_eq!(named_in(""), []);
    }
}
