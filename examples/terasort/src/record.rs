//! The layout of a record: key of 10 printable bytes, two spaces, record number as 32 hexadecimal digits, two
//! spaces, 52 bytes of filler, carriage return, line feed. (<http://www.ordinal.com/gensort.html>, option `-a`.)

/// The length of a record in bytes.
pub const RECORD: usize = 100;
/// The length of the key, at the beginning of the record, in bytes.
pub const KEY: usize = 10;

/// A record's key as numbers, which sort like its bytes.
pub type Key = (u64, u16);

/// Returns the key of the record that begins at `record[0]`; `record` must hold at least [`KEY`] bytes.
pub fn key(record: &[u8]) -> Key {
    let mut head = [0; 8];
    head.copy_from_slice(&record[..8]);
    (
        u64::from_be_bytes(head),
        u16::from_be_bytes([record[8], record[9]]),
    )
}
