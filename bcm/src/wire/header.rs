//! The header: fixed size, little-endian, written and read field by field.
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 4 | magic `BRST` |
//! | 4 | 1 | version |
//! | 5 | 1 | kind |
//! | 6 | 1 | operation |
//! | 7 | 1 | encoding of the payload |
//! | 8 | 16 | flare: first half of the SHA-256 of its id |
//! | 24 | 4 | pack that sent this frame |
//! | 28 | 4 | source worker |
//! | 32 | 4 | destination worker; all ones: the destination pack as a whole |
//! | 36 | 4 | context: the group |
//! | 40 | 4 | tag, or the root of a collective |
//! | 44 | 4 | checksum: CRC-32 of this header, with zero here, and the payload; zero: none |
//! | 48 | 8 | sequence: counts the messages of (source, destination, context) |
//! | 56 | 8 | number of the collective |
//! | 64 | 8 | total length of the message |
//! | 72 | 4 | chunk number |
//! | 76 | 4 | number of chunks |
//! | 80 | 8 | fingerprint of the payload's type |

use sha2::{Digest, Sha256};

use super::{Layout, WireError};
use crate::address::{Class, Destination};
use crate::operation::Operation;
use crate::pack_id::PackId;
use crate::payload::Encoding;
use crate::rank::Rank;
use crate::tag::Tag;

const MAGIC: [u8; 4] = *b"BRST";
pub(super) const VERSION: u8 = 1;
pub(crate) const HEADER_SIZE: usize = 88;
const PACK: u32 = u32::MAX;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A chunk of a message.
    Data,
    /// An offer of a message that does not fit into the sender's window.
    Offer,
    /// The answer to an offer: the message may be sent.
    Grant,
    /// How many bytes from the receiving pack have been received so far, in `total`.
    Credit,
    /// The flare failed; the payload is the failure in JSON.
    Abort,
    /// The sending pack sends nothing more.
    Goodbye,
    /// A chunk stored where the backend keeps messages that several packs read.
    Stored,
    /// The source has waited long for the destination in a collective that both should have called,
    /// unless one of them has called something else.
    Waiting,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Data,
        Self::Offer,
        Self::Grant,
        Self::Credit,
        Self::Abort,
        Self::Goodbye,
        Self::Stored,
        Self::Waiting,
    ];
}

/// A frame's header, already checked on its own; the inbox checks it against the flare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) flare: [u8; 16],
    pub(crate) pack: PackId,
    pub(crate) source: u32,
    pub(crate) destination: Destination,
    pub(crate) context: u32,
    pub(crate) class: Class,
    pub(crate) sequence: u64,
    pub(crate) total: u64,
    pub(crate) chunk: u32,
    pub(crate) chunks: u32,
    pub(crate) encoding: Encoding,
    pub(crate) fingerprint: u64,
    /// Checksum of header and payload; 0 if the transport protects them itself.
    pub(crate) checksum: u32,
}

/// The digest that identifies a flare in headers.
pub(crate) fn flare_digest(flare_id: &str) -> [u8; 16] {
    let digest = Sha256::digest(flare_id.as_bytes());
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    half
}

impl Header {
    /// A frame about the flare or the connection, not about a message.
    pub(crate) fn notice(kind: Kind, flare: [u8; 16], pack: PackId, total: u64) -> Self {
        Self {
            kind,
            flare,
            pack,
            source: 0,
            destination: Destination::Pack,
            context: 0,
            class: Class::Point { tag: Tag(0) },
            sequence: 0,
            total,
            chunk: 0,
            chunks: 1,
            encoding: Encoding::Bytes,
            fingerprint: 0,
            checksum: 0,
        }
    }

