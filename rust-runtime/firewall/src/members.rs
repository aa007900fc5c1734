//! Who may reach whom: computes the contents of the kernel's sets from the members of the network.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// The transport protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }
}

/// A port of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Destination {
    /// The protocol.
    pub protocol: Protocol,
    /// The server's address.
    pub address: Ipv4Addr,
    /// The port on which it listens.
    pub port: u16,
}

/// A pack that has been admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The flare, or the group, whose packs it may reach.
    pub flare: String,
    /// Whether it may reach the internet.
    pub egress: bool,
    /// What it may reach in any case: its backend.
    pub reach: Vec<Destination>,
}

/// An entry of one of the kernel's sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    /// The first may send to the second.
    Pair(Ipv4Addr, Ipv4Addr),
    Reach(Ipv4Addr, Destination),
    Egress(Ipv4Addr),
}

/// A change of the sets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) removed: Vec<Entry>,
    pub(crate) added: Vec<Entry>,
}

/// The members, by their addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members(BTreeMap<Ipv4Addr, Member>);

impl Members {
    /// Returns the members with this one at the address, or with none there, and the change that
    /// this makes.
    pub(crate) fn with(&self, address: Ipv4Addr, member: Option<Member>) -> (Self, Change) {
        let before = self.entries(address);
        let mut next = self.clone();
        match member {
            Some(member) => next.0.insert(address, member),
            None => next.0.remove(&address),
        };
        let after = next.entries(address);
        let change = Change {
            removed: before.difference(&after).copied().collect(),
            added: after.difference(&before).copied().collect(),
        };
        (next, change)
    }

    /// The entries that the address has in the sets.
    fn entries(&self, address: Ipv4Addr) -> BTreeSet<Entry> {
        let Some(member) = self.0.get(&address) else {
            return BTreeSet::new();
        };
        let peers = (self.0.iter())
            .filter(|(peer, other)| **peer != address && other.flare == member.flare)
            .flat_map(|(peer, _)| [Entry::Pair(address, *peer), Entry::Pair(*peer, address)]);
        let reach = member.reach.iter().map(|to| Entry::Reach(address, *to));
        let egress = member.egress.then_some(Entry::Egress(address));
        peers.chain(reach).chain(egress).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(172, 20, 0, 2);
    const B: Ipv4Addr = Ipv4Addr::new(172, 20, 0, 3);
    const C: Ipv4Addr = Ipv4Addr::new(172, 20, 0, 4);
    const REDIS: Destination = Destination {
        protocol: Protocol::Tcp,
        address: Ipv4Addr::new(10, 0, 0, 9),
        port: 6379,
    };

    fn of(flare: &str) -> Member {
        Member {
            flare: flare.to_owned(),
            egress: false,
            reach: Vec::new(),
        }
    }

    fn joined(members: &[(Ipv4Addr, Member)]) -> Members {
        let add =
            |all: Members, (at, member): &(Ipv4Addr, Member)| all.with(*at, Some(member.clone())).0;
        members.iter().fold(Members::default(), add)
    }

    #[test]
    fn packs_of_a_flare_are_paired_and_others_are_not() {
        let (_, change) = joined(&[(A, of("f")), (C, of("g"))]).with(B, Some(of("f")));
        assert_eq!(change.added, [Entry::Pair(A, B), Entry::Pair(B, A)]);
        assert_eq!(change.removed, []);
    }

    #[test]
    fn all_entries_of_a_leaving_member_are_removed() {
        let mut member = of("f");
        member.egress = true;
        member.reach.push(REDIS);
        let all = joined(&[(A, of("f")), (B, member), (C, of("g"))]);
        let (rest, change) = all.with(B, None);
        let had = [
            Entry::Pair(A, B),
            Entry::Pair(B, A),
            Entry::Reach(B, REDIS),
            Entry::Egress(B),
        ];
        assert_eq!(change.removed, had);
        assert_eq!(rest.with(B, None).1, Change::default());
    }

    #[test]
    fn a_member_that_joins_another_flare_leaves_the_first() {
        let all = joined(&[(A, of("f")), (B, of("f")), (C, of("g"))]);
        let (_, change) = all.with(B, Some(of("g")));
        assert_eq!(change.removed, [Entry::Pair(A, B), Entry::Pair(B, A)]);
        assert_eq!(change.added, [Entry::Pair(B, C), Entry::Pair(C, B)]);
    }
}
