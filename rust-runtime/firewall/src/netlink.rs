//! The kernel's nf_tables, by its own messages: `linux/netfilter/nf_tables.h`.

use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

const NETLINK: i32 = 16;
const NETFILTER: i32 = 12;
const NF_TABLES: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const ERROR: u16 = 2;
const NESTED: u16 = 0x8000;

/// A request; one that asks for an answer.
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
/// What is to be made, and at the end of what is there.
pub(crate) const CREATE: u16 = 0x400;
pub(crate) const APPEND: u16 = 0x800;

/// The kernel answers at once.
const ANSWER: Duration = Duration::from_secs(5);

/// Attributes, one after the other.
#[derive(Debug, Default, Clone)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    pub(crate) fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        // A length is of 16 bits: callers keep to it.
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub(crate) fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    pub(crate) fn text(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.bytes(kind, &bytes)
    }

    pub(crate) fn nested(self, kind: u16, inner: &Attributes) -> Self {
        self.bytes(kind | NESTED, &inner.0)
    }

    /// As data are wrapped everywhere.
    pub(crate) fn data(self, kind: u16, value: &[u8]) -> Self {
        self.nested(kind, &Attributes::default().bytes(1, value))
    }
}

/// What the kernel does as a whole or not at all.
#[derive(Debug)]
pub(crate) struct Batch {
    messages: Vec<u8>,
    count: u32,
    last: usize,
}

impl Batch {
    pub(crate) fn new() -> Self {
        let mut batch = Self {
            messages: Vec::new(),
            count: 0,
            last: 0,
        };
        batch.message(BATCH_BEGIN, 0, (0, NF_TABLES), &Attributes::default());
        batch
    }

    /// One of nf_tables' messages, for a family of protocols.
    pub(crate) fn push(&mut self, kind: u16, flags: u16, family: u8, attributes: &Attributes) {
        self.message(NF_TABLES << 8 | kind, flags, (family, 0), attributes);
    }

    fn message(
        &mut self,
        kind: u16,
        flags: u16,
        (family, resource): (u8, u16),
        attributes: &Attributes,
    ) {
        self.last = self.messages.len();
        let length = 20 + attributes.0.len();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.messages.extend(length.to_ne_bytes());
        self.messages.extend(kind.to_ne_bytes());
        self.messages.extend((REQUEST | flags).to_ne_bytes());
        self.messages.extend(self.count.to_ne_bytes());
        self.messages.extend(0_u32.to_ne_bytes());
        self.messages.extend([family, 0]);
        self.messages.extend(resource.to_be_bytes());
        self.messages.extend(&attributes.0);
        self.count += 1;
    }

    /// Its bytes, and the number of the message that is answered last.
    fn finish(mut self) -> (Vec<u8>, u32) {
        let asked = self.count - 1;
        let flags = self.last + 6;
        self.messages[flags] |= ACKNOWLEDGE as u8;
        self.message(BATCH_END, 0, (0, NF_TABLES), &Attributes::default());
        (self.messages, asked)
    }
}

/// A line to the kernel's nf_tables.
#[derive(Debug)]
pub(crate) struct Netlink(Socket);

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        let socket = Socket::new(
            Domain::from(NETLINK),
            Type::RAW,
            Some(Protocol::from(NETFILTER)),
        )?;
        socket.set_read_timeout(Some(ANSWER))?;
        Ok(Self(socket))
    }

    /// Whether the kernel did it; the first reason if not.
    pub(crate) fn run(&self, batch: Batch) -> io::Result<()> {
        let (messages, last) = batch.finish();
        self.0.send(&messages)?;
        let mut answers = vec![0; 64 << 10];
        let mut refused = Ok(());
        loop {
            let length = (&self.0).read(&mut answers)?;
            let mut rest = &answers[..length];
            while let Some((code, number)) = next_answer(&mut rest)? {
                if code != 0 && refused.is_ok() {
                    refused = Err(io::Error::from_raw_os_error(-code));
                }
                // The batch's own end or beginning is answered only when there is no batch.
                if number == last || number == 0 {
                    return refused;
                }
            }
        }
    }
}

/// The code and the number of the next message that is an answer.
fn next_answer(rest: &mut &[u8]) -> io::Result<Option<(i32, u32)>> {
    let cut = || io::Error::from(ErrorKind::UnexpectedEof);
    let word = |bytes: &[u8], at: usize| -> io::Result<[u8; 4]> {
        let part = bytes.get(at..at + 4).ok_or_else(cut)?;
        part.try_into().map_err(|_| cut())
    };
    while !rest.is_empty() {
        let length = u32::from_ne_bytes(word(rest, 0)?) as usize;
        let message = rest.get(..length.max(16)).ok_or_else(cut)?;
        let kind = word(message, 4)?;
        let answer = match u16::from_ne_bytes([kind[0], kind[1]]) {
            ERROR => Some((
                i32::from_ne_bytes(word(message, 16)?),
                u32::from_ne_bytes(word(message, 8)?),
            )),
            _ => None,
        };
        *rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        if answer.is_some() {
            return Ok(answer);
        }
    }
    Ok(None)
}
