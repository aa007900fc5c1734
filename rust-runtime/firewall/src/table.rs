//! The rules, as the kernel has them. In `nft`'s words, with `BRIDGE`, `NET` and `CONTROL` of the
//! [`Fence`]:
//!
//! ```text
//! table bridge NAME {          # from pack to pack
//!     set pairs { type ipv4_addr . ipv4_addr }
//!     chain forward {
//!         type filter hook forward priority 0
//!         ip saddr NET tcp dport CONTROL drop     # orders come from the invoker
//!         ip saddr . ip daddr @pairs accept
//!         ip saddr NET drop
//!         ip daddr NET drop
//!     }
//! }
//! table inet NAME {            # to and from everything else
//!     set reach  { type ipv4_addr . ipv4_addr . inet_proto . inet_service }
//!     set egress { type ipv4_addr }
//!     chain input {
//!         type filter hook input priority -10
//!         iifname != BRIDGE accept
//!         tcp sport CONTROL ct state established accept
//!         @reach, as below, and the open ranges that have a port, accept; reject
//!     }
//!     chain forward {
//!         type filter hook forward priority -10
//!         iifname BRIDGE oifname BRIDGE accept      # seen above
//!         oifname BRIDGE ct state established,related accept
//!         oifname BRIDGE drop
//!         iifname != BRIDGE accept
//!         ip saddr . ct original ip daddr . l4proto . ct original proto-dst @reach accept
//!         the open ranges accept; the closed ones reject
//!         ip saddr @egress accept
//!         reject
//!     }
//! }
//! ```
//!
//! Where something is going is taken from the connection's beginning: that is what was allowed,
//! also where the machine passes it on to another address. Packs cannot pretend to be others, as
//! they may not make packets themselves.

use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::Error;
use crate::members::{Change, Entry};
use crate::netlink::{APPEND, Attributes, Batch, CREATE, Netlink};

pub(crate) const INET: u8 = 1;
pub(crate) const BRIDGE: u8 = 7;

pub(crate) const NEW_TABLE: u16 = 0;
pub(crate) const GET_TABLE: u16 = 1;
pub(crate) const DEL_TABLE: u16 = 2;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
const NEW_SET: u16 = 9;
const NEW_ELEMENT: u16 = 12;
const DEL_ELEMENT: u16 = 14;

const INPUT: u32 = 1;
const FORWARD: u32 = 2;

/// Elements of one message: the length of their list has 16 bits.
const ELEMENTS: usize = 500;

const PAIRS: Set = Set {
    family: BRIDGE,
    name: "pairs",
    id: 1,
    length: 8,
};
const REACH: Set = Set {
    family: INET,
    name: "reach",
    id: 2,
    length: 16,
};
const EGRESS: Set = Set {
    family: INET,
    name: "egress",
    id: 3,
    length: 4,
};

/// Addresses that begin alike, and one of their ports or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    address: Ipv4Addr,
    bits: u8,
    port: Option<u16>,
}

impl Range {
    fn mask(self) -> [u8; 4] {
        let host = u32::MAX.checked_shr(self.bits.into()).unwrap_or(0);
        (!host).to_be_bytes()
    }

    fn network(self) -> [u8; 4] {
        let mask = u32::from_be_bytes(self.mask());
        (self.address.to_bits() & mask).to_be_bytes()
    }
}

impl FromStr for Range {
    type Err = String;

    /// `ADDRESS[/BITS][:PORT]`.
    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("'{text}' is not ADDRESS[/BITS][:PORT], such as 10.0.0.0/8");
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

/// What is fenced in, and what is always open or closed.
#[derive(Debug, Clone)]
pub struct Fence {
    /// The tables' name: nobody else's on this machine.
    pub name: String,
    /// The network's card on this machine.
    pub bridge: String,
    /// Its addresses.
    pub network: Range,
    /// The port by which the invoker orders packs about.
    pub control: u16,
    /// What all may reach; on this machine only with a port.
    pub open: Vec<Range>,
    /// What is no part of the internet.
    pub closed: Vec<Range>,
}

/// The rules in the kernel.
#[derive(Debug)]
pub(crate) struct Table {
    kernel: Netlink,
    name: String,
}

impl Table {
    /// In place of one with the same name: nobody is admitted.
    pub(crate) fn create(kernel: Netlink, fence: &Fence) -> Result<Self, Error> {
        let mut script = Script::new(&fence.name);
        script.replace_table(BRIDGE);
        script.replace_table(INET);
        [PAIRS, REACH, EGRESS]
            .iter()
            .for_each(|set| script.set(set));
        script.between_packs(fence);
        script.guard_machine(fence);
        script.beyond(fence);
        kernel.run(script.batch).map_err(|reason| Error::Kernel {
            what: "the rules that keep packs apart",
            reason,
        })?;
        Ok(Self {
            kernel,
            name: fence.name.clone(),
        })
    }

