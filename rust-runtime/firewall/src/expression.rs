//! A rule as the kernel takes it: expressions, each of which must match for the next to be evaluated, and a verdict.
//! Their names are those of `nft --debug=netlink`.

use std::net::IpAddr;

use crate::members::Protocol;
use crate::netlink::Attributes;
use crate::network_policy::Range;
use crate::set::Set;

const TCP: u8 = 6;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// States of a connection, one bit each.
pub(crate) const ESTABLISHED: u32 = 2;
pub(crate) const RELATED: u32 = 4;

/// One of the kernel's registers of one word each.
#[derive(Debug, Clone, Copy)]
struct Register(u32);

const FIRST: Register = Register(8);

impl Register {
    fn after(self, words: u32) -> Self {
        Self(self.0 + words)
    }
}

/// Properties of a packet that `meta` loads.
#[derive(Debug, Clone, Copy)]
enum Meta {
    Protocol = 1,
    IifName = 6,
    OifName = 7,
    L4Proto = 16,
}

/// Properties of a packet's connection that `ct` loads.
#[derive(Debug, Clone, Copy)]
enum Ct {
    State = 0,
    ProtoDst = 12,
    DstIp = 20,
}

/// A header of a packet.
#[derive(Debug, Clone, Copy)]
enum Header {
    Network = 1,
    Transport = 2,
}

/// A field of a packet: its offset in the header, and its length, both in bytes.
#[derive(Debug, Clone, Copy)]
struct Field {
    header: Header,
    offset: u32,
    length: u32,
}

const SADDR: Field = Field {
    header: Header::Network,
    offset: 12,
    length: 4,
};
const DADDR: Field = Field {
    header: Header::Network,
    offset: 16,
    length: 4,
};
const SADDR6: Field = Field {
    header: Header::Network,
    offset: 8,
    length: 16,
};
const DADDR6: Field = Field {
    header: Header::Network,
    offset: 24,
    length: 16,
};
const SPORT: Field = Field {
    header: Header::Transport,
    offset: 0,
    length: 2,
};
const DPORT: Field = Field {
    header: Header::Transport,
    offset: 2,
    length: 2,
};

/// How `cmp` compares.
#[derive(Debug, Clone, Copy)]
enum Comparison {
    Eq = 0,
    Neq = 1,
}

/// A sequence of expressions.
#[derive(Debug, Default)]
pub(crate) struct Rule(Attributes);

impl Rule {
    /// Matches IPv4 only.
    pub(crate) fn ipv4() -> Self {
        Self::default()
            .meta(Meta::Protocol, FIRST)
            .eq(&IPV4.to_be_bytes())
    }

