//! The destinations that a pack may reach on the internet.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use crate::internet::{resolvers, routes};

/// Allows all addresses that are neither this machine's nor in the closed ranges, and this machine's resolvers.
#[derive(Debug)]
pub(crate) struct Allowed {
    closed: Vec<IpNet>,
    resolvers: Vec<SocketAddr>,
}

impl Allowed {
    pub(crate) fn new(closed: Vec<IpNet>, resolvers: Vec<SocketAddr>) -> Self {
        Self { closed, resolvers }
    }

    /// Returns the address to connect to for the one that the pack has used, if that is allowed. Only addresses count,
    /// not the names they were resolved from.
    pub(crate) fn target(&self, meant: SocketAddr) -> Option<SocketAddr> {
        // Without the scope, which is meaningful only in the pack.
        let meant = SocketAddr::new(meant.ip().to_canonical(), meant.port());
        resolvers::by_address(&self.resolvers, meant).or_else(|| {
            let allowed = self.is_in_no_range(meant.ip())
                // Asked each time: a machine's addresses change.
                && routes::leads_elsewhere(meant.ip()).unwrap_or(false);
            allowed.then_some(meant)
        })
    }

    /// Unspecified addresses, to which the kernel connects all the same, count as closed.
    fn is_in_no_range(&self, address: IpAddr) -> bool {
        let closed = self.closed.iter().any(|range| range.contains(&address));
        !closed && !address.is_unspecified()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn allowed(closed: &[&str]) -> Allowed {
        let closed = closed.iter().map(|range| range.parse().unwrap()).collect();
        Allowed::new(closed, vec!["127.0.0.53:53".parse().unwrap()])
    }

    #[test]
    fn no_form_of_an_address_in_a_closed_range_is_allowed() {
        let allowed = allowed(&["10.0.0.0/8", "169.254.0.0/16", "::/3", "8000::/1"]);
        for closed in [
            "10.0.0.1:80",
            "10.255.255.255:80",
            "169.254.169.254:80",
            "[::ffff:10.0.0.1]:80",
            "[64:ff9b::a00:1]:80",
            "[fe80::1]:80",
            "[fd00::1]:80",
            "0.0.0.0:80",
            "[::]:80",
        ] {
            assert_eq!(allowed.target(closed.parse().unwrap()), None, "{closed}");
        }
        assert!(allowed.is_in_no_range("198.51.100.7".parse().unwrap()));
        assert!(allowed.is_in_no_range("2001:db8::7".parse().unwrap()));
    }

    #[test]
    fn the_machine_itself_is_not_part_of_the_internet() {
        let allowed = allowed(&[]);
        for own in [
            "127.0.0.1:80",
            "127.1.2.3:53",
            "[::ffff:127.0.0.1]:80",
            "[::1]:80",
            "0.0.0.0:80",
            "[::]:80",
        ] {
            assert_eq!(allowed.target(own.parse().unwrap()), None, "{own}");
        }
        for many in ["224.0.0.1:80", "255.255.255.255:80", "[ff02::1]:80"] {
            assert_eq!(allowed.target(many.parse().unwrap()), None, "{many}");
        }
    }

    #[test]
    fn resolvers_are_those_of_the_machine() {
        let allowed = allowed(&["192.0.0.0/24"]);
        let [first, second] = ["192.0.0.2:53", "192.0.0.3:53"].map(|it| it.parse().unwrap());
        assert_eq!(
            allowed.target(first),
            Some("127.0.0.53:53".parse().unwrap())
        );
        assert_eq!(allowed.target(second), None);
        let other_port = "192.0.0.2:80".parse().unwrap();
        assert_eq!(allowed.target(other_port), None);
    }
}
