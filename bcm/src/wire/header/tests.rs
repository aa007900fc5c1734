#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use proptest::prelude::*;

use super::*;

fn header() -> Header {
    Header {
        kind: Kind::Data,
        flare: flare_digest("f1"),
        pack: PackId(1),
        source: 2,
        destination: Destination::Worker(3),
        context: 4,
        class: Class::Collective {
            number: 5,
            operation: Operation::Reduce,
            root: Rank(6),
        },
        sequence: 7,
        total: 48,
        chunk: 1,
        chunks: 3,
        encoding: Encoding::F64,
        fingerprint: 9,
        checksum: 0,
    }
}

#[test]
fn the_layout_is_the_documented_one() {
    let bytes = header().encode();
    assert_eq!(&bytes[..8], b"BRST\x01\x00\x04\x0c");
    assert_eq!(bytes[24..28], 1u32.to_le_bytes());
    assert_eq!(bytes[28..32], 2u32.to_le_bytes());
    assert_eq!(bytes[32..36], 3u32.to_le_bytes());
    assert_eq!(bytes[40..44], 6u32.to_le_bytes());
    assert_eq!(bytes[48..56], 7u64.to_le_bytes());
    assert_eq!(bytes[56..64], 5u64.to_le_bytes());
    assert_eq!(bytes[64..72], 48u64.to_le_bytes());
    assert_eq!(bytes[80..88], 9u64.to_le_bytes());
    assert_eq!(Header::decode(&bytes), Ok(header()));
}

#[test]
fn an_invalid_header_is_refused() {
    let good = header().encode();
    let with = |at: usize, value: u8| {
        let mut bytes = good;
        bytes[at] = value;
        Header::decode(&bytes).unwrap_err()
    };
    assert_eq!(with(0, b'X'), WireError::Magic);
    assert_eq!(with(4, 2), WireError::Version(2));
    assert!(matches!(
        with(5, 99),
        WireError::Unknown { field: "kind", .. }
    ));
    assert!(matches!(
        with(6, 99),
        WireError::Unknown {
            field: "operation",
            ..
        }
    ));
    assert!(matches!(
        with(7, 99),
        WireError::Unknown {
            field: "encoding",
            ..
        }
    ));
    assert!(matches!(
        with(64, 49),
        WireError::Layout { .. } | WireError::Invalid { .. }
    ));
    assert!(matches!(with(72, 3), WireError::Layout { .. }));
    assert_eq!(Header::decode(&good[..87]), Err(WireError::Truncated(87)));
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let payload = *b"sixteen bytes ..";
    let mut sealed = header();
    sealed.checksum = sealed.checksum_with(&payload);
    assert_eq!(sealed.verify(&payload), Ok(()));
    let announced = Header {
        kind: Kind::Stored,
        ..sealed
    };
    assert_eq!(announced.verify(&payload), Ok(()));
    let bytes = sealed.encode();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes;
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Ok(header) = Header::decode(&damaged)
            && header != announced
        {
            assert_eq!(
                header.verify(&payload),
                Err(WireError::Checksum),
                "bit {bit}"
            );
        }
    }
    for bit in 0..payload.len() * 8 {
        let mut damaged = payload;
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(sealed.verify(&damaged), Err(WireError::Checksum));
    }
}

proptest! {
    #[test]
    fn decoding_any_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = Header::decode(&bytes);
    }

    #[test]
    fn a_header_accepted_with_several_changed_bytes_encodes_to_the_same(
        damage in prop::collection::vec((0usize..88, any::<u8>()), 1..4),
    ) {
        let mut bytes = header().encode();
        for (at, value) in damage {
            bytes[at] = value;
        }
        if let Ok(header) = Header::decode(&bytes) {
            prop_assert_eq!(header.encode(), bytes);
        }
    }
}

#[test]
fn a_header_accepted_with_one_changed_byte_encodes_to_the_same() {
    for at in 0..HEADER_SIZE {
        for value in 0..=u8::MAX {
            let mut bytes = header().encode();
            bytes[at] = value;
            if let Ok(header) = Header::decode(&bytes) {
                assert_eq!(header.encode(), bytes, "byte {at} set to {value}");
            }
        }
    }
}
