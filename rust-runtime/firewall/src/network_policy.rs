//! What an invoker wants isolated.

use std::net::Ipv4Addr;
use std::str::FromStr;

/// Addresses with a common prefix, and one of their ports or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    address: Ipv4Addr,
    bits: u8,
    pub(crate) port: Option<u16>,
}

impl Range {
    pub(crate) fn mask(self) -> [u8; 4] {
        let host = u32::MAX.checked_shr(self.bits.into()).unwrap_or(0);
        (!host).to_be_bytes()
    }

    pub(crate) fn network(self) -> [u8; 4] {
        let mask = u32::from_be_bytes(self.mask());
        (self.address.to_bits() & mask).to_be_bytes()
    }
}

/// A text that is not a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not ADDRESS[/BITS][:PORT], such as 10.0.0.0/8")]
pub struct InvalidRange(String);

impl FromStr for Range {
    type Err = InvalidRange;

    /// Parses `ADDRESS[/BITS][:PORT]`.
    fn from_str(text: &str) -> Result<Self, InvalidRange> {
        let refuse = || InvalidRange(text.to_owned());
        let (network, port) = match text.split_once(':') {
            Some((network, port)) => (network, Some(port.parse().map_err(|_| refuse())?)),
            None => (text, None),
        };
        let (address, bits) = network.split_once('/').unwrap_or((network, "32"));
        let bits = bits.parse().ok().filter(|bits| *bits <= 32);
        Ok(Self {
            address: address.parse().map_err(|_| refuse())?,
            bits: bits.ok_or_else(refuse)?,
            port,
        })
    }
}

/// The network to isolate, and what is always open or closed.
#[derive(Debug, Clone)]
pub struct NetworkPolicy {
    /// The name of the tables, unique on this machine.
    pub name: String,
    /// The network's interface on this machine.
    pub bridge: String,
    /// The network's addresses.
    pub network: Range,
    /// How many neighbours the containers may have in total.
    pub neighbours: u32,
    /// The packs' port on which the invoker controls them.
    pub control: u16,
    /// What all packs may reach; on this machine only ranges with a port.
    pub open: Vec<Range>,
    /// Ranges that are not part of the internet.
    pub closed: Vec<Range>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ranges_are_read_as_they_are_written() {
        let range: Range = "10.1.2.3/8".parse().unwrap();
        assert_eq!(
            (range.network(), range.mask()),
            ([10, 0, 0, 0], [255, 0, 0, 0])
        );
        let one: Range = "10.1.2.3:9000".parse().unwrap();
        assert_eq!((one.network(), one.port), ([10, 1, 2, 3], Some(9000)));
        let all: Range = "0.0.0.0/0".parse().unwrap();
        assert_eq!(all.mask(), [0; 4]);
        for wrong in [
            "",
            "10",
            "10.0.0.0/33",
            "10.0.0.0/8:",
            "fe80::1",
            "10.0.0.1:99999",
        ] {
            assert!(wrong.parse::<Range>().is_err(), "{wrong}");
        }
    }
}
