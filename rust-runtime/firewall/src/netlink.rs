//! The kernel's netlink messages for nf_tables (`linux/netfilter/nf_tables.h`) and for the network configuration
//! (`linux/rtnetlink.h`).

use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

const NETLINK: i32 = 16;
const NETFILTER: i32 = 12;
const ROUTES: i32 = 0;
const NF_TABLES: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const NESTED: u16 = 0x8000;

/// Flags: a request; a request for an acknowledgement; a request for all items.
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const DUMP: u16 = 0x300;
/// The dumped items have changed since the dump began.
const INTERRUPTED: u16 = 0x10;
/// Creates the item, and appends it to those that exist.
pub(crate) const CREATE: u16 = 0x400;
pub(crate) const APPEND: u16 = 0x800;

/// How long to wait for the kernel, which answers immediately.
const ANSWER: Duration = Duration::from_secs(5);

/// How often a dump is tried that concurrent changes interrupt.
const DUMPS: usize = 10;

/// A sequence of attributes.
#[derive(Debug, Default, Clone)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    pub(crate) fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        // A length has 16 bits: callers keep to that.
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

    /// Adds a value in the nested attribute that wraps data everywhere.
    pub(crate) fn data(self, kind: u16, value: &[u8]) -> Self {
        self.nested(kind, &Attributes::default().bytes(1, value))
    }
}

/// The attributes of a message, each with its kind.
pub(crate) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header: [u8; 4] = *rest.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([header[2], header[3]]), value))
    })
}

/// A command for nf_tables: the kind of its message, and its flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
}

/// A batch of messages that the kernel executes as a whole or not at all.
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
        batch.message(Head::around(BATCH_BEGIN), &Attributes::default());
        batch
    }

    /// Adds a message for nf_tables, for a family of protocols.
    pub(crate) fn push(&mut self, command: Command, family: u8, attributes: &Attributes) {
        let head = Head {
            kind: NF_TABLES << 8 | command.kind,
            flags: command.flags,
            family,
            ..Head::default()
        };
        self.message(head, attributes);
    }

    fn message(&mut self, mut head: Head, attributes: &Attributes) {
        self.last = self.messages.len();
        head.number = self.count;
        head.write(&mut self.messages, attributes);
        self.count += 1;
    }

    /// Returns the batch's bytes, and the number of the message that is answered last.
    fn finish(mut self) -> (Vec<u8>, u32) {
        let asked = self.count - 1;
        let flags = self.last + 6;
        self.messages[flags] |= ACKNOWLEDGE as u8;
        self.message(Head::around(BATCH_END), &Attributes::default());
        (self.messages, asked)
    }
}

/// The header of a request.
#[derive(Debug, Default)]
struct Head {
    kind: u16,
    /// Flags besides that of a request.
    flags: u16,
    number: u32,
    /// The family of protocols.
    family: u8,
    /// The subsystem of the kernel.
    resource: u16,
}

impl Head {
    /// The header of the messages at the beginning and the end of a batch.
    fn around(kind: u16) -> Self {
        Self {
            kind,
            resource: NF_TABLES,
            ..Self::default()
        }
    }

    /// Appends the request.
    fn write(&self, to: &mut Vec<u8>, attributes: &Attributes) {
        let length = u32::try_from(20 + attributes.0.len()).unwrap_or(u32::MAX);
        to.extend(length.to_ne_bytes());
        to.extend(self.kind.to_ne_bytes());
        to.extend((REQUEST | self.flags).to_ne_bytes());
        to.extend(self.number.to_ne_bytes());
        to.extend(0_u32.to_ne_bytes());
        to.extend([self.family, 0]);
        to.extend(self.resource.to_be_bytes());
        to.extend(&attributes.0);
    }
}

/// A netlink socket to one subsystem of the kernel.
#[derive(Debug)]
pub(crate) struct Netlink(Socket);

impl Netlink {
    /// Connects to nf_tables.
    pub(crate) fn open() -> io::Result<Self> {
        Self::to(NETFILTER)
    }

    /// Connects to the subsystem of interfaces, addresses, routes and neighbours.
    pub(crate) fn of_routes() -> io::Result<Self> {
        Self::to(ROUTES)
    }