    pub(crate) fn apply(&self, change: &Change) -> Result<(), Error> {
        if change.added.is_empty() && change.removed.is_empty() {
            return Ok(());
        }
        let mut script = Script::new(&self.name);
        for (kind, flags, entries) in [
            (DEL_ELEMENT, 0, &change.removed),
            (NEW_ELEMENT, CREATE, &change.added),
        ] {
            for set in [PAIRS, REACH, EGRESS] {
                let keys: Vec<_> = entries
                    .iter()
                    .filter_map(|entry| key(&set, entry))
                    .collect();
                for keys in keys.chunks(ELEMENTS) {
                    script.elements((kind, flags), &set, keys);
                }
            }
        }
        self.kernel
            .run(script.batch)
            .map_err(|reason| Error::Kernel {
                what: "to change who may reach whom",
                reason,
            })
    }

    /// Everybody may reach everything again.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let mut script = Script::new(&self.name);
        for family in [BRIDGE, INET] {
            script.push(DEL_TABLE, 0, family, |table| table);
        }
        self.kernel
            .run(script.batch)
            .map_err(|reason| Error::Kernel {
                what: "to remove the rules that kept packs apart",
                reason,
            })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Set {
    family: u8,
    name: &'static str,
    id: u32,
    length: u32,
}

/// What stands for the entry in this set, if it is of it. Each part of a key takes whole words.
fn key(set: &Set, entry: &Entry) -> Option<Vec<u8>> {
    match *entry {
        Entry::Pair(from, to) if *set == PAIRS => Some([from.octets(), to.octets()].concat()),
        Entry::Egress(from) if *set == EGRESS => Some(from.octets().to_vec()),
        Entry::Reach(from, to) if *set == REACH => {
            let port = to.port.to_be_bytes();
            let protocol = [to.protocol.number(), 0, 0, 0];
            Some(
                [
                    from.octets(),
                    to.address.octets(),
                    protocol,
                    [port[0], port[1], 0, 0],
                ]
                .concat(),
            )
        }
        _ => None,
    }
}

/// The kernel's registers of a word each.
#[derive(Debug, Clone, Copy)]
struct Register(u32);

const FIRST: Register = Register(8);

impl Register {
    fn after(self, words: u32) -> Self {
        Self(self.0 + words)
    }
}

/// The steps of one rule, each of which must hold for the next to be taken.
#[derive(Debug, Default)]
struct Rule(Attributes);

impl Rule {
    fn step(self, name: &str, data: &Attributes) -> Self {
        let expression = Attributes::default().text(1, name).nested(2, data);
        Self(self.0.nested(1, &expression))
    }

    fn meta(self, key: u32, into: Register) -> Self {
        self.step(
            "meta",
            &Attributes::default().number(1, into.0).number(2, key),
        )
    }

    /// Of the network's header, or the transport's.
    fn payload(self, base: u32, (offset, length): (u32, u32), into: Register) -> Self {
        let place = Attributes::default().number(1, into.0).number(2, base);
        self.step("payload", &place.number(3, offset).number(4, length))
    }

    /// Of the connection, as it began.
    fn original(self, key: u32, into: Register) -> Self {
        let place = Attributes::default().number(1, into.0).number(2, key);
        self.step("ct", &place.bytes(3, &[0]))
    }

    fn compare(self, operation: u32, value: &[u8]) -> Self {
        let operands = Attributes::default()
            .number(1, FIRST.0)
            .number(2, operation);
        self.step("cmp", &operands.data(3, value))
    }

    fn is(self, value: &[u8]) -> Self {
        self.compare(0, value)
    }

