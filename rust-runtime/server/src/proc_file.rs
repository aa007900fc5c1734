//! Reading the kernel's small files, several of which are read in each run.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// More bytes than nearly all of them have, so that one read is enough: a longer file takes more reads.
const USUAL: usize = 4096;

/// Reads a whole file of the kernel's. The kernel does not report the sizes of such files. They are not asked for here,
/// as `fs::read` does, which then begins with 32 bytes.
pub(crate) fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL);
    File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file as text.
pub(crate) fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_of_any_length_is_read_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for length in [0, 1, USUAL - 1, USUAL, USUAL + 1, 5 * USUAL] {
            let text = "x".repeat(length);
            std::fs::write(&path, &text).unwrap();
            assert_eq!(read_text(&path).unwrap(), text);
        }
        assert!(read_text("/proc/self/status").unwrap().starts_with("Name:"));
        assert!(read(directory.path().join("none")).is_err());
    }
}
