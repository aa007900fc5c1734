//! Several values in one message, from workers of one pack to those of another. The receiving inbox
//! gives each value to its worker, which need not know how it came.
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | encoding of the values, all of one type |
//! | 4 | number of values |
//! | 12 each | source, destination (all ones: the pack) and length of each |
//! | | the values, one after the other |

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::arrived::Arrived;
use super::permit::Permit;
use crate::address::Destination;
use crate::payload::{Body, Buffer, Encoded, Encoding};
use crate::wire::WireError;

const HEAD: usize = 8;
/// The bytes a value takes besides its own.
pub(crate) const ENTRY: usize = 12;
const PACK: u32 = u32::MAX;

/// A bundle being made.
#[derive(Debug)]
pub(crate) struct Bundle {
    encoding: Encoding,
    fingerprint: u64,
    entries: Vec<u8>,
    values: Vec<u8>,
}

impl Bundle {
    /// A bundle of values that are encoded like this one.
    pub(crate) fn of(encoded: &Encoded<'_>) -> Self {
        Self {
            encoding: encoded.encoding,
            fingerprint: encoded.fingerprint,
            entries: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, source: u32, destination: Destination, value: &[u8]) {
        let destination = match destination {
            Destination::Worker(worker) => worker,
            Destination::Pack => PACK,
        };
        // Only short values are bundled.
        for field in [source, destination, value.len() as u32] {
            self.entries.extend_from_slice(&field.to_le_bytes());
        }
        self.values.extend_from_slice(value);
    }

    /// Joins bundles of values of the same type into one message; `None` if there are none.
    pub(crate) fn join(bundles: Vec<Self>) -> Option<Encoded<'static>> {
        let first = bundles.first()?;
        let entries: usize = bundles.iter().map(|bundle| bundle.entries.len()).sum();
        let values: usize = bundles.iter().map(|bundle| bundle.values.len()).sum();
        let mut body = Vec::with_capacity(HEAD + entries + values);
        let count = (entries / ENTRY) as u32;
        for field in [u32::from(first.encoding.code()), count] {
            body.extend_from_slice(&field.to_le_bytes());
        }
        for bundle in &bundles {
            body.extend_from_slice(&bundle.entries);
        }
        for bundle in &bundles {
            body.extend_from_slice(&bundle.values);
        }
        Some(Encoded {
            encoding: Encoding::Bundle,
            fingerprint: first.fingerprint,
            body: Cow::Owned(body),
        })
    }
}

/// A value of a bundle, with its sender and receiver.
#[derive(Debug)]
pub(super) struct Bundled {
    pub(super) source: u32,
    pub(super) destination: Destination,
    pub(super) arrived: Arrived,
}

/// The memory that holds all values of a bundle, and the room it takes until the last value is
/// taken.
#[derive(Debug)]
struct Memory {
    buffer: Buffer,
    _permit: Option<Permit>,
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_bytes()
    }
}

/// Takes a bundle apart without copying. `most` bounds the number of values.
pub(super) fn open(
    fingerprint: u64,
    buffer: Buffer,
    permit: Option<Permit>,
    most: usize,
) -> Result<Vec<Bundled>, WireError> {
    let parts = parts(buffer.as_bytes(), most)?;
    let memory = Arc::new(Memory {
        buffer,
        _permit: permit,
    });
    let bundled = |(source, destination, encoding, range)| Bundled {
        source,
        destination,
        arrived: Arrived {
            encoding,
            fingerprint,
            body: Body::Part(Arc::clone(&memory) as _, range),
            permit: None,
        },
    };
    Ok(parts.into_iter().map(bundled).collect())
}

type Part = (u32, Destination, Encoding, Range<usize>);