    fn differs_from(self, value: &[u8]) -> Self {
        self.compare(1, value)
    }

    fn masked(self, mask: &[u8; 4]) -> Self {
        let operands = Attributes::default().number(1, FIRST.0).number(2, FIRST.0);
        let masks = operands.number(3, 4).data(4, mask).data(5, &[0; 4]);
        self.step("bitwise", &masks)
    }

    fn found_in(self, set: &Set) -> Self {
        let lookup = Attributes::default().text(1, set.name).number(2, FIRST.0);
        self.step("lookup", &lookup.number(4, set.id))
    }

    fn ipv4(self) -> Self {
        self.meta(1, FIRST).is(&0x0800_u16.to_be_bytes())
    }

    fn arriving_by(self, name: &str) -> Self {
        self.meta(6, FIRST).is(&card(name))
    }

    fn not_from_card(self, name: &str) -> Self {
        self.meta(6, FIRST).differs_from(&card(name))
    }

    fn leaving_by(self, name: &str) -> Self {
        self.meta(7, FIRST).is(&card(name))
    }

    fn protocol(self, number: u8) -> Self {
        self.meta(16, FIRST).is(&[number])
    }

    fn source_in(self, range: Range) -> Self {
        self.payload(1, (12, 4), FIRST)
            .masked(&range.mask())
            .is(&range.network())
    }

    fn destination_in(self, range: Range) -> Self {
        self.payload(1, (16, 4), FIRST)
            .masked(&range.mask())
            .is(&range.network())
    }

    /// Of the connection, in one of its states: a bit for each.
    fn state(self, states: u32) -> Self {
        let state = Attributes::default().number(1, FIRST.0).number(2, 0);
        self.step("ct", &state)
            .masked(&states.to_ne_bytes())
            .differs_from(&[0; 4])
    }

    /// Going to the range, and one of its ports where it has one.
    fn began_to(self, range: Range) -> Self {
        let to = self
            .original(20, FIRST)
            .masked(&range.mask())
            .is(&range.network());
        match range.port {
            Some(port) => to.original(12, FIRST).is(&port.to_be_bytes()),
            None => to,
        }
    }

    fn verdict(self, code: u32) -> Self {
        let verdict = Attributes::default().number(1, code);
        let data = Attributes::default().nested(2, &verdict);
        self.step(
            "immediate",
            &Attributes::default().number(1, 0).nested(2, &data),
        )
    }

    fn accept(self) -> Self {
        self.verdict(1)
    }

    fn discard(self) -> Self {
        self.verdict(0)
    }

    /// Who asks is told, and need not wait for an answer.
    fn reject(self) -> Self {
        self.step("reject", &Attributes::default().number(1, 2).bytes(2, &[3]))
    }
}

/// As the kernel compares names.
fn card(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    let length = name.len().min(15);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}

const ESTABLISHED: u32 = 2;
const RELATED: u32 = 4;
const TCP: u8 = 6;

#[derive(Debug)]
struct Script<'a> {
    table: &'a str,
    batch: Batch,
}

impl<'a> Script<'a> {
    fn new(table: &'a str) -> Self {
        Self {
            table,
            batch: Batch::new(),
        }
    }

    fn push(
        &mut self,
        kind: u16,
        flags: u16,
        family: u8,
        more: impl FnOnce(Attributes) -> Attributes,
    ) {
        let attributes = more(Attributes::default().text(1, self.table));
        self.batch.push(kind, flags, family, &attributes);
    }

    /// There is one to be deleted as soon as one was made.
    fn replace_table(&mut self, family: u8) {
        self.push(NEW_TABLE, CREATE, family, |table| table);
        self.push(DEL_TABLE, 0, family, |table| table);
        self.push(NEW_TABLE, CREATE, family, |table| table);
    }

    fn set(&mut self, set: &Set) {
        self.push(NEW_SET, CREATE, set.family, |table| {
            table
                .text(2, set.name)
                .number(3, 0)
                .number(4, 0)
                .number(5, set.length)
                .number(10, set.id)
        });
    }

    fn elements(&mut self, (kind, flags): (u16, u16), set: &Set, keys: &[Vec<u8>]) {
        let list = keys.iter().fold(Attributes::default(), |list, key| {
            list.nested(1, &Attributes::default().data(1, key))
        });
        self.push(kind, flags, set.family, |table| {
            table.text(2, set.name).nested(3, &list)
        });
    }