    fn to(part: i32) -> io::Result<Self> {
        let protocol = Some(Protocol::from(part));
        let socket = Socket::new(Domain::from(NETLINK), Type::RAW, protocol)?;
        socket.set_read_timeout(Some(ANSWER))?;
        Ok(Self(socket))
    }

    /// Sends a single request, and returns the kernel's result.
    pub(crate) fn tell(&self, kind: u16, family: u8, attributes: &Attributes) -> io::Result<()> {
        let mut request = Vec::new();
        let head = Head {
            kind,
            flags: ACKNOWLEDGE,
            number: 1,
            family,
            ..Head::default()
        };
        head.write(&mut request, attributes);
        self.0.send(&request)?;
        let datagram = self.receive()?;
        match next_message(&mut datagram.as_slice())? {
            Some(answer) if answer.kind == ERROR => answer.answer(),
            _ => Err(cut()),
        }
    }

    /// Sends a batch; returns the first error if the kernel refuses it.
    pub(crate) fn run(&self, batch: Batch) -> io::Result<()> {
        let (messages, last) = batch.finish();
        self.0.send(&messages)?;
        let mut refused = Ok(());
        loop {
            let datagram = self.receive()?;
            let mut rest = datagram.as_slice();
            while let Some(message) = next_message(&mut rest)? {
                if message.kind != ERROR {
                    continue;
                }
                let answer = message.answer();
                if refused.is_ok() {
                    refused = answer;
                }
                // The batch's own end or beginning is answered only when there is no batch.
                if message.number == last || message.number == 0 {
                    return refused;
                }
            }
        }
    }

    /// Returns all items of a kind, of every family.
    pub(crate) fn dump(&self, kind: u16) -> io::Result<Vec<Dumped>> {
        for _ in 0..DUMPS {
            if let Some(all) = self.dump_once(kind)? {
                return Ok(all);
            }
        }
        Err(ErrorKind::ResourceBusy.into())
    }

    /// Returns `None` if the items changed during the dump.
    fn dump_once(&self, kind: u16) -> io::Result<Option<Vec<Dumped>>> {
        let mut request = Vec::new();
        let head = Head {
            kind: NF_TABLES << 8 | kind,
            flags: DUMP,
            ..Head::default()
        };
        head.write(&mut request, &Attributes::default());
        self.0.send(&request)?;
        let mut all = Vec::new();
        let mut consistent = true;
        loop {
            let datagram = self.receive()?;
            let mut rest = datagram.as_slice();
            while let Some(message) = next_message(&mut rest)? {
                consistent &= message.flags & INTERRUPTED == 0;
                match message.kind {
                    DONE => return Ok(consistent.then_some(all)),
                    ERROR => message.answer()?,
                    _ => {
                        let (head, attributes) =
                            message.body.split_at_checked(4).ok_or_else(cut)?;
                        all.push(Dumped {
                            family: head[0],
                            attributes: attributes.to_vec(),
                        });
                    }
                }
            }
        }
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut datagram = vec![0; 64 << 10];
        let length = (&self.0).read(&mut datagram)?;
        datagram.truncate(length);
        Ok(datagram)
    }
}

/// One item of a dump.
#[derive(Debug)]
pub(crate) struct Dumped {
    pub(crate) family: u8,
    pub(crate) attributes: Vec<u8>,
}

/// A message from the kernel.
struct Message<'a> {
    kind: u16,
    flags: u16,
    number: u32,
    body: &'a [u8],
}

impl Message<'_> {
    /// The result in a message of the kind [`ERROR`], by which the kernel also reports success.
    fn answer(&self) -> io::Result<()> {
        match i32::from_ne_bytes(*self.body.first_chunk().ok_or_else(cut)?) {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(-code)),
        }
    }
}

/// Takes the next message of a datagram.
fn next_message<'a>(rest: &mut &'a [u8]) -> io::Result<Option<Message<'a>>> {
    if rest.is_empty() {
        return Ok(None);
    }
    let header: [u8; 16] = *rest.first_chunk().ok_or_else(cut)?;
    let word = |at: usize| {
        u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let length = word(0) as usize;
    let body = rest.get(16..length).ok_or_else(cut)?;
    *rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    Ok(Some(Message {
        kind: u16::from_ne_bytes([header[4], header[5]]),
        flags: u16::from_ne_bytes([header[6], header[7]]),
        number: word(8),
        body,
    }))
}

fn cut() -> io::Error {
    ErrorKind::UnexpectedEof.into()
}