    /// The checksum of this header and its payload. A chunk that several packs read has the same
    /// checksum when it is announced (`Stored`) and when it is read (`Data`).
    pub(crate) fn checksum_with(&self, payload: &[u8]) -> u32 {
        let header = Self {
            kind: match self.kind {
                Kind::Stored => Kind::Data,
                kind => kind,
            },
            checksum: 0,
            ..*self
        };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header.encode());
        hasher.update(payload);
        // Zero means that there is no checksum.
        hasher.finalize().max(1)
    }

    /// Checks that header and payload are as they were sent.
    pub(crate) fn verify(&self, payload: &[u8]) -> Result<(), WireError> {
        if self.checksum == self.checksum_with(payload) {
            Ok(())
        } else {
            Err(WireError::Checksum)
        }
    }

    /// The number of bytes that follow this header.
    pub(crate) fn payload_len(&self) -> Result<usize, WireError> {
        match self.kind {
            Kind::Data | Kind::Abort => Ok(self.layout()?.range(self.chunk).len()),
            _ => Ok(0),
        }
    }

    pub(crate) fn layout(&self) -> Result<Layout, WireError> {
        Layout::check(self.total, self.chunks, self.chunk)
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_SIZE] {
        let (operation, tag, number) = match self.class {
            Class::Point { tag } => (Operation::Send, tag.0, 0),
            Class::Collective {
                number,
                operation,
                root,
            } => (operation, root.0, number),
        };
        let destination = match self.destination {
            Destination::Worker(worker) => worker,
            Destination::Pack => PACK,
        };
        let mut out = Writer::default();
        out.put(&MAGIC);
        out.put(&[
            VERSION,
            self.kind as u8,
            operation.code(),
            self.encoding.code(),
        ]);
        out.put(&self.flare);
        for field in [
            self.pack.0,
            self.source,
            destination,
            self.context,
            tag,
            self.checksum,
        ] {
            out.put(&field.to_le_bytes());
        }
        for field in [self.sequence, number, self.total] {
            out.put(&field.to_le_bytes());
        }
        out.put(&self.chunk.to_le_bytes());
        out.put(&self.chunks.to_le_bytes());
        out.put(&self.fingerprint.to_le_bytes());
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let Some(bytes) = bytes.first_chunk::<HEADER_SIZE>() else {
            return Err(WireError::Truncated(bytes.len()));
        };
        let mut input = Reader { bytes, at: 0 };
        if input.take::<4>() != MAGIC {
            return Err(WireError::Magic);
        }
        let [version, kind, operation, encoding] = input.take::<4>();
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let unknown = |field, value: u8| WireError::Unknown {
            field,
            value: value.into(),
        };
        let kind = *Kind::ALL
            .get(usize::from(kind))
            .ok_or_else(|| unknown("kind", kind))?;
        let operation =
            Operation::from_code(operation).ok_or_else(|| unknown("operation", operation))?;
        let encoding =
            Encoding::from_code(encoding).ok_or_else(|| unknown("encoding", encoding))?;
        let flare = input.take::<16>();
        let [pack, source, destination, context, tag, checksum] =
            std::array::from_fn(|_| u32::from_le_bytes(input.take()));
        let [sequence, number, total] = std::array::from_fn(|_| u64::from_le_bytes(input.take()));
        let [chunk, chunks] = std::array::from_fn(|_| u32::from_le_bytes(input.take()));
        let fingerprint = u64::from_le_bytes(input.take());
        let class = match operation {
            // Each meaning has exactly one encoding: fields that point-to-point messages do not use
            // must be empty.
            Operation::Recv => return Err(unknown("operation", operation.code())),
            Operation::Send if number != 0 => {
                return Err(WireError::Invalid {
                    field: "number of the collective",
                    value: number,
                });
            }
            Operation::Send => Class::Point { tag: Tag(tag) },
            _ => Class::Collective {
                number,
                operation,
                root: Rank(tag),
            },
        };
        let header = Self {
            kind,
            flare,
            pack: PackId(pack),
            source,
            destination: if destination == PACK {
                Destination::Pack
            } else {
                Destination::Worker(destination)
            },
            context,
            class,
            sequence,
            total,
            chunk,
            chunks,
            encoding,
            fingerprint,
            checksum,
        };
        if kind != Kind::Credit {
            header.layout()?;
        }
        if !total.is_multiple_of(encoding.width() as u64) {
            return Err(WireError::Invalid {
                field: "length for its encoding",
                value: total,
            });
        }
        Ok(header)
    }
}

struct Writer {
    bytes: [u8; HEADER_SIZE],
    at: usize,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            bytes: [0; HEADER_SIZE],
            at: 0,
        }
    }
}

impl Writer {
    fn put(&mut self, field: &[u8]) {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
    }
}

struct Reader<'a> {
    bytes: &'a [u8; HEADER_SIZE],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.bytes[self.at..self.at + N]);
        self.at += N;
        field
    }
}

#[cfg(test)]
mod tests;