    fn chain(&mut self, family: u8, name: &str, (hook, priority): (u32, i32)) {
        let place = Attributes::default()
            .number(1, hook)
            .number(2, priority.cast_unsigned());
        self.push(NEW_CHAIN, CREATE, family, |table| {
            table.text(3, name).nested(4, &place).text(7, "filter")
        });
    }

    fn rule(&mut self, family: u8, chain: &str, rule: &Rule) {
        self.push(NEW_RULE, CREATE | APPEND, family, |table| {
            table.text(2, chain).nested(4, &rule.0)
        });
    }

    /// Packs send within their own network only, and nobody else does.
    fn between_packs(&mut self, fence: &Fence) {
        let chain = "forward";
        self.chain(BRIDGE, chain, (FORWARD, 0));
        let pair = Rule::default()
            .ipv4()
            .payload(1, (12, 4), FIRST)
            .payload(1, (16, 4), FIRST.after(1))
            .found_in(&PAIRS);
        let control = Rule::default()
            .ipv4()
            .source_in(fence.network)
            .protocol(TCP)
            .payload(2, (2, 2), FIRST)
            .is(&fence.control.to_be_bytes());
        self.rule(BRIDGE, chain, &control.discard());
        self.rule(BRIDGE, chain, &pair.accept());
        let from = Rule::default().ipv4().source_in(fence.network);
        self.rule(BRIDGE, chain, &from.discard());
        let to = Rule::default().ipv4().destination_in(fence.network);
        self.rule(BRIDGE, chain, &to.discard());
    }

    fn guard_machine(&mut self, fence: &Fence) {
        let chain = "input";
        self.chain(INET, chain, (INPUT, -10));
        let other = Rule::default().not_from_card(&fence.bridge);
        self.rule(INET, chain, &other.accept());
        let answers = Rule::default()
            .ipv4()
            .protocol(TCP)
            .payload(2, (0, 2), FIRST)
            .is(&fence.control.to_be_bytes())
            .state(ESTABLISHED);
        self.rule(INET, chain, &answers.accept());
        self.admitted(chain);
        for range in fence.open.iter().filter(|range| range.port.is_some()) {
            self.rule(
                INET,
                chain,
                &Rule::default().ipv4().began_to(*range).accept(),
            );
        }
        self.rule(INET, chain, &Rule::default().reject());
    }

    fn beyond(&mut self, fence: &Fence) {
        let chain = "forward";
        let bridge = fence.bridge.as_str();
        self.chain(INET, chain, (FORWARD, -10));
        // Where the kernel shows this chain what a bridge forwards, the other table has decided.
        let within = Rule::default().arriving_by(bridge).leaving_by(bridge);
        self.rule(INET, chain, &within.accept());
        let answers = Rule::default()
            .leaving_by(bridge)
            .state(ESTABLISHED | RELATED);
        self.rule(INET, chain, &answers.accept());
        self.rule(INET, chain, &Rule::default().leaving_by(bridge).discard());
        let other = Rule::default().not_from_card(bridge);
        self.rule(INET, chain, &other.accept());
        self.admitted(chain);
        for range in &fence.open {
            self.rule(
                INET,
                chain,
                &Rule::default().ipv4().began_to(*range).accept(),
            );
        }
        for range in &fence.closed {
            let inner = Rule::default().ipv4().destination_in(*range);
            self.rule(INET, chain, &inner.reject());
            self.rule(
                INET,
                chain,
                &Rule::default().ipv4().began_to(*range).reject(),
            );
        }
        let free = Rule::default()
            .ipv4()
            .payload(1, (12, 4), FIRST)
            .found_in(&EGRESS);
        self.rule(INET, chain, &free.accept());
        self.rule(INET, chain, &Rule::default().reject());
    }

    fn admitted(&mut self, chain: &str) {
        let reach = Rule::default()
            .ipv4()
            .payload(1, (12, 4), FIRST)
            .original(20, FIRST.after(1))
            .meta(16, FIRST.after(2))
            .original(12, FIRST.after(3))
            .found_in(&REACH);
        self.rule(INET, chain, &reach.accept());
    }
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
