//! The bytes of a value from another pack, before they are decoded.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Buffer, Encoding, NoValue};

/// See the module's documentation.
pub(crate) enum Body {
    /// A whole message, whose memory can become the value's.
    Whole(Buffer),
    /// A part of a message that holds several values, read or copied from there.
    Part(Arc<dyn AsRef<[u8]> + Send + Sync>, Range<usize>),
}

impl Body {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Whole(buffer) => buffer.as_bytes(),
            Self::Part(message, range) => {
                let bytes: &[u8] = (**message).as_ref();
                bytes.get(range.clone()).unwrap_or_default()
            }
        }
    }

    /// Returns the bytes in memory that the value can own, copying a part.
    pub(crate) fn into_buffer(self, encoding: Encoding) -> Result<Buffer, NoValue> {
        if let Self::Whole(buffer) = self {
            return Ok(buffer);
        }
        let bytes = self.as_bytes();
        let mut buffer = Buffer::zeroed(encoding.width(), bytes.len()).ok_or(NoValue::Length {
            bytes: bytes.len(),
            encoding,
        })?;
        buffer.as_bytes_mut().copy_from_slice(bytes);
        Ok(buffer)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Whole(_) => "Whole",
            Self::Part(..) => "Part",
        };
        write!(f, "{name}({} bytes)", self.as_bytes().len())
    }
}