    /// Matches packets from this address to any other.
    pub(crate) fn away_from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => {
                let rule = Self::ipv4().payload(SADDR, FIRST).eq(&address.octets());
                rule.payload(DADDR, FIRST).neq(&address.octets())
            }
            IpAddr::V6(address) => {
                let rule = Self::default().meta(Meta::Protocol, FIRST);
                let rule = rule.eq(&IPV6.to_be_bytes()).payload(SADDR6, FIRST);
                let rule = rule.eq(&address.octets()).payload(DADDR6, FIRST);
                rule.neq(&address.octets())
            }
        }
    }

    pub(crate) fn protocol(self, protocol: Protocol) -> Self {
        self.meta(Meta::L4Proto, FIRST).eq(&[protocol.number()])
    }

    pub(crate) fn iifname(self, name: &str) -> Self {
        self.meta(Meta::IifName, FIRST).eq(&card(name))
    }

    pub(crate) fn iifname_not(self, name: &str) -> Self {
        self.meta(Meta::IifName, FIRST).neq(&card(name))
    }

    pub(crate) fn oifname(self, name: &str) -> Self {
        self.meta(Meta::OifName, FIRST).eq(&card(name))
    }

    pub(crate) fn saddr(self, range: Range) -> Self {
        self.payload(SADDR, FIRST).within(range)
    }

    pub(crate) fn daddr(self, range: Range) -> Self {
        self.payload(DADDR, FIRST).within(range)
    }

    pub(crate) fn tcp_sport(self, port: u16) -> Self {
        self.tcp().payload(SPORT, FIRST).eq(&port.to_be_bytes())
    }

    pub(crate) fn tcp_dport(self, port: u16) -> Self {
        self.tcp().payload(DPORT, FIRST).eq(&port.to_be_bytes())
    }

    /// Matches if the connection is in one of these states.
    pub(crate) fn ct_state(self, states: u32) -> Self {
        self.ct(Ct::State, None, FIRST)
            .bitwise(&states.to_ne_bytes())
            .neq(&[0; 4])
    }

    /// Matches if the connection's original destination is in the range, and has its port if the range has one.
    pub(crate) fn ct_original_daddr(self, range: Range) -> Self {
        let to = self.original(Ct::DstIp, FIRST).within(range);
        match range.port {
            Some(port) => to.original(Ct::ProtoDst, FIRST).eq(&port.to_be_bytes()),
            None => to,
        }
    }

    /// Matches if the source address is in the set.
    pub(crate) fn saddr_in(self, set: &Set) -> Self {
        self.payload(SADDR, FIRST).lookup(set)
    }

    /// Matches if the source and destination addresses are in the set.
    pub(crate) fn addresses_in(self, set: &Set) -> Self {
        self.payload(SADDR, FIRST)
            .payload(DADDR, FIRST.after(1))
            .lookup(set)
    }

    /// Matches if the source address, and the protocol, address and port of the connection's original destination, are
    /// in the set.
    pub(crate) fn destination_in(self, set: &Set) -> Self {
        self.payload(SADDR, FIRST)
            .original(Ct::DstIp, FIRST.after(1))
            .meta(Meta::L4Proto, FIRST.after(2))
            .original(Ct::ProtoDst, FIRST.after(3))
            .lookup(set)
    }

    pub(crate) fn accept(self) -> Self {
        self.verdict(1)
    }

    pub(crate) fn drop(self) -> Self {
        self.verdict(0)
    }

    /// Passes the packet to a transparent socket on this port, whatever its address.
    pub(crate) fn tproxy(self, family: u8, port: u16) -> Self {
        let value = Attributes::default().number(1, FIRST.0);
        let to = Attributes::default().number(1, family.into());
        self.expression("immediate", &value.data(2, &port.to_be_bytes()))
            .expression("tproxy", &to.number(3, FIRST.0))
    }

    /// Rejects the packet with an ICMP error, so that the sender need not wait for an answer.
    pub(crate) fn reject(self) -> Self {
        let (icmpx, prohibited) = (2, 3);
        let reason = Attributes::default().number(1, icmpx);
        self.expression("reject", &reason.bytes(2, &[prohibited]))
    }

    /// The expressions as attributes of a message.
    pub(crate) fn expressions(&self) -> &Attributes {
        &self.0
    }

    fn tcp(self) -> Self {
        self.meta(Meta::L4Proto, FIRST).eq(&[TCP])
    }

    fn within(self, range: Range) -> Self {
        self.bitwise(&range.mask()).eq(&range.network())
    }

    fn original(self, key: Ct, into: Register) -> Self {
        self.ct(key, Some(0), into)
    }

    fn eq(self, value: &[u8]) -> Self {
        self.cmp(Comparison::Eq, value)
    }

    fn neq(self, value: &[u8]) -> Self {
        self.cmp(Comparison::Neq, value)
    }

    // The kernel's expressions, with their attributes in its order.

    fn meta(self, key: Meta, into: Register) -> Self {
        let attributes = Attributes::default().number(1, into.0);
        self.expression("meta", &attributes.number(2, key as u32))
    }

    fn payload(self, field: Field, into: Register) -> Self {
        let attributes = Attributes::default()
            .number(1, into.0)
            .number(2, field.header as u32)
            .number(3, field.offset)
            .number(4, field.length);
        self.expression("payload", &attributes)
    }

    fn ct(self, key: Ct, direction: Option<u8>, into: Register) -> Self {
        let attributes = Attributes::default()
            .number(1, into.0)
            .number(2, key as u32);
        let attributes = match direction {
            Some(direction) => attributes.bytes(3, &[direction]),
            None => attributes,
        };
        self.expression("ct", &attributes)
    }

    fn cmp(self, how: Comparison, value: &[u8]) -> Self {
        let operands = Attributes::default()
            .number(1, FIRST.0)
            .number(2, how as u32);
        self.expression("cmp", &operands.data(3, value))
    }

    fn bitwise(self, mask: &[u8; 4]) -> Self {
        let operands = Attributes::default().number(1, FIRST.0).number(2, FIRST.0);
        let masks = operands.number(3, 4).data(4, mask).data(5, &[0; 4]);
        self.expression("bitwise", &masks)
    }

    fn lookup(self, set: &Set) -> Self {
        let lookup = Attributes::default().text(1, set.name).number(2, FIRST.0);
        self.expression("lookup", &lookup.number(4, set.id))
    }

    fn verdict(self, code: u32) -> Self {
        let verdict = Attributes::default().number(1, code);
        let data = Attributes::default().nested(2, &verdict);
        self.expression(
            "immediate",
            &Attributes::default().number(1, 0).nested(2, &data),
        )
    }

    fn expression(self, name: &str, data: &Attributes) -> Self {
        let expression = Attributes::default().text(1, name).nested(2, data);
        Self(self.0.nested(1, &expression))
    }
}

/// An interface's name as the kernel compares it.
fn card(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    let length = name.len().min(15);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}