fn parts(bytes: &[u8], most: usize) -> Result<Vec<Part>, WireError> {
    let invalid = |field, value: u32| WireError::Invalid {
        field,
        value: value.into(),
    };
    let field = |at: usize| {
        let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
        field.copied().map(u32::from_le_bytes)
    };
    let (Some(code), Some(count)) = (field(0), field(4)) else {
        return Err(WireError::Truncated(bytes.len()));
    };
    let encoding = u8::try_from(code).ok().and_then(Encoding::from_code);
    let encoding = encoding
        .filter(|&encoding| encoding != Encoding::Bundle)
        .ok_or_else(|| invalid("encoding in a bundle", code))?;
    // Without a value, nothing would hold the bundle's room.
    if count == 0 || count as usize > most {
        return Err(invalid("number of bundled values", count));
    }
    let mut parts = Vec::with_capacity(count as usize);
    let mut start = HEAD + count as usize * ENTRY;
    for entry in (HEAD..start).step_by(ENTRY) {
        let (Some(source), Some(destination), Some(length)) =
            (field(entry), field(entry + 4), field(entry + 8))
        else {
            return Err(WireError::Truncated(bytes.len()));
        };
        let destination = match destination {
            PACK => Destination::Pack,
            worker => Destination::Worker(worker),
        };
        if !(length as usize).is_multiple_of(encoding.width()) {
            return Err(invalid("length for its encoding", length));
        }
        let end = start + length as usize;
        parts.push((source, destination, encoding, start..end));
        start = end;
    }
    match start == bytes.len() {
        true => Ok(parts),
        false => Err(WireError::Length {
            expected: start,
            found: bytes.len(),
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    /// The values in two bundles, joined.
    fn bundle(values: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
        let of = |values: &[(u32, u32, Vec<u8>)]| {
            let mut bundle = Bundle::of(&Encoded {
                encoding: Encoding::U8,
                fingerprint: 7,
                body: Cow::Borrowed(&[]),
            });
            for (source, destination, value) in values {
                bundle.push(*source, Destination::Worker(*destination), value);
            }
            bundle
        };
        let (some, others) = values.split_at(values.len() / 2);
        let message = Bundle::join(vec![of(some), of(others)]);
        message.unwrap().body.into_owned()
    }

    proptest! {
        #[test]
        fn a_bundle_returns_its_values(
            values in prop::collection::vec((0u32..9, 0u32..9, any::<Vec<u8>>()), 1..9)
        ) {
            let bytes = bundle(&values);
            let parts = parts(&bytes, values.len()).unwrap();
            let opened: Vec<_> = parts
                .into_iter()
                .map(|(source, destination, encoding, range)| {
                    assert_eq!(encoding, Encoding::U8);
                    let Destination::Worker(destination) = destination else {
                        panic!("{destination:?}");
                    };
                    (source, destination, bytes[range].to_vec())
                })
                .collect();
            prop_assert_eq!(opened, values);
        }

        #[test]
        fn any_bytes_are_opened_or_refused(
            mut bytes in prop::collection::vec(any::<u8>(), 0..80), count in 0u8..6, plain: bool
        ) {
            // Mostly of the right shape; otherwise hardly any would get past the first bytes.
            for (at, value) in [(0, 3), (1, 0), (2, 0), (3, 0), (4, count), (5, 0), (6, 0), (7, 0)] {
                if let (true, Some(byte)) = (plain, bytes.get_mut(at)) {
                    *byte = value;
                }
            }
            for (_, _, _, range) in parts(&bytes, 5).unwrap_or_default() {
                prop_assert!(range.start <= range.end && range.end <= bytes.len());
            }
        }
    }

    #[test]
    fn invalid_bundles_are_refused() {
        let good = bundle(&[(1, 2, vec![1, 2, 3])]);
        assert!(parts(&good, 1).is_ok());
        assert!(parts(&good, 0).is_err());
        assert!(parts(&bundle(&[]), 1).is_err());
        assert!(parts(&good[..good.len() - 1], 1).is_err());
        assert!(parts(&good[..10], 1).is_err());
        assert!(parts(&[], 1).is_err());
        let with = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            parts(&bytes, 9)
        };
        assert!(with(0, Encoding::Bundle.code()).is_err());
        assert!(with(0, 200).is_err());
        assert!(with(0, Encoding::F64.code()).is_err());
        assert!(with(4, 2).is_err());
        assert!(with(16, 4).is_err());
    }
}
