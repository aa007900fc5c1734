//! The values that messages carry, and how they become bytes between packs.
//!
//! Inside a pack a value is moved unchanged and nothing here runs. Between packs, vectors of plain
//! numbers, `String` and `Bytes` travel as the bytes they already are; everything else uses a
//! compact serde encoding.

mod body;
mod buffer;
mod raw;

use std::any::type_name;
use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use body::Body;
pub(crate) use buffer::Buffer;
pub(crate) use raw::Encoding;

use crate::error::{Error, Peer};
use crate::operation::Operation;

/// Anything workers can send each other: every type that is
/// `Serialize + DeserializeOwned + Send + Sync + 'static`.
///
/// Serde is used between packs only. `Vec`s of `u8`–`u64`, `i8`–`i64`, `usize`, `isize`, `f32` and
/// `f64`, `String` and `bytes::Bytes` are not encoded even there: their memory is written directly,
/// and the receiver's value is the memory it was read into.
pub trait Payload: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Payload for T {}

/// A value as bytes, borrowed from it if its memory can be written directly.
#[derive(Debug)]
pub(crate) struct Encoded<'a> {
    pub(crate) encoding: Encoding,
    /// Lets the receiver check that it expects the same type.
    pub(crate) fingerprint: u64,
    pub(crate) body: Cow<'a, [u8]>,
}

impl Encoded<'_> {
    /// Returns the encoding detached from the value; `None` if it is the value's own memory.
    pub(crate) fn into_owned(self) -> Option<Encoded<'static>> {
        match self.body {
            Cow::Borrowed(_) => None,
            Cow::Owned(body) => Some(Encoded {
                encoding: self.encoding,
                fingerprint: self.fingerprint,
                body: Cow::Owned(body),
            }),
        }
    }
}

/// Why bytes cannot be decoded as the wanted type.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoValue {
    #[error(transparent)]
    Serde(#[from] postcard::Error),
    #[error("{0} bytes too many")]
    TooMany(usize),
    #[error("{bytes} bytes do not form {encoding}")]
    Length { bytes: usize, encoding: Encoding },
    #[error("it came as {0}, which is not how this type is encoded")]
    OtherEncoding(Encoding),
    #[error(transparent)]
    Text(#[from] std::string::FromUtf8Error),
    #[error("{0}")]
    Memory(bytemuck::PodCastError),
}

/// Turns a value into bytes; costs nothing for plain memory.
pub(crate) fn encode<T: Payload>(operation: Operation, value: &T) -> Result<Encoded<'_>, Error> {
    let (encoding, body) = match raw::view(value) {
        Some((encoding, bytes)) => (encoding, Cow::Borrowed(bytes)),
        None => {
            let bytes = postcard::to_stdvec(value).map_err(|error| Error::Payload {
                operation,
                action: "encode",
                type_name: type_name::<T>(),
                reason: error.to_string(),
            })?;
            (Encoding::Serde, Cow::Owned(bytes))
        }
    };
    Ok(Encoded {
        encoding,
        fingerprint: fingerprint::<T>(),
        body,
    })
}

/// Turns the bytes that arrived back into a value; plain memory becomes the value itself.
pub(crate) fn decode<T: Payload>(
    operation: Operation,
    peer: Peer,
    encoding: Encoding,
    sent: u64,
    body: Body,
) -> Result<T, Error> {
    if sent != fingerprint::<T>() {
        return Err(Error::TypeMismatch {
            operation,
            peer,
            expected: type_name::<T>().to_owned(),
            found: format!("another type ({encoding})"),
        });
    }
    let fail = |reason: NoValue| Error::Payload {
        operation,
        action: "decode",
        type_name: type_name::<T>(),
        reason: reason.to_string(),
    };
    match encoding {
        Encoding::Serde => match postcard::take_from_bytes(body.as_bytes()) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(fail(NoValue::TooMany(rest.len()))),
            Err(error) => Err(fail(error.into())),
        },
        _ => body
            .into_buffer(encoding)
            .and_then(|buffer| raw::adopt(encoding, buffer))
            .map_err(fail),
    }
}

/// A number that differs between types with overwhelming likelihood (FNV-1a of the name).
fn fingerprint<T>() -> u64 {
    type_name::<T>()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use bytes::Bytes;
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    fn there_and_back<T: Payload>(value: &T) -> Result<T, Error> {
        let encoded = encode(Operation::Send, value)?;
        let mut buffer = Buffer::zeroed(encoded.encoding.width(), encoded.body.len()).unwrap();
        buffer.as_bytes_mut().copy_from_slice(&encoded.body);
        decode(
            Operation::Recv,
            Peer::Worker(0),
            encoded.encoding,
            encoded.fingerprint,
            Body::Whole(buffer),
        )
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Row {
        name: String,
        cells: Vec<Option<f32>>,
    }

    proptest! {
        #[test]
        fn plain_memory_comes_back_bit_for_bit(
            bytes: Vec<u8>, shorts: Vec<i16>, words: Vec<u32>, longs: Vec<i64>, text: String,
            floats in prop::collection::vec(any::<u64>().prop_map(f64::from_bits), 0..50),
        ) {
            prop_assert_eq!(&there_and_back(&bytes).unwrap(), &bytes);
            prop_assert_eq!(&there_and_back(&Bytes::from(bytes.clone())).unwrap(), &bytes);
            prop_assert_eq!(&there_and_back(&shorts).unwrap(), &shorts);
            prop_assert_eq!(&there_and_back(&words).unwrap(), &words);
            prop_assert_eq!(&there_and_back(&longs).unwrap(), &longs);
            prop_assert_eq!(&there_and_back(&text).unwrap(), &text);
            let bits = |values: &[f64]| values.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&there_and_back(&floats).unwrap()), bits(&floats));
        }

        #[test]
        fn everything_else_goes_through_serde(name: String, cell: Option<f32>) {
            let row = Row { name, cells: vec![cell.filter(|c| !c.is_nan()), None] };
            prop_assert_eq!(&there_and_back(&row).unwrap(), &row);
            prop_assert_eq!(&there_and_back(&(1u8, row.clone())).unwrap().1, &row);
        }
    }

    #[test]
    fn plain_memory_is_not_copied() {
        let values = vec![1.0f64, 2.0];
        let encoded = encode(Operation::Send, &values).unwrap();
        assert!(matches!(encoded.body, Cow::Borrowed(_)));
        assert_eq!(encoded.body.as_ptr(), values.as_ptr().cast());
    }

    #[test]
    fn another_type_is_refused() {
        let encoded = encode(Operation::Send, &7u64).unwrap();
        let mut buffer = Buffer::zeroed(encoded.encoding.width(), encoded.body.len()).unwrap();
        buffer.as_bytes_mut().copy_from_slice(&encoded.body);
        let result = decode::<i64>(
            Operation::Recv,
            Peer::Worker(3),
            encoded.encoding,
            encoded.fingerprint,
            Body::Whole(buffer),
        );
        let message = result.unwrap_err().to_string();
        assert!(message.contains("expected i64 from worker 3"), "{message}");
    }

    #[test]
    fn damaged_bytes_give_an_error() {
        let encoding = Encoding::Text;
        let mut buffer = Buffer::zeroed(encoding.width(), 1).unwrap();
        buffer.as_bytes_mut()[0] = 0xff;
        let result = decode::<String>(
            Operation::Recv,
            Peer::Worker(0),
            encoding,
            fingerprint::<String>(),
            Body::Whole(buffer),
        );
        assert!(matches!(
            result,
            Err(Error::Payload {
                action: "decode",
                ..
            })
        ));
    }
}
