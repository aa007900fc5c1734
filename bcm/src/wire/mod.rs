//! The wire format between packs: a fixed header before every chunk.

mod chunk;
mod header;

pub(crate) use chunk::Layout;
pub(crate) use header::{HEADER_SIZE, Header, Kind, flare_digest};

use crate::failure::{Failure, FailureKind};
use crate::pack_id::PackId;

/// Why a frame that arrived is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    #[error("{0} bytes are too few for a header")]
    Truncated(usize),
    #[error("not a message of this protocol")]
    Magic,
    #[error("protocol version {0}, this program speaks {version}", version = header::VERSION)]
    Version(u8),
    #[error("unknown {field} {value}")]
    Unknown { field: &'static str, value: u64 },
    #[error("a message of another flare")]
    OtherFlare,
    #[error("{field} {value} is not allowed")]
    Invalid { field: &'static str, value: u64 },
    #[error("chunk {chunk} of {chunks} cannot be part of {total} bytes")]
    Layout { chunk: u32, chunks: u32, total: u64 },
    #[error("{found} bytes of payload where {expected} belong")]
    Length { expected: usize, found: usize },
    #[error("the checksum does not match")]
    Checksum,
    #[error("a message of {total} bytes; at most {limit} are accepted")]
    TooLarge { total: u64, limit: u64 },
    #[error("more eager bytes than its window allows")]
    Window,
    #[error("more messages offered at once than a pack may")]
    Offers,
}

impl WireError {
    /// The failure of a flare that received such a message, with the sending pack if it is known.
    pub(crate) fn to_failure(&self, pack: Option<PackId>) -> Failure {
        let mut failure = Failure::new(FailureKind::Backend, format!("a damaged message: {self}"));
        failure.pack = pack;
        failure
    }
}
